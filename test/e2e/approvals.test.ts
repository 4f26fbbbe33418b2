/** What the user wants to be asked about waits for real clients of both eras, on the built binary. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { until } from "../helpers/until.ts";
import { livingWith, SERVERS } from "../upstream/harness.ts";
import { command } from "./helpers/command.ts";
import { BINARY, bridgeEnv, containersOf, until as untilGone } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { npmServer } from "./helpers/npm-servers.ts";

const IDENTITY = { name: "test", version: "1" };
const ELICITATION = { elicitation: { form: {} } };
const ERAS = ["initialize", "2026-07-28"] as const;

type Answer = { action: "accept" | "decline" | "cancel"; content?: Record<string, string> };
type Decide = (message: string, signal: AbortSignal | undefined) => Answer | Promise<Answer>;
const say = (decision: string): Answer => ({ action: "accept", content: { decision } });

let home: TestHome;
let notes: string;
let journal: string;
beforeEach(() => {
  home = createHome();
  home.write("notes/a.txt", "one\n");
  notes = join(home.path, "notes");
  journal = join(home.path, "journal");
  const script = JSON.stringify({
    journal,
    tools: { wipe: {}, get: { annotations: { readOnlyHint: true } } },
  });
  home.defineServers({
    files: npmServer("filesystem", notes),
    fx: { command: process.execPath, args: [join(SERVERS, "scripted-server.ts"), script] },
  });
});
afterEach(() => home[Symbol.dispose]());

interface Bridge extends AsyncDisposable {
  readonly pid: number;
  readonly asked: string[];
  /** What `run_python` gives, as text. */
  python(code: string, timeout?: number, options?: object): Promise<string>;
}

