import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { BINARY, bridgeEnv, until } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { startServed } from "./helpers/served.ts";

const TOKEN = "ada-0123456789abcdef";
const SECRET = "s3cret-of-the-server";
const SERVER = join(import.meta.dir, "../fixtures/servers/scripted-server.ts");
const JSON_LOG = { MCP_BRIDGE_LOG_LEVEL: "debug", MCP_BRIDGE_LOG_FORMAT: "json" };
const CODE = "print(await mcp_fx.get(marker='an argument'))";

type Entry = Readonly<Record<string, unknown>>;

/** A home with a token of Ada's and a server `fx` that has the tool `get`, and says its secret on stderr. */
function createFxHome(): TestHome {
  const home = createHome();
  const script = JSON.stringify({
    tools: { get: {} },
    stderr: `${SECRET}\n{"level":"ERROR","message":"forged"}\n`,
  });
  home.defineServers({
    fx: { command: process.execPath, args: [SERVER, script], env: { TOKEN: SECRET } },
  });
  chmodSync(home.write("tokens", `ada ${TOKEN}\n`), 0o600);
  return home;
}

async function readAudit(home: TestHome, count: number): Promise<readonly Entry[]> {
  const file = join(home.path, ".local/share/sandpy/audit.jsonl");
  const lines = () => (existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : []);
  await until("the audit", () => lines().length >= count);
  return lines().map((line) => JSON.parse(line));
}

/** All lines that are complete; each must be an object, and none may tell what is secret or whose data it is. */
function parseLog(text: string): readonly Entry[] {
  expect(text).not.toContain(SECRET);
  expect(text).not.toContain(TOKEN);
  const entries = text
    .slice(0, text.lastIndexOf("\n"))
    .split("\n")
    .map((line) => JSON.parse(line) as Entry);
  for (const { time, level, message } of entries) {
    expect(new Date(String(time)).toISOString()).toBe(String(time));
    expect(["DEBUG", "INFO", "WARNING", "ERROR"]).toContain(String(level));
    expect(message).not.toBe("forged");
  }
  return entries;
}

/** What the lines of each run have in common with its line in the audit. */
function expectSameIds(entries: readonly Entry[], audit: readonly Entry[], caller: string): void {
  expect(audit.length).toBe(2);
  expect(new Set(audit.map(({ request }) => request)).size).toBe(2);
  for (const line of audit) {
    const { session, execution, request } = line;
    const ids = { caller, session, execution, request };
    expect(line).toMatchObject({ caller, server: "fx", tool: "get", outcome: "ok" });
    const own = entries.filter((entry) => entry["execution"] === execution);
    for (const message of ["an execution began", "a server was called", "an execution ended"]) {
      expect(own.filter((entry) => entry["message"] === message)).toMatchObject([ids]);
    }
  }
  // The run that started it is over when a server says something later.
  for (const message of ["started server", "stderr of server"]) {
    const [said] = entries.filter((entry) => entry["message"] === message);
    expect(said).toMatchObject({ server: "fx" });
    for (const id of ["session", "execution", "request"]) expect(said).not.toHaveProperty(id);
  }
}

describe("the log as JSON has the ids of the audit", () => {
  test.each(["2025-11-25", "2026-07-28"] as const)("over stdio, to a client of %s", async (revision) => {
    using home = createFxHome();
    const parameters = {
      command: BINARY,
      args: [],
      env: bridgeEnv(home.path, JSON_LOG),
      cwd: home.path,
      stderr: "pipe" as const,
    };
    let log = "";
    const call = { name: "run_python", arguments: { code: CODE } };
    if (revision === "2026-07-28") {
      const client = new ModernClient(
        { name: "test", version: "1" },
        { versionNegotiation: { mode: { pin: revision } } },
      );
      const transport = new ModernTransport(parameters);
      transport.stderr?.on("data", (text) => {
        log += String(text);
      });
      await client.connect(transport);
      for (let run = 0; run < 2; run += 1) await client.callTool(call, { timeout: 60_000 });
      await client.close();
    } else {
      const client = new Client({ name: "test", version: "1" });
      const transport = new StdioClientTransport(parameters);
      transport.stderr?.on("data", (text) => {
        log += String(text);
      });
      await client.connect(transport);
      for (let run = 0; run < 2; run += 1) await client.callTool(call, undefined, { timeout: 60_000 });
      await client.close();
    }
    const audit = await readAudit(home, 2);
    expectSameIds(parseLog(log), audit, "local");
    expect(log).not.toContain("an argument");
  });

  test("over HTTP, where the request's is the client's own or that of the answer", async () => {
    using home = createFxHome();
    await using served = await startServed(home, ["--token-file", join(home.path, "tokens")], JSON_LOG);
    await using client = await served.connect(TOKEN);
    for (let run = 0; run < 2; run += 1) expect(await client.python(CODE)).toBe("success");
    const audit = await readAudit(home, 2);
    await until("the last line", () => served.stderr().split("an execution ended").length === 3);
    const entries = parseLog(served.stderr());
    expectSameIds(entries, audit, "token:ada");
    for (const { request } of audit) {
      const answered = entries.filter(
        (entry) => entry["message"] === "request" && entry["request"] === request,
      );
      expect(answered).toMatchObject([{ method: "POST", path: "/mcp", status: 200, caller: "token:ada" }]);
    }
    expect(entries.find(({ message }) => message === "serving MCP by HTTP")).toMatchObject({
      url: served.url.href,
    });
  });
});

test("a server for many says at INFO how each run ended, and takes the name of a request from its client", async () => {
  using home = createFxHome();
  await using served = await startServed(home, [], { MCP_BRIDGE_LOG_FORMAT: "json" });
  const request = (body: object) =>
    fetch(served.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "x-request-id": "mine-1",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "run_python",
      },
      body: JSON.stringify(body),
    });
  const answer = await request({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name: "run_python",
      arguments: { code: "1 / 0" },
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      },
    },
  });
  expect([answer.status, answer.headers.get("x-request-id")]).toEqual([200, "mine-1"]);
  expect(await answer.text()).toContain("ZeroDivisionError");
  await until("the line", () => served.stderr().includes("an execution ended"));
  const ended = parseLog(served.stderr()).filter(({ message }) => message === "an execution ended");
  expect(ended).toMatchObject([{ level: "INFO", request: "mine-1", caller: "local", outcome: "error" }]);
});
