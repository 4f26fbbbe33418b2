import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { isolatedEnvironment } from "./isolated-environment.ts";

/**
 * The main job, from an MCP client's side: three official servers in a temporary home's `~/MCPs`, two `run_python` calls
 * through the built binary, and what the model's context paid. Fails when anything is not as expected.
 */

interface ServerEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface ToolList {
  readonly name: string;
  readonly tools: number;
  readonly tokens: number;
}

const root = realpathSync(resolve(import.meta.dir, ".."));
const binary = join(root, "dist/sandpy");
const CALL_TIMEOUT_MS = 180_000;
const SANDBOX_TIMEOUT_S = 60;

function progress(text: string): void {
  process.stderr.write(`demo: ${text}\n`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function expect(condition: boolean, what: string): void {
  if (!condition) throw new Error(`not as expected: ${what}`);
}

/** The official servers as installed from npm, run by node where there is one. */
function officialServers(home: string): Record<string, ServerEntry> {
  const command = Bun.which("node") ?? process.execPath;
  const program = (name: string): string =>
    join(root, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
  return {
    filesystem: { command, args: [program("filesystem"), root] },
    memory: {
      command,
      args: [program("memory")],
      env: { MEMORY_FILE_PATH: join(home, "memory.jsonl") },
    },
    everything: { command, args: [program("everything")] },
  };
}

/** Runs `use` with a client of the server; on failure shows what the server wrote to stderr. */
async function withClient<T>(
  entry: ServerEntry,
  env: Record<string, string>,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const transport = new StdioClientTransport({
    command: entry.command,
    args: [...entry.args],
    env: { ...env, ...entry.env },
    stderr: "pipe",
  });
  let stderr = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-8192);
  });
  const client = new Client({ name: "sandpy-demo", version: "1.0.0" });
  try {
    await client.connect(transport);
    return await use(client);
  } catch (error) {
    if (stderr !== "") process.stderr.write(`--- stderr of ${entry.command}:\n${stderr}\n---\n`);
    throw error;
  } finally {
    await client.close();
  }
}

async function listTools(name: string, entry: ServerEntry, env: Record<string, string>): Promise<ToolList> {
  const { tools } = await withClient(entry, env, (client) => client.listTools());
  expect(tools.length > 0, `tools of "${name}"`);
  return { name, tools: tools.length, tokens: countTokens(JSON.stringify(tools)) };
}

function readProgram(name: string): string {
  return readFileSync(join(root, "scripts/demo-programs", name), "utf8");
}

async function runPython(client: Client, program: string): Promise<string> {
  const code = readProgram(program);
  const started = performance.now();
  const result = await client.callTool(
    { name: "run_python", arguments: { code, timeout: SANDBOX_TIMEOUT_S } },
    undefined,
    { timeout: CALL_TIMEOUT_MS },
  );
  const content = result.content as readonly { readonly type: string; readonly text?: string }[];
  const text = content.map((block) => block.text ?? "").join("\n");
  progress(`${program} took ${Math.round(performance.now() - started)} ms`);
  if (result.isError === true) throw new Error(`${program} failed:\n${text}`);
  print(`\n== run_python: ${program}\n\n${text.trimEnd()}`);
  return text;
}

/** What is on disk, found without any of the code under demonstration. */
function sourceFiles(): Map<string, string> {
  const files = new Map<string, string>();
  const glob = new Bun.Glob("{src,sandbox,scripts,test}/**/*.{ts,py}");
  for (const name of glob.scanSync({ cwd: root })) {
    if (name.endsWith(".py") && name.startsWith("src/")) continue;
    if (name.endsWith(".ts") && name.startsWith("sandbox/")) continue;
    files.set(name, readFileSync(join(root, name), "utf8"));
  }
  return files;
}

/** The memory server's file, one JSON object a line. */
function remembered(home: string): { entities: string[]; relations: number } {
  const items = readFileSync(join(home, "memory.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { readonly type: string; readonly name?: string });
  return {
    entities: items.filter(({ type }) => type === "entity").map(({ name }) => name ?? ""),
    relations: items.filter(({ type }) => type === "relation").length,
  };
}

function printCosts(ours: ToolList, theirs: readonly ToolList[]): void {
  const row = (name: string, tools: number, tokens: number): string =>
    `${name.padEnd(28)}${String(tools).padStart(6)}${String(tokens).padStart(9)}`;
  const tools = theirs.reduce((sum, list) => sum + list.tools, 0);
  const tokens = theirs.reduce((sum, list) => sum + list.tokens, 0);
  print("\n== what the model's context pays for tools/list (o200k tokens)\n");
  print(`${"".padEnd(28)}${"tools".padStart(6)}${"tokens".padStart(9)}`);
  for (const list of theirs) print(row(list.name, list.tools, list.tokens));
  print(row("the three together", tools, tokens));
  print(row("sandpy in their place", ours.tools, ours.tokens));
  expect(ours.tools === 1, `sandpy lists one tool, not ${ours.tools}`);
  expect(ours.tokens < tokens, "sandpy's tool list is the shorter one");
}

async function main(home: string): Promise<void> {
  // One call for each source file: more than the 500 that one run may make by default.
  const env = { ...isolatedEnvironment(home), MCP_BRIDGE_MAX_CALLS_PER_RUN: "5000" };
  const servers = officialServers(home);
  mkdirSync(join(home, "MCPs"));
  writeFileSync(join(home, "MCPs/demo.json"), `${JSON.stringify({ mcpServers: servers }, null, 2)}\n`);
  progress(
    `the servers ${Object.keys(servers).join(", ")} are configured in ${join(home, "MCPs/demo.json")}`,
  );

  const theirs: ToolList[] = [];
  for (const [name, entry] of Object.entries(servers)) theirs.push(await listTools(name, entry, env));

  const ours = await withClient({ command: binary, args: [] }, env, async (client) => {
    const { tools } = await client.listTools();
    const survey = await runPython(client, "survey.py");
    const report = await runPython(client, "report.py");

    const files = sourceFiles();
    const memory = remembered(home);
    expect(
      JSON.stringify(memory.entities.sort()) === JSON.stringify([...files.keys()].sort()),
      `the memory server knows ${memory.entities.length} files, the disk has ${files.size}`,
    );
    expect(memory.relations > 0, "the memory server knows who imports whom");
    const read = [...files.values()].reduce((sum, text) => sum + countTokens(text), 0);
    const written = countTokens(readProgram("survey.py")) + countTokens(readProgram("report.py"));
    const seen = countTokens(survey) + countTokens(report);
    print("\n== what went where (o200k tokens)\n");
    print(`source text that the Python code read     ${String(read).padStart(8)}`);
    print(`code that the model wrote                 ${String(written).padStart(8)}`);
    print(`results that the model got to see         ${String(seen).padStart(8)}`);
    print("calls of run_python by the model                 2");
    return { name: "sandpy", tools: tools.length, tokens: countTokens(JSON.stringify(tools)) };
  });
  printCosts(ours, theirs);
}

const home = realpathSync(mkdtempSync(join(tmpdir(), "sandpy-demo-")));
try {
  await main(home);
  progress("all as expected");
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(home, { recursive: true, force: true });
}
