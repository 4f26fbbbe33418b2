import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openUpstream } from "../../src/app/open-upstream.ts";
import { rememberNames } from "../../src/app/remembered-names.ts";
import { createServerNames } from "../../src/app/server-names.ts";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { ServerNames } from "../../src/mcp/listed-tool.ts";
import type { Upstream } from "../../src/upstream/upstream.ts";
import { createMemoryLog } from "../helpers/logs.ts";
import { until } from "../helpers/until.ts";

let home: string;
let open: Upstream[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-names-"));
  open = [];
});
afterEach(async () => {
  await Promise.all(open.map((upstream) => upstream.close()));
  rmSync(home, { recursive: true });
});

function write(path: string, content: unknown): void {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
}

const defineServers = (...names: readonly string[]) =>
  write("MCPs/all.json", {
    mcpServers: Object.fromEntries(names.map((name) => [name, { command: "never-started" }])),
  });
const namesFile = () => join(home, ".cache/sandpy/names.json");
const kept = () => readFileSync(namesFile(), "utf8");

interface Start {
  readonly names: ServerNames;
  /** How often it has read what the servers are. */
  readonly reads: number;
}

interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** By itself it reads soon only where a test is about that. */
  readonly readDelayMs?: number;
}

const places = () => ({ projectDir: join(home, "project"), systemRoot: join(home, "root") });

/** As a bridge starts, with the files that are there. */
function start({
  env = {},
  signal = new AbortController().signal,
  readDelayMs = 60_000,
}: StartOptions = {}): Start {
  const config: Config = {
    ...loadConfig({ HOME: home, PATH: process.env["PATH"] ?? "", ...env }),
    ...places(),
  };
  const upstream = openUpstream(config, { log: createMemoryLog() });
  open.push(upstream);
  let reads = 0;
  upstream.onRead(() => {
    reads += 1;
  });
  const names = createServerNames({
    loadUpstream: async () => upstream,
    remembered: rememberNames(config),
    signal,
    readDelayMs,
  });
  return {
    names,
    get reads() {
      return reads;
    },
  };
}

/** A bridge that has read the files, and has kept what it read. */
async function startAndKeep(env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const look = () => statSync(namesFile(), { throwIfNoEntry: false })?.ino;
  const before = look();
  const aliases = await start({ env }).names.read();
  await until("the names to be kept", () => look() !== before);
  return aliases;
}

