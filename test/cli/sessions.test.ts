import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BridgeEvents, createBridgeEvents } from "../../src/core/bridge-events.ts";
import { createLog } from "../../src/core/log.ts";
import { createSessionBoard, type SessionBoard } from "../../src/mcp/dashboard/session-board.ts";
import { createAuthenticator } from "../../src/mcp/http/authenticator.ts";
import { createHttpApp } from "../../src/mcp/http/http-app.ts";
import { createSessionRoutes } from "../../src/mcp/http/session-routes.ts";
import { CliWorld } from "../helpers/cli-world.ts";

const ADA = { id: "token:ada", name: "ada" };
const TOKEN = "ada-0123456789abcdef";

let home: string;
let events: BridgeEvents;
let board: SessionBoard;
let acted: string[];
let server: ReturnType<typeof Bun.serve>;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-cli-sessions-"));
  events = createBridgeEvents();
  acted = [];
  const log = createLog("ERROR", () => undefined);
  const control = {
    async act(id: string, action: string) {
      acted.push(`${action} ${id}`);
      return id !== "idle";
    },
    memoryBytes: async () => 40 * 1024 ** 2,
  };
  board = createSessionBoard({ events, control, isAdmin: () => false });
  const app = createHttpApp({
    path: "/mcp",
    endpoint: { handle: async () => new Response("mcp") },
    authenticator: createAuthenticator({
      verifiers: [
        {
          verify: async (token) =>
            token === TOKEN
              ? { kind: "caller", caller: ADA }
              : { kind: "unknown", reason: "the token is not one that this server knows" },
        },
      ],
    }),
    hosts: { hosts: ["127.0.0.1"], origins: [] },
    routes: [createSessionRoutes(board, log)],
    isDraining: () => false,
    log,
  });
  server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => app.fetch(request) });
});
afterEach(async () => {
  await server.stop(true);
  await board.close();
  rmSync(home, { recursive: true, force: true });
});

function run(
  words: readonly string[],
  env: Readonly<Record<string, string>> = { MCP_BRIDGE_HTTP_TOKEN: TOKEN },
) {
  const world = new CliWorld();
  Object.assign(world.env, { HOME: home, ...env });
  return world.run("sessions", ...words);
}

const url = () => `--url=http://127.0.0.1:${server.port}`;

function open(sessionId: string, code?: string) {
  const about = { sessionId, caller: ADA };
  events.emit({ kind: "session-opened", ...about });
  if (code === undefined) return;
  events.emit({ kind: "sandbox-started", fromPool: true, durationMs: 1, ...about });
  events.emit({ kind: "execution-queued", executionId: "1", code, ...about });
  events.emit({ kind: "execution-started", executionId: "1", waitedMs: 0, ...about });
}

describe("sandpy sessions", () => {
  test("lists them in columns, fit for a terminal", async () => {
    expect(await run([url()])).toEqual({ code: 0, stdout: "There is no session.\n", stderr: "" });
    open("idle");
    open("busy", "\nwhile True:\u001b[2J\n  pass");
    const { stdout } = await run([url()]);
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["ID", "STATE", "MEMORY", "AGE", "IDLE", "RUNS", "CALLER", "CODE"],
      ["busy", "running", "40 MiB", "0s", "-", "1", "ada", "while True:\\u{1b}[2J"],
      ["idle", "stopped", "-", "0s", "0s", "0", "ada", "-"],
      [""],
    ]);
    expect((await run(["list", url()])).stdout).toBe(stdout);
  });

  test("prints JSON, and no handle", async () => {
    open("idle");
    const { stdout } = await run(["--json", `${url()}/mcp`]);
    expect(JSON.parse(stdout)).toEqual({
      sessions: [expect.objectContaining({ id: "idle", caller: "ada" })],
    });
    expect(stdout).not.toMatch(/\bs_/);
  });

  test.each([
    ["end", "Ended busy.\nIt had ended already: idle.\n"],
    ["interrupt", "Interrupted busy.\nNothing runs in idle.\n"],
    ["reset", "Gave a fresh Python to busy.\nIt had ended already: idle.\n"],
  ])("%s acts on several", async (action, stdout) => {
    open("idle");
    open("busy", "1");
    expect(await run([action, "busy", "idle", url()])).toEqual({ code: 0, stdout, stderr: "" });
    expect(acted).toEqual([`${action} busy`, `${action} idle`]);
    const answer = JSON.parse((await run([action, "idle", "--json", url()])).stdout);
    expect(answer).toEqual({ action, sessions: [{ id: "idle", done: false }] });
  });

  test("takes the address from the settings, and the token from a file", async () => {
    open("idle");
    const tokens = join(home, "tokens");
    writeFileSync(tokens, `ben ben-0123456789abcdef\nada ${TOKEN}\n`, { mode: 0o600 });
    const config = join(home, "sandpy.jsonc");
    writeFileSync(
      config,
      JSON.stringify({ http: { host: "0.0.0.0", port: server.port, tokenFile: "tokens" } }),
    );
    expect((await run(["--config", config, "--as", "ada"], {})).stdout).toContain("idle");
    const { code, stderr } = await run(["--config", config], {});
    expect([code, stderr]).toEqual([3, expect.stringContaining("has tokens of ben, ada\nSay whose to use")]);
    // A file that is named counts more than a variable.
    const other = { MCP_BRIDGE_HTTP_TOKEN: "other-0123456789abcdef" };
    expect((await run([url(), "--token-file", tokens, "--as", "ada"], other)).code).toBe(0);
  });

  test.each([
    [["end"], 2, "ID is missing"],
    [["end", "busy", "nobody"], 5, 'there is no session "nobody"'],
    [["end", `s_${"x".repeat(32)}`], 2, "that is the handle of a session"],
    [["nope"], 2, 'unknown command "nope"'],
    [["--url", "ftp://x"], 2, '--url is "ftp://x": expected an address'],
    [["--url", "http://ada:secret-word@h/"], 2, "--url is"],
  ])("%j is refused, and changes nothing", async (words, code, message) => {
    open("busy", "1");
    const answer = await run(words.some((word) => word === "--url") ? words : [...words, url()]);
    expect([answer.code, answer.stdout, answer.stderr]).toEqual([code, "", expect.stringContaining(message)]);
    expect(answer.stderr).not.toMatch(/x{32}|secret-word/);
    expect(acted).toEqual([]);
  });

  test("says how to get in, and how to start a server", async () => {
    const none = await run([url()], {});
    expect([none.code, none.stderr]).toEqual([3, expect.stringContaining("a bearer token is needed")]);
    expect(none.stderr).toContain("Set MCP_BRIDGE_HTTP_TOKEN");
    const wrong = await run([url()], { MCP_BRIDGE_HTTP_TOKEN: "wrong-0123456789abcdef" });
    expect([wrong.code, wrong.stderr]).toEqual([
      3,
      expect.stringContaining("not one that this server knows"),
    ]);
    const address = url();
    await server.stop(true);
    const gone = await run([address]);
    expect([gone.code, gone.stderr]).toEqual([
      3,
      expect.stringContaining('Start one with "sandpy serve --http"'),
    ]);
  });
});
