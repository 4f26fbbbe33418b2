// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables as files write them
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, extname, join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { discover } from "../../src/discovery/discover.ts";
import type { ServerDefinition } from "../../src/discovery/server-definition.ts";

/** Files in the shapes that people have, with what is to be found in each; not part of this repository. */
const SAMPLES = join(import.meta.dir, "../../../shared/config-samples");

interface ExpectedServer {
  readonly name: string;
  readonly transport: string;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly url?: string;
  readonly enabled: boolean;
  readonly needs?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeout_s?: number;
}
interface Expected {
  readonly servers: readonly ExpectedServer[];
  readonly skipped: readonly { readonly name: string }[];
}

/** Where the client of a sample keeps such a file: by the beginning of its name, in the home or in the project. */
const HOMES: Readonly<Record<string, string>> = {
  amp: "home/.config/amp/settings.json",
  "claude-code": "project/.mcp.json",
  "claude-desktop": "home/.config/Claude/claude_desktop_config.json",
  cline: "home/.cline/data/settings/cline_mcp_settings.json",
  codex: "project/.codex/config.toml",
  continue: "project/.continue/mcpServers/x.yaml",
  crush: "project/crush.json",
  gemini: "home/.gemini/settings.json",
  goose: "home/.config/goose/config.yaml",
  kilo: "project/.kilocode/mcp.json",
  mcporter: "project/config/mcporter.json",
  opencode: "home/.config/opencode/opencode.jsonc",
  "other-01.codegeex": "project/.codegeex/mcp.json",
  roo: "project/.roo/mcp.json",
  vscode: "project/.vscode/mcp.json",
  windsurf: "home/.codeium/windsurf/mcp_config.json",
  zed: "home/.config/zed/settings.json",
};
const CLAUDE_USER_FILE = "synthetic-06-claude.json";

const root = mkdtempSync(join(tmpdir(), "sandpy-samples-"));
afterAll(() => rmSync(root, { recursive: true }));

const samples = existsSync(SAMPLES)
  ? Object.entries(
      JSON.parse(readFileSync(join(SAMPLES, "expected.json"), "utf8")) as Record<string, Expected>,
    )
  : [];
if (samples.length === 0) {
  process.stderr.write("no samples of other clients' files here: their tests are left out\n");
}

describe.skipIf(samples.length === 0)("a sample", () => {
  test.each(samples)("gives what its index says at its client's place: %s", async (file, expected) => {
    const prefix = Object.keys(HOMES).find((name) => file.startsWith(name));
    const place =
      file === CLAUDE_USER_FILE ? "home/.claude.json" : (HOMES[prefix ?? ""] ?? `home/MCPs/${file}`);
    const project = file === CLAUDE_USER_FILE ? "/home/USER/app" : undefined;

    await check(file, place, expected, project);
  });

  test.each(samples.filter(([file]) => file !== CLAUDE_USER_FILE))(
    "gives the same where its file is named to us: %s",
    async (file, expected) => {
      await check(file, `home/named${extname(file)}`, expected);
    },
  );

  test("says what a server needs while its variable is not set", async () => {
    const { servers } = await discoverSample("roo-02.json", "project/.roo/mcp.json", {});

    expect(servers.find(({ name }) => name === "supabase")?.availability).toEqual({
      kind: "needs",
      what: ["environment variable SUPABASE_ACCESS_TOKEN"],
    });
  });

  test("has one server for each of a duplicate set", async () => {
    const folder = mkdtempSync(join(root, "set-"));
    place(folder, "claude-code-03.mcp.json", "project/.mcp.json");
    place(folder, "opencode-03.json", "project/opencode.json");

    const { servers } = await discoverIn(folder, {});

    expect(servers.map(({ name, origins }) => [name, origins.length])).toEqual(
      samples
        .filter(([file]) => file === "opencode-03.json")
        .flatMap(([, expected]) => expected.servers.map(({ name }) => [name, 2])),
    );
  });
});

test.skipIf(samples.length === 0)("knows every file that is there", () => {
  const files = readdirSync(SAMPLES).filter((name) => !["index.md", "expected.json"].includes(name));

  expect(files.sort()).toEqual(samples.map(([name]) => name).sort());
});