describe("the names of the servers", () => {
  test("are those of the last reading, where no file has changed; they are read soon after", async () => {
    defineServers("beta", "alpha");
    const read = await startAndKeep();
    expect([...read].sort()).toEqual(["alpha", "beta"]);
    const next = start();
    expect(await next.names.read()).toEqual(read);
    expect(next.reads).toBe(0);
    const eager = start({ readDelayMs: 1 });
    expect(await eager.names.read()).toEqual(read);
    await until("a reading", () => eager.reads === 1);
    expect(await eager.names.read()).toEqual(read);
  });

  test.each<[string, () => void, readonly string[], Readonly<Record<string, string>>?]>([
    ["a server is new", () => defineServers("alpha", "beta", "gamma"), ["alpha", "beta", "gamma"]],
    ["a server is gone", () => defineServers("beta"), ["beta"]],
    [
      "another client has a file now",
      () => write(".cursor/mcp.json", { mcpServers: { delta: { command: "x" } } }),
      ["alpha", "beta", "delta"],
    ],
    ["a setting forbids one", () => undefined, ["beta"], { MCP_BRIDGE_DENY_SERVERS: "alpha" }],
    ["what was kept is no JSON", () => write(".cache/sandpy/names.json", "{"), ["alpha", "beta"]],
    [
      "what was kept is of another version",
      () => write(".cache/sandpy/names.json", kept().replace('"version":1', '"version":2')),
      ["alpha", "beta"],
    ],
    [
      "what was kept has another shape",
      () => write(".cache/sandpy/names.json", kept().replace('["alpha","beta"]', '["alpha",1]')),
      ["alpha", "beta"],
    ],
  ])("are read at once where %s", async (_title, change, aliases, env = {}) => {
    defineServers("alpha", "beta");
    await startAndKeep();
    change();
    const next = start({ env });
    expect([...(await next.names.read())].sort()).toEqual([...aliases]);
    expect(next.reads).toBe(1);
  });

  test("are read at once where a file has changed that a value is taken from", async () => {
    write("key.txt", "one");
    write(".config/opencode/opencode.json", {
      mcp: { alpha: { type: "local", command: ["x"], environment: { KEY: "{file:~/key.txt}" } } },
    });
    expect(await startAndKeep()).toEqual(["alpha"]);
    const same = start();
    expect(await same.names.read()).toEqual(["alpha"]);
    expect(same.reads).toBe(0);
    rmSync(join(home, "key.txt"));
    const next = start();
    expect(await next.names.read()).toEqual([]);
    expect(next.reads).toBe(1);
  });

  test("are told again where the environment has another say", async () => {
    write("MCPs/all.json", { mcpServers: { alpha: { command: "x", env: { KEY: "$MY_KEY" } } } });
    expect(await startAndKeep({ MY_KEY: "1" })).toEqual(["alpha"]);
    const next = start({ readDelayMs: 1 });
    const told: (readonly string[])[] = [];
    next.names.onRead((aliases) => told.push(aliases));
    expect(await next.names.read()).toEqual(["alpha"]);
    await until("the news", () => told.length === 1);
    expect([told, await next.names.read()]).toEqual([[[]], []]);
  });

  test("are kept for several places, each with its own", async () => {
    defineServers("alpha", "beta");
    await startAndKeep();
    await startAndKeep({ MCP_BRIDGE_DENY_SERVERS: "alpha" });
    const [all, some] = [start(), start({ env: { MCP_BRIDGE_DENY_SERVERS: "alpha" } })];
    expect([await all.names.read(), await some.names.read()]).toEqual([["alpha", "beta"], ["beta"]]);
    expect([all.reads, some.reads]).toEqual([0, 0]);
  });

  test("lie where only the user can read them, with no value of the files", async () => {
    write("MCPs/all.json", { mcpServers: { alpha: { command: "x", env: { TOKEN: "hush-123" } } } });
    await startAndKeep();
    expect(statSync(namesFile()).mode & 0o777).toBe(0o600);
    expect(kept()).not.toContain("hush-123");
  });

  test("are not kept where they are very many", async () => {
    defineServers("alpha");
    await startAndKeep();
    expect(Object.keys(JSON.parse(kept()).places)).toHaveLength(1);
    defineServers(...Array.from({ length: 3000 }, (_, index) => `a-server-with-a-long-name-${index}`));
    expect(await startAndKeep()).toHaveLength(3000);
    expect(JSON.parse(kept()).places).toEqual({});
  });

  test("are told also by a bridge that cannot read what the servers are, which goes on", async () => {
    defineServers("alpha");
    await startAndKeep();
    const config = { ...loadConfig({ HOME: home, PATH: process.env["PATH"] ?? "" }), ...places() };
    const failed = Promise.withResolvers<void>();
    const names = createServerNames({
      loadUpstream: async () => {
        failed.resolve();
        throw new Error("no upstream");
      },
      remembered: rememberNames(config),
      signal: new AbortController().signal,
      readDelayMs: 1,
    });
    expect(await names.read()).toEqual(["alpha"]);
    await failed.promise;
    await Bun.sleep(5); // ends after the delay above: a rejection that nobody takes would fail this test
    expect(await names.read()).toEqual(["alpha"]);
  });

  test("are not read soon after by a bridge that ends", async () => {
    defineServers("alpha");
    await startAndKeep();
    const end = new AbortController();
    const ending = start({ signal: end.signal, readDelayMs: 20 });
    expect(await ending.names.read()).toEqual(["alpha"]);
    end.abort();
    const other = start({ readDelayMs: 20 });
    await other.names.read();
    await until("the reading of another", () => other.reads === 1);
    expect(ending.reads).toBe(0);
  });
});