async function start(
  era: (typeof ERAS)[number],
  decide: Decide,
  { env = {}, capabilities = ELICITATION }: { env?: Record<string, string>; capabilities?: object } = {},
): Promise<Bridge> {
  const asked: string[] = [];
  const answer = (message: string, signal: AbortSignal | undefined) => {
    asked.push(message);
    return decide(message, signal);
  };
  const server = {
    command: BINARY,
    args: ["serve", "--ask", "destructive"],
    env: bridgeEnv(home.path, env),
    cwd: home.path,
    stderr: "ignore" as const,
  };
  const { client, pid } = await (era === "initialize" ? connectOlder : connectModern)(
    server,
    capabilities,
    answer,
  );
  return {
    pid,
    asked,
    async python(code, timeout = 30, options = {}) {
      const request = { name: "run_python", arguments: { code, timeout } };
      const result = (await client.callTool(request, { timeout: 60_000, ...options })) as {
        content: { text?: string }[];
      };
      return result.content.map(({ text = "" }) => text).join("");
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

type Server = ConstructorParameters<typeof StdioClientTransport>[0];

async function connectOlder(server: Server, capabilities: object, decide: Decide) {
  const client = new Client(IDENTITY, { capabilities });
  if ("elicitation" in capabilities) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => decide(params.message, signal));
  }
  const transport = new StdioClientTransport(server);
  await client.connect(transport);
  return {
    pid: transport.pid ?? -1,
    client: {
      callTool: (params: Parameters<Client["callTool"]>[0], options: object) =>
        client.callTool(params, undefined, options),
      close: () => client.close(),
    },
  };
}

async function connectModern(server: Server, capabilities: object, decide: Decide) {
  const client = new ModernClient(IDENTITY, {
    capabilities,
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  });
  if ("elicitation" in capabilities) {
    client.setRequestHandler("elicitation/create", ({ params }, { mcpReq }) =>
      decide(params.message, mcpReq.signal),
    );
  }
  const transport = new ModernTransport(server as ConstructorParameters<typeof ModernTransport>[0]);
  await client.connect(transport);
  return { pid: transport.pid ?? -1, client };
}

/** The client takes note of the end of its server. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const write = (name: string) =>
  `await mcp_files.write_file(path=${JSON.stringify(join(notes, name))}, content="x")`;
const attempt = (statement: string) =>
  `try:\n    ${statement}\nexcept MCPError as e:\n    print(e.kind, e, sep="|")`;
const called = () =>
  existsSync(journal) ? readFileSync(journal, "utf8").split('"tools/call"').length - 1 : 0;

describe.each(ERAS)("the user of a client that speaks %s", (era) => {
  test("allows one call, and then all of the session", async () => {
    const answers = ["once", "session"];
    await using bridge = await start(era, () => say(answers.shift() ?? "deny"));

    await bridge.python(write("1"));
    expect(bridge.asked).toEqual([
      expect.stringContaining('wants to call the tool "write_file" of the server "files"'),
    ]);
    expect(bridge.asked[0]).toContain("can destroy things");
    await bridge.python(`${write("2")}\n${write("3")}`);
    await bridge.python(write("4"));

    expect(bridge.asked).toHaveLength(2);
    expect(["1", "2", "3", "4"].map((name) => existsSync(join(notes, name)))).toEqual(Array(4).fill(true));
  });

  test("denies a call, which raises, and what only reads is not asked for", async () => {
    await using bridge = await start(era, () => say("deny"));

    const text = await bridge.python(
      `kept = 1\n${attempt(write("1"))}\nprint((await mcp_files.read_text_file(path=${JSON.stringify(join(notes, "a.txt"))})).text, kept)`,
    );

    expect(text).toContain('denied|files.write_file: tool "write_file" of server "files" was not called');
    expect(text).toContain('by "destructive" of --ask it needs the user\'s approval, and the user denied it');
    expect(text).toContain("one\n 1");
    expect([bridge.asked.length, existsSync(join(notes, "1"))]).toEqual([1, false]);
  });

  test("answers once for many calls that come together", async () => {
    await using bridge = await start(era, () => say("once"));

    const text = await bridge.python(
      "import asyncio\nrs = await asyncio.gather(*[mcp_fx.wipe(n=n) for n in range(20)])\nprint(len(rs), rs[19].data)",
    );

    expect(text).toContain("20 {'n': 19}");
    expect(bridge.asked).toHaveLength(1);
    expect(bridge.asked[0]).toContain('of the server "fx" 20 times');
    expect(called()).toBe(20);
  });

  test("may take longer than the run, whose other code goes on, and than the call itself", async () => {
    await using bridge = await start(era, async () => {
      await Bun.sleep(5000);
      return say("once");
    });

    const text = await bridge.python(
      `import asyncio
async def tick():
    n = 0
    while True:
        n += 1
        await asyncio.sleep(0.1)
        print("tick", n)
ticking = asyncio.ensure_future(tick())
print("called", (await mcp_fx.wipe(n=1, timeout=2)).data)
ticking.cancel()`,
      3,
    );

    expect(text).toContain("called {'n': 1}");
    expect(text).toContain("tick 40");
    expect(text).not.toContain("stopped");
  });

  test("leaves the run its time: it is stopped when that is over after the answer", async () => {
    await using bridge = await start(era, async () => {
      await Bun.sleep(1500);
      return say("once");
    });

    const text = await bridge.python(
      "await mcp_fx.wipe()\nprint('answered')\nimport time\ntime.sleep(20)",
      2,
    );

    expect(text).toContain("answered");
    expect(text).toContain("stopped after its timeout of 2 s");
  });

  test("cannot be asked by a client without elicitation", async () => {
    await using bridge = await start(era, () => say("once"), { capabilities: {} });

    expect(await bridge.python(attempt("await mcp_fx.wipe()"))).toContain(
      "and this client cannot ask for it: it does not support elicitation (Do without it, or ask the user to change --ask.)",
    );
    expect([bridge.asked.length, called()]).toEqual([0, 0]);
  });

  test("is not waited for without end", async () => {
    await using bridge = await start(era, () => new Promise(() => undefined), {
      env: { MCP_BRIDGE_APPROVAL_TIMEOUT: "1" },
    });

    const run = bridge.python(`${attempt("await mcp_fx.wipe()")}\nawait mcp_fx.get()`);
    if (era === "initialize") expect(await run).toContain("which did not come within the 1 s");
    else run.catch(() => undefined); // such a client calls again only with an answer
    await until("the program to go on", () => called() === 1, 10_000);
  });

  test("is asked between two runs too, where the client can be asked then", async () => {
    await using bridge = await start(era, () => say("once"));
    await bridge.python(`import asyncio
async def later():
    await asyncio.sleep(0.5)
    try:
        print("late", (await mcp_fx.wipe(n=1)).data)
    except MCPError as e:
        print("late", e)
task = asyncio.ensure_future(later())`);

    let text = "";
    await untilGone("the background task to end", async () => {
      text += await bridge.python("await asyncio.sleep(0)\nprint(task.done())");
      await Bun.sleep(400); // nothing runs: it is now that it is asked
      return text.includes("True");
    });
    expect(text).toContain(era === "initialize" ? "late {'n': 1}" : "and this client could not ask for it: ");
  });

  test("HOST-2: keeps the bridge from no end: at SIGTERM an open question makes no call", async () => {
    const asked = Promise.withResolvers<void>();
    await using bridge = await start(era, () => {
      asked.resolve();
      return new Promise(() => undefined);
    });
    bridge.python("await mcp_fx.wipe()").catch(() => undefined);
    await asked.promise;

    process.kill(bridge.pid, "SIGTERM");

    await until("the bridge to end", () => !isRunning(bridge.pid), 20_000);
    await until("the servers to end", () => livingWith(home.path).length === 0, 10_000);
    await untilGone("the sandbox to go", async () => (await containersOf(bridge.pid)).length === 0);
    expect(called()).toBe(0);
  });

  test("is not asked any more once the client has gone", async () => {
    const asked = Promise.withResolvers<void>();
    const bridge = await start(era, () => {
      asked.resolve();
      return new Promise(() => undefined);
    });
    bridge.python("await mcp_fx.wipe()").catch(() => undefined);
    await asked.promise;

    await bridge[Symbol.asyncDispose]();

    await until("the servers to end", () => livingWith(home.path).length === 0, 10_000);
    await untilGone("the sandbox to go", async () => (await containersOf(bridge.pid)).length === 0);
    expect(called()).toBe(0);
  });
});

test("a client that cancels takes the question back, and the session goes on", async () => {
  const asked = Promise.withResolvers<AbortSignal | undefined>();
  await using bridge = await start("initialize", (_message, signal) => {
    asked.resolve(signal);
    return new Promise(() => undefined);
  });
  const stop = new AbortController();
  const run = bridge.python("kept = 1\nawait mcp_fx.wipe()", 30, { signal: stop.signal }).catch(() => "gone");
  const question = await asked.promise;

  stop.abort();

  expect(await run).toBe("gone");
  await until("the question to end", () => question?.aborted === true);
  expect(await bridge.python("print(kept, (await mcp_fx.get()).data)")).toContain("1 {}");
  expect(called()).toBe(1);
});

test("a client that gives up without word of progress hears that the user is waited for", async () => {
  const heard: string[] = [];
  await using bridge = await start("initialize", async () => {
    await Bun.sleep(200);
    return say("once");
  });

  await bridge.python("await mcp_fx.wipe()", 30, {
    onprogress: ({ message = "" }) => void heard.push(message),
  });

  expect(heard.join("")).toContain("fx.wipe: 0 s of waiting for your approval");
});

test("sandpy run has nobody to ask, and names the rule and the setting", async () => {
  const job = home.write("job.py", `${attempt("await mcp_fx.wipe()")}\nprint((await mcp_fx.get()).data)`);

  const { stdout } = await command(["run", job, "--servers", "fx", "--ask", "fx/wi*"], { home });

  expect(stdout).toBe(
    'denied|fx.wipe: tool "wipe" of server "fx" was not called: by "fx/wi*" of --ask it needs the user\'s approval, and there is nobody to ask here (Do without it, or ask the user to change --ask.)\n{}\n',
  );
});
