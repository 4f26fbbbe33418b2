import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Child, startChild } from "../../src/core/child.ts";
import { patient } from "../helpers/patient.ts";
import { BINARY, bridgeEnv, containersOf, runEngine, until } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

const EXIT_WITHIN_MS = 5000;

const message = (id: number, method: string, params: object) =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
const INITIALIZE = message(1, "initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "raw", version: "1" },
});
const run = (id: number, code: string) =>
  message(id, "tools/call", { name: "run_python", arguments: { code } });

/** A client that writes and reads raw lines. */
class RawClient {
  readonly child: Child;
  readonly lines: string[] = [];
  readonly #reading: Promise<void>;

  private constructor(child: Child) {
    this.child = child;
    this.#reading = this.#read();
  }

  static async start(home: string, env: Record<string, string> = {}): Promise<RawClient> {
    return new RawClient(
      await startChild({ command: BINARY, args: [], env: bridgeEnv(home, env), cwd: home }),
    );
  }

  /** Waits for the reply with this id. */
  async reply(id: number): Promise<Record<string, unknown>> {
    const find = () => this.lines.map((line) => JSON.parse(line)).find((reply) => reply.id === id);
    await until(`a reply to ${id}`, () => find() !== undefined, 30_000);
    return find();
  }

  /** Waits for the end; how it ended and how many milliseconds it took. */
  async end(): Promise<{ code: number | null; inTime: boolean }> {
    const start = performance.now();
    const { code } = await this.child.exited;
    await this.#reading;
    return { code, inTime: performance.now() - start < patient(EXIT_WITHIN_MS) };
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of this.child.stdout) {
      const pieces = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = pieces.pop() ?? "";
      this.lines.push(...pieces);
    }
    if (rest !== "") this.lines.push(rest);
  }
}

/** `create` needs no working OCI runtime, but an image without a command needs to be told one. */
const WORKING_FLAGS = ["--network", "none"];

const noContainers = (pid: number) =>
  until("no container is left", async () => (await containersOf(pid)).length === 0, 15_000);

