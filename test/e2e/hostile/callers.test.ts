/** What callers over HTTP see of each other, and what hostile names do to logs, on the built binary. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SERVERS } from "../../upstream/harness.ts";
import { until } from "../helpers/engine.ts";
import { createHome, type TestHome } from "../helpers/home.ts";
import { type Served, startServed } from "../helpers/served.ts";

const TOKENS = { ada: "ada-0123456789abcdef", bob: "bob-0123456789abcdef" } as const;
type Name = keyof typeof TOKENS;
const MODERN = "2026-07-28";
const ERAS = ["2025-11-25", MODERN] as const;
/** Ends lines and strings, acts on a terminal, hides itself, and looks like a line of ours. */
const HOSTILE =
  'x\r\nERROR sandpy: forged\n"} 9\nsandpy_forged{a="1"} 1\u001b[2J\u009b1m\u202e\u200b\u{e0041}';

let home: TestHome;
let served: Served;
beforeAll(async () => {
  home = createHome();
  const lines = Object.entries(TOKENS).map(([name, token]) => `${name} ${token}`);
  const tokens = home.write("tokens", `${lines.join("\n")}\n`);
  await Bun.$`chmod 600 ${tokens}`.quiet();
  const tools = { [HOSTILE]: {}, [`${HOSTILE}2`]: {}, ["n".repeat(10_000)]: {} };
  const script = JSON.stringify({ tools, stderr: `${HOSTILE}\n` });
  home.defineServers({
    [HOSTILE]: { command: process.execPath, args: [join(SERVERS, "scripted-server.ts"), script] },
  });
  served = await startServed(home, ["--token-file", tokens], { MCP_BRIDGE_LOG_LEVEL: "DEBUG" });
}, 60_000);
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

const headersOf = (name: Name, more: Readonly<Record<string, string>> = {}) => ({
  authorization: `Bearer ${TOKENS[name]}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "user-agent": "x\tERROR sandpy: forged",
  ...more,
});

const CLIENT = { clientInfo: { name: HOSTILE, version: HOSTILE }, capabilities: {} };

/** How a caller runs code, under any id: the text of the answer, and the id that it has. */
type Run = (id: number, code: string) => Promise<{ readonly id: unknown; readonly text: string }>;

async function begin(name: Name, era: (typeof ERAS)[number]): Promise<Run> {
  const post = (message: object, more: Readonly<Record<string, string>>) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    return fetch(served.url, { method: "POST", headers: headersOf(name, more), body });
  };
  const read = async (response: Response) => {
    const text = await response.text();
    const { id, result } = JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text);
    return { id, text: String(result?.content?.[0]?.text), session: result?.structuredContent?.session };
  };
  const method = "tools/call";
  if (era !== MODERN) {
    const params = { protocolVersion: era, ...CLIENT };
    const made = await post({ id: 0, method: "initialize", params }, {});
    await made.text();
    const headers = { "mcp-session-id": made.headers.get("mcp-session-id") ?? "" };
    return async (id, code) =>
      read(await post({ id, method, params: { name: "run_python", arguments: { code } } }, headers));
  }
  const headers = { "mcp-protocol-version": era, "mcp-method": method, "mcp-name": "run_python" };
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": era,
    "io.modelcontextprotocol/clientInfo": CLIENT.clientInfo,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const run = async (id: number, code: string, session?: string) =>
    read(
      await post(
        {
          id,
          method,
          params: { _meta, name: "run_python", arguments: { code, ...(session && { session }) } },
        },
        headers,
      ),
    );
  const { session } = await run(0, "1");
  return (id, code) => run(id, code, session);
}

test("CLI-7: two callers, each with a client of either era, get their own of 800 answers with the same ids", async () => {
  const names: readonly Name[] = ["ada", "bob"];
  const clients = names.flatMap((name) => ERAS.map((era) => ({ name, era })));
  const wrong: unknown[] = [];
  await Promise.all(
    clients.map(async ({ name, era }) => {
      const run = await begin(name, era);
      await run(1, `own = ${JSON.stringify(`${name} ${era}`)}`);
      for (let round = 0; round < 5; round++) {
        const ids = Array.from({ length: 40 }, (_, at) => at);
        const answers = await Promise.all(ids.map((id) => run(id, `print(own, ${round}, ${id})`)));
        for (const [at, { id, text }] of answers.entries()) {
          const isOwn = id === at && text.startsWith(`${name} ${era} ${round} ${at}\n`);
          if (!isOwn) wrong.push({ name, era, at, id, text });
        }
      }
    }),
  );
  expect(wrong).toEqual([]);
}, 60_000);

test("UPS-8 NBR-4 NBR-13: names of servers, tools and clients forge no line, and show nobody what is another's", async () => {
  const run = await begin("ada", "2025-11-25");
  const { text } = await run(
    1,
    `secret_of_ada = 1
[server] = await runtime.list_servers()
for tool in await runtime.list_tools(server):
    await getattr(mcp_servers[server], tool["alias"])()
print("called")`,
  );
  expect(text).toContain("called");

  const seen = async (path: string, name: Name) =>
    (await fetch(new URL(path, served.origin), { headers: headersOf(name) })).text();
  expect(await seen("/api/sessions", "ada")).toMatch(/"caller":"ada"/);
  expect(await seen("/api/sessions", "bob")).not.toMatch(/ada/);
  const metrics = await seen("/metrics", "bob");
  expect(metrics).toContain("sandpy_forged"); // within the quotes of a label
  expect(metrics).not.toMatch(/^sandpy_forged|\bada\b/m);

  const log = served
    .stderr()
    .split("\n")
    .filter((line) => line !== "");
  expect(log.filter((line) => !/^(sandpy:|(DEBUG|INFO|WARNING) sandpy: )/.test(line))).toEqual([]);
  expect(log.filter((line) => /[\p{Cc}\p{Cf}]/u.test(line) || line.length > 12_500)).toEqual([]);
  const auditLines = () => {
    const file = join(home.path, ".local/share/sandpy/audit.jsonl");
    return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  };
  await until("the audit to be written", () => auditLines().length >= 3);
  const audit = auditLines();
  expect(audit.filter((line) => /[\p{Cc}\p{Cf}]/u.test(line) || line.length > 2500)).toEqual([]);
  expect(audit.map((line) => JSON.parse(line).caller)).toEqual(Array(3).fill("token:ada"));
});
