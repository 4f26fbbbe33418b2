import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "../../../src/core/child.ts";
import { onTerminal } from "./command.ts";
import { BINARY, bridgeEnv, until } from "./engine.ts";
import { createHome, type TestHome } from "./home.ts";
import { npmServer } from "./npm-servers.ts";

const TIMEOUT_MS = 60_000;
export const TOKEN = "8d0c6f1a4be2975311c09a7fd2e84b6690ab53c7f41d28e7";
const FIXTURE = join(import.meta.dir, "../../fixtures/servers/document-server.ts");
const fixture = (name: string) => ({ command: process.execPath, args: [FIXTURE, name] });

/** How a command of a document ended. */
export interface Tried {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A home with all that the documents take to be there: files, servers, and what Python keeps. */
export interface DocumentWorld extends Disposable {
  readonly home: TestHome;
  /** Where `/home/me` of the documents is. */
  readonly here: (text: string) => string;
  readonly env: Readonly<Record<string, string>>;
}

/** Makes one; `more` are variables beside. */
export function createWorld(more: Readonly<Record<string, string>> = {}): DocumentWorld {
  const home = createHome();
  const here = (text: string) => text.replaceAll("/home/me", home.path);
  home.write("notes/trip.md", "Lisbon in May\n");
  home.write("notes/plans/report.md", "Write the report\n");
  home.defineServers({
    notes: npmServer("filesystem", join(home.path, "notes")),
    github: fixture("github"),
    charts: fixture("charts"),
    linear: { url: "https://127.0.0.1:9/mcp" },
  });
  home.write("job.py", "print('a job')\n");
  home.write("report.py", "import sys\nprint('report of', *sys.argv[1:])\n");
  home.write("convert.py", "print(open('data.csv').read(), file=open('out/copy.csv', 'w'))\n");
  home.write("data.csv", "1\n2\n");
  home.write("data/numbers.csv", "1\n2\n");
  home.write("query.json", '{"query": "bug"}');
  home.write("chart.json", '{"values": [1, 2]}');
  home.write("notes.json", '{"from": "a file"}');
  home.write("backup.json", "[]");
  const memory = (key: string) =>
    home.write(
      `MCPs/user_tools/memory/${key}.json`,
      JSON.stringify({ key, value: { units: "metric" }, metadata: {}, created_at: 1, updated_at: 1 }),
    );
  for (const key of ["preferences", "notes", "old-notes"]) memory(key);
  home.write(
    "MCPs/user_tools/user_tools.py",
    'def weekly_report():\n    """Report of a week."""\n    return 1\n',
  );
  chmodSync(home.write("tokens", `ada ${TOKEN}\n`), 0o600);
  chmodSync(home.write("tokens.txt", `ada ${TOKEN}\n`), 0o600);
  home.write(".cursor/mcp.json", '{"mcpServers": {}}');
  home.write("project/.mcp.json", JSON.stringify({ mcpServers: { docs: fixture("github") } }));
  for (const folder of [".zfunc", ".config/fish/completions", "bin", ".local/bin"])
    mkdirSync(join(home.path, folder), { recursive: true });
  symlinkSync(BINARY, join(home.path, "bin/sandpy"));
  const env = bridgeEnv(home.path, { TOKEN: "a-token", MCP_BRIDGE_HTTP_PORT: "0", ...more });
  return {
    home,
    here,
    env: { ...env, PATH: `${join(home.path, "bin")}:${env["PATH"] ?? ""}` },
    [Symbol.dispose]: () => home[Symbol.dispose](),
  };
}

/** Runs a command as a reader would, in a shell. One that serves is ended by SIGTERM once it listens. */
export async function tryCommand(
  text: string,
  { home, here, env }: DocumentWorld,
  folder = "",
): Promise<Tried> {
  if (/^sandpy serve --http\b/.test(text)) return tryServer(here(text), home, env);
  const result = await runChild({
    command: "bash",
    args: ["--norc", "-euo", "pipefail", "-c", here(text)],
    env,
    cwd: join(home.path, folder),
    timeoutMs: TIMEOUT_MS,
  });
  return { code: result.code, stdout: result.stdout, stderr: result.stderr };
}

/** Runs a command on a terminal, where somebody says yes. */
export async function tryOnTerminal(text: string, { home }: DocumentWorld, cwd: string): Promise<Tried> {
  const [, ...words] = text.split(" ");
  const { code, screen } = await onTerminal(words, "y\r", { home, cwd: join(home.path, cwd) });
  return { code, stdout: screen, stderr: "" };
}

async function tryServer(
  text: string,
  home: TestHome,
  env: Readonly<Record<string, string>>,
): Promise<Tried> {
  const child = Bun.spawn(["bash", "--norc", "-c", `exec ${text}`], {
    env,
    cwd: home.path,
    stdin: "ignore",
    stderr: "pipe",
  });
  let stderr = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) stderr += decoder.decode(chunk, { stream: true });
  })();
  try {
    await until("the server listens", () => / at http:/.test(stderr) || child.exitCode !== null, 20_000);
  } finally {
    child.kill("SIGTERM");
  }
  const code = await child.exited;
  await reading;
  return { code, stdout: "", stderr };
}