describe("the end of the server", () => {
  test.each([
    ["the end of stdin", (client: RawClient) => client.child.endInput()],
    ["SIGTERM", (client: RawClient) => client.child.kill("SIGTERM")],
    ["SIGINT", (client: RawClient) => client.child.kill("SIGINT")],
  ])("CLI-3 HOST-2: comes within 5 s of %s, with code 0 and without a container", async (_title, end) => {
    using home = createHome();
    const client = await RawClient.start(home.path);
    await client.child.write(INITIALIZE + run(2, "1 + 1"));
    await client.reply(2);
    expect(await containersOf(client.child.pid)).not.toEqual([]);
    end(client);
    expect(await client.end()).toEqual({ code: 0, inTime: true });
    expect(await containersOf(client.child.pid)).toEqual([]);
  });

  test("answers what is under way when stdin ends", async () => {
    using home = createHome();
    const client = await RawClient.start(home.path);
    await client.child.write(
      INITIALIZE + run(2, "import time\ntime.sleep(0.3)\nprint('finished')") + run(3, "'queued'"),
    );
    client.child.endInput();
    expect(await client.end()).toEqual({ code: 0, inTime: true });
    expect(client.lines.map((line) => JSON.parse(line).id)).toEqual([1, 2, 3]);
    expect(client.lines[1]).toContain("finished");
  });

  test("cancels, and says so, what does not finish in time", async () => {
    using home = createHome();
    const client = await RawClient.start(home.path);
    await client.child.write(INITIALIZE + run(2, "import time\nprint('begun', flush=True)\ntime.sleep(60)"));
    await client.reply(1);
    await until("a container", async () => (await containersOf(client.child.pid)).length === 1);
    client.child.endInput();
    expect(await client.end()).toEqual({ code: 0, inTime: true });
    expect(await client.reply(2)).toHaveProperty("result.isError", true);
    expect(await containersOf(client.child.pid)).toEqual([]);
  });

  test("HOST-1: leaves no container behind when the server is killed while code spins", async () => {
    using home = createHome();
    const client = await RawClient.start(home.path);
    await client.child.write(INITIALIZE + run(2, "while True: pass"));
    await until("a container", async () => (await containersOf(client.child.pid)).length === 1);
    client.child.kill("SIGKILL");
    await client.end();
    await noContainers(client.child.pid);
  });

  test("HOST-1: is made up for at the next start where a container outlived it", async () => {
    using home = createHome();
    const first = await RawClient.start(home.path);
    await first.child.write(INITIALIZE + run(2, "1"));
    await first.reply(2);
    const [name = ""] = await containersOf(first.child.pid);
    const labels = JSON.parse(await runEngine("inspect", "--format", "{{json .Config.Labels}}", name));
    const image = await runEngine("inspect", "--format", "{{.Config.Image}}", name);
    const flags = Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]);
    await runEngine("create", ...WORKING_FLAGS, ...flags, "--entrypoint", "python3", image, "-c", "pass");
    first.child.kill("SIGKILL");
    await first.end();
    expect((await containersOf(first.child.pid)).length).toBeGreaterThan(0);
    const next = await RawClient.start(home.path);
    await next.child.write(INITIALIZE + run(2, "1"));
    await next.reply(2);
    await noContainers(first.child.pid);
    expect(await containersOf(next.child.pid)).not.toEqual([]);
    next.child.endInput();
    await next.end();
  });

  test("comes at SIGTERM also while input comes without end", async () => {
    using home = createHome();
    const command = `exec "${BINARY}" serve < /dev/zero`;
    const child = await startChild({ command: "sh", args: ["-c", command], env: bridgeEnv(home.path) });
    const said: Buffer[] = [];
    for await (const chunk of child.stdout) {
      said.push(Buffer.from(chunk));
      if (said.length === 1) child.kill("SIGTERM"); // it was told that its line is too long
    }
    expect((await child.exited).code).toBe(0);
    expect(Buffer.concat(said).toString()).toContain("longer than");
  });

  test("needs nothing to have begun", async () => {
    using home = createHome();
    const client = await RawClient.start(home.path);
    client.child.endInput();
    expect([await client.end(), client.lines]).toEqual([{ code: 0, inTime: true }, []]);
  });
});

describe("stdout", () => {
  test("CLI-8: carries nothing but JSON-RPC, whatever is sent and however much is logged", async () => {
    using home = createHome();
    home.write("MCPs/broken.json", "{ not json");
    const client = await RawClient.start(home.path, { MCP_BRIDGE_LOG_LEVEL: "DEBUG" });
    await client.child.write(`${INITIALIZE}garbage\n\n{"jsonrpc":"2.0"}\n[]\n${run(2, "print('x')")}`);
    await client.reply(2);
    client.child.endInput();
    await client.end();
    for (const line of client.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
    expect(client.child.stderrText()).toContain("DEBUG sandpy:");
  });
});

describe("the folder it is started in", () => {
  test("cannot make the binary run code or take settings", async () => {
    using home = createHome();
    const marker = join(home.path, "preloaded");
    home.write("bunfig.toml", 'preload = ["./evil.ts"]\n');
    home.write(
      "evil.ts",
      `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(marker)}, "");\n`,
    );
    home.write(".env", "MCP_BRIDGE_TIMEOUT=not-a-number\n");
    home.write("tsconfig.json", "{ not json");
    home.write("package.json", "{ not json");
    const client = await RawClient.start(home.path);
    await client.child.write(INITIALIZE + run(2, "6 * 7"));
    expect(JSON.stringify(await client.reply(2))).toContain("42");
    client.child.endInput();
    expect((await client.end()).code).toBe(0);
    expect(existsSync(marker)).toBe(false);
  });
});