function place(folder: string, sample: string, where: string): void {
  mkdirSync(dirname(join(folder, where)), { recursive: true });
  mkdirSync(join(folder, "project"), { recursive: true });
  cpSync(join(SAMPLES, sample), join(folder, where));
}

function discoverIn(
  folder: string,
  env: Readonly<Record<string, string>>,
  rest: { readonly platform?: NodeJS.Platform; readonly projectDir?: string } = {},
) {
  const config = loadConfig({ HOME: join(folder, "home"), MCP_BRIDGE_TRUST_PROJECT: "1", ...env });
  return discover({ ...config, projectDir: join(folder, "project"), ...rest });
}

function discoverSample(
  sample: string,
  where: string,
  env: Readonly<Record<string, string>>,
  rest: { readonly platform?: NodeJS.Platform; readonly projectDir?: string } = {},
) {
  const folder = mkdtempSync(join(root, "one-"));
  place(folder, sample, where);
  const named = basename(where).startsWith("named") ? { MCP_SERVERS_CONFIG: join(folder, where) } : {};
  return discoverIn(folder, { ...env, ...named }, { projectDir: join(folder, "project"), ...rest });
}

async function check(sample: string, where: string, expected: Expected, projectDir?: string): Promise<void> {
  const text = readFileSync(join(SAMPLES, sample), "utf8");
  // Variables that stand for themselves: the index has them as they are written.
  const env = Object.fromEntries(
    Array.from(text.matchAll(/\$\{(?:env:)?([A-Z]\w*)\}/g), ([written, name = ""]) => [name, written]),
  );
  const isWindows = expected.servers.some(({ command }) => command === "cmd");
  const { servers, problems } = await discoverSample(sample, where, env, {
    ...(isWindows ? { platform: "win32" as const } : {}),
    ...(projectDir === undefined ? {} : { projectDir }),
  });
  const folder = servers[0]?.origins[0].folder;

  expect(servers.map(({ name }) => name)).toEqual(expected.servers.map(({ name }) => name));
  servers.forEach((server, index) => {
    const wanted = expected.servers[index];
    if (wanted !== undefined) compare(server, wanted, folder);
  });
  for (const { name } of expected.skipped) {
    expect(problems.filter(({ message }) => message.includes(name))).not.toEqual([]);
  }
}

const PROTOCOLS: Readonly<Record<string, readonly string[]>> = {
  http: ["http", "auto"],
  sse: ["sse"],
  "http-or-sse": ["auto"],
};

function compare(server: ServerDefinition, wanted: ExpectedServer, folder: string | undefined): void {
  const { transport, availability } = server;
  expect(availability.kind !== "disabled").toBe(wanted.enabled);
  if (wanted.needs === "headersHelper") expect(availability.kind).toBe("needs");
  if (wanted.timeout_s !== undefined) expect(server.callMs).toBe(wanted.timeout_s * 1000);
  if (transport.kind === "remote") {
    expect(transport.url).toBe(wanted.url ?? "");
    expect(PROTOCOLS[wanted.transport.split(" ")[0] ?? ""]).toContain(transport.protocol);
    return;
  }
  const workspace = folder ?? join(dirname(dirname(server.origins[0].file)), "project");
  const fill = (written: string) => written.replaceAll("${workspaceFolder}", workspace);
  expect("stdio").toBe(wanted.transport);
  if (wanted.command?.includes("${workspaceFolder}") !== true)
    expect(transport.command).toBe(wanted.command ?? "");
  else expect(transport.command).toEndWith("/build/restv2-api-server-go");
  if (!wanted.args?.some((word) => word.startsWith("${"))) expect(transport.args).toEqual(wanted.args ?? []);
  else if (folder !== undefined) expect(transport.args).toEqual(wanted.args.map(fill));
  if (wanted.env !== undefined) expect(transport.env).toEqual(wanted.env);
  if (wanted.cwd !== undefined && !wanted.cwd.startsWith("$")) expect(transport.cwd).toBe(wanted.cwd);
}
