/** What code in the sandbox does to get around the question that its user is asked, on the built binary. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { until } from "../../helpers/until.ts";
import { SERVERS } from "../../upstream/harness.ts";
import { command } from "../helpers/command.ts";
import { BINARY, bridgeEnv } from "../helpers/engine.ts";
import { createHome, type TestHome } from "../helpers/home.ts";

const say = (decision: string): ElicitResult => ({ action: "accept", content: { decision } });

let home: TestHome;
let journal: string;
let client: Client;
let asked: string[] = [];
let decide: () => ElicitResult | Promise<ElicitResult>;

beforeAll(async () => {
  home = createHome();
  journal = join(home.path, "journal");
  const tools = { "wipe-all": {}, get: { annotations: { readOnlyHint: true } } };
  const script = JSON.stringify({ journal, tools, resources: [{ uri: "x:wipe-all", name: "wipe-all" }] });
  home.defineServers({
    fx: { command: process.execPath, args: [join(SERVERS, "scripted-server.ts"), script] },
  });
  client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params.message);
    return decide();
  });
  const args = ["serve", "--ask", "wipe_all"];
  const env = bridgeEnv(home.path);
  await client.connect(
    new StdioClientTransport({ command: BINARY, args, env, cwd: home.path, stderr: "ignore" }),
  );
}, 30_000);
afterAll(async () => {
  await client.close();
  home[Symbol.dispose]();
});
beforeEach(() => {
  asked = [];
  decide = () => say("deny");
});

async function python(code: string, session?: string): Promise<string> {
  const request = { name: "run_python", arguments: { code, ...(session === undefined ? {} : { session }) } };
  const { content } = await client.callTool(request, undefined, { timeout: 60_000 });
  return (content as { text?: string }[]).map(({ text = "" }) => text).join("");
}

const calls = () =>
  existsSync(journal)
    ? readFileSync(journal, "utf8")
        .split("\n")
        .filter((line) => line.includes('"tools/call"'))
    : [];
const attempt = (statement: string) =>
  `import asyncio, threading\ntry:\n    ${statement}\n    print("CALLED")\nexcept MCPError as e:\n    print(e.kind, e)`;

test.each<[string, string]>([
  ["its alias", "await mcp_fx.wipe_all()"],
  ["its own name", 'await runtime.call_tool("fx", "wipe-all", {})'],
  ["the list of servers", 'await getattr(mcp_servers["fx"], "wipe-all")()'],
  ["a saved function", "await wipe_later()"],
  ["a gathered call", "await asyncio.gather(mcp_fx.wipe_all(), mcp_fx.get())"],
  [
    "a thread",
    "await asyncio.to_thread(lambda loop: asyncio.run_coroutine_threadsafe(mcp_fx.wipe_all(), loop).result(20), asyncio.get_running_loop())",
  ],
])("NBR-14: a tool that is to be asked for is by %s too", async (_, statement) => {
  const before = calls().filter((line) => line.includes('"wipe-all"')).length;
  await python("async def wipe_later():\n    await mcp_fx.wipe_all()\nruntime.save_tool(wipe_later)");

  expect(await python(attempt(statement))).toMatch(/^denied fx\.wipe-all: .*and the user denied it/);
  expect(asked).toHaveLength(1);
  expect(calls().filter((line) => line.includes('"wipe-all"'))).toHaveLength(before);
});

test.each(["WIPE-ALL", "wipe-all ", "wipe\u00ad-all", "fx/wipe-all", "../wipe-all", "wipe%2Dall"])(
  "NBR-14: %j is no name of it",
  async (name) => {
    expect(await python(attempt(`await runtime.call_tool("fx", ${JSON.stringify(name)}, {})`))).toContain(
      "has no tool",
    );
    expect([asked, calls().filter((line) => line.includes('"wipe-all"'))]).toEqual([[], []]);
  },
);

test("NBR-14: of arguments that the code changes meanwhile, those are meant that the user sees", async () => {
  decide = async () => {
    await python("1", "new"); // a run of another session, so that time passes for the code of this one
    return say("once");
  };
  const text = await python(`import asyncio
args = {"path": "/tmp/mine", "more": ["one"]}
task = asyncio.ensure_future(runtime.call_tool("fx", "wipe-all", args))
await asyncio.sleep(0.2)
args["path"] = "/"; args["more"].append("two")
await task
print("CALLED", args["path"])`);

  expect(text).toContain("CALLED /");
  const seen = '{"path":"/tmp/mine","more":["one"]}';
  expect(asked).toEqual([expect.stringContaining(`\n    ${seen}\n`)]);
  expect(calls().at(-1)).toContain(`"arguments":${seen}`);
});

test("NBR-14: an answer that comes after Python died makes no call, and allows nothing", async () => {
  const gate = Promise.withResolvers<ElicitResult>();
  decide = () => gate.promise;
  const before = calls().length;
  const run = python(
    "import asyncio, os\nasyncio.get_running_loop().call_later(0.5, os.kill, os.getpid(), 9)\nawait mcp_fx.wipe_all()",
  );
  await until("the question", () => asked.length === 1);

  expect(await run).toContain("Python was restarted");
  gate.resolve(say("session"));
  decide = () => say("deny");
  expect(await python(attempt("await mcp_fx.wipe_all()"))).toContain("and the user denied it");
  expect([asked.length, calls().length - before]).toEqual([2, 0]);
});

test("NBR-14: what is allowed for the session is not for another, nor by another tool of the server", async () => {
  decide = () => say("session");
  const handle = /session="(s_\w+)"/.exec(await python("await mcp_fx.wipe_all()", "new"))?.[1] ?? "";
  await python("await mcp_fx.wipe_all()", handle);
  expect(asked).toHaveLength(1);
  decide = () => say("deny");

  expect(await python(attempt("await mcp_fx.wipe_all()"))).toContain("and the user denied it");
  expect(await python(attempt("await mcp_fx.wipe_all()"), "new")).toContain("and the user denied it");
  expect(asked).toHaveLength(3);
});

test.each<[string, readonly string[]]>([
  ["sandpy run", ["run", "job.py", "--servers", "fx"]],
  ["sandpy run, saved as a function", ["run", "saved.py", "--servers", "fx"]],
])("NBR-14: %s has nobody to ask, and calls nothing", async (_, args) => {
  const before = calls().length;
  home.write("job.py", attempt("await mcp_fx.wipe_all()"));
  home.write("saved.py", attempt("await wipe_later()"));

  const { stdout } = await command([...args, "--ask", "wipe_all"], { home });

  expect(stdout).toContain("and there is nobody to ask here");
  expect(calls().length).toBe(before);
});
