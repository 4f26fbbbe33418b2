import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { containersOf, ordinalOf, runEngine, until, untilContainers } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { ADA, BOB, type Served, startServed, writeTokens } from "./helpers/served.ts";
import { connectHttp, type Line, type SessionClient } from "./helpers/session-clients.ts";

const HANDLE = /^s_[\w-]{32}$/;
const NOBODYS = `s_${"x".repeat(32)}`;

let home: TestHome;
beforeAll(() => {
  home = createHome();
  writeTokens(home);
});
afterAll(() => home[Symbol.dispose]());

const serve = (env: Readonly<Record<string, string>> = {}) =>
  startServed(home, ["--token-file", `${home.path}/tokens`], { MCP_BRIDGE_MEMORY: "128m", ...env });

/** A client, and the process that has its containers. */
interface Connected extends AsyncDisposable {
  readonly client: SessionClient;
  readonly pid: number;
}

async function overStdio(protocol: "2025-11-25" | "2026-07-28"): Promise<Connected> {
  const bridge: Bridge = await startBridge({ protocol });
  const dispose = () => bridge[Symbol.asyncDispose]();
  const client: SessionClient = {
    async run(code, session) {
      const { text, isError, structured } = await bridge.call({
        code,
        ...(session === undefined ? {} : { session }),
      });
      return { text, isError, session: structured?.["session"] as string | undefined };
    },
    [Symbol.asyncDispose]: dispose,
  };
  return { client, pid: bridge.pid, [Symbol.asyncDispose]: dispose };
}

async function overHttp(line: Line): Promise<Connected> {
  const served: Served = await serve();
  const client = await connectHttp(served.url, ADA, line);
  return {
    client,
    pid: served.child.pid,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await served[Symbol.asyncDispose]();
    },
  };
}

/** As `untilContainers`, once nothing has changed for a second: one of a session that ended may still be going. */
async function untilSettled(pid: number, count: number): Promise<readonly string[]> {
  let names = await untilContainers(pid, count);
  let since = performance.now();
  await until("the containers are settled", async () => {
    const now = await untilContainers(pid, count);
    if (now.join() !== names.join()) since = performance.now();
    names = now;
    return performance.now() - since > 1000;
  });
  return names;
}

async function begin(client: SessionClient, code: string): Promise<string> {
  const { session = "", isError, text } = await client.run(code, "new");
  expect([isError, text.includes(`session="${session}"`)]).toEqual([false, true]);
  expect(session).toMatch(HANDLE);
  return session;
}

describe.each([
  ["stdio and the revisions with sessions", () => overStdio("2025-11-25")],
  ["stdio and the revision of 2026-07-28", () => overStdio("2026-07-28")],
  ["HTTP and the revisions with sessions", () => overHttp("v1")],
  ["HTTP and the revision of 2026-07-28", () => overHttp("v2")],
] as const)("over %s", (_, connect) => {
  let connected: Connected;
  beforeAll(async () => {
    connected = await connect();
  });
  afterAll(() => connected[Symbol.asyncDispose]());

  test("each handle keeps variables of its own, and Python knows and ends them", async () => {
    const { client } = connected;
    const [one, two] = [await begin(client, "v = 1"), await begin(client, "v = 2")];
    const values = await Promise.all([client.run("v", one), client.run("v", two)]);
    expect(values.map(({ text }) => text)).toEqual(["1", "2"]);
    expect((await client.run("runtime.session", one)).text).toBe(`'${one}'`);
    const listed = await client.run("sorted(each.session for each in runtime.list_sessions())", two);
    for (const handle of [one, two]) expect(listed.text).toContain(handle);
    expect((await client.run(`runtime.end_session('${one}')`, two)).text).toBe(`session ${one} has ended`);
    expect(await client.run("v", one)).toMatchObject({
      isError: true,
      text: expect.stringContaining("nothing was run"),
    });
    expect((await client.run("print(runtime.end_session(runtime.session)); v", two)).text).toContain(
      "ends when what it runs is over\n",
    );
    await until("the session ends", async () => (await client.run("v", two)).isError);
  });

  test("an unknown handle is refused before anything is started", async () => {
    const { client, pid } = connected;
    const live = "sum(each.state != 'stopped' for each in runtime.list_sessions())";
    const count = Number.parseInt((await client.run(live)).text, 10);
    const before = await untilSettled(pid, count + 1); // and the one that is kept ready
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => client.run("1", `s_${String(i).padStart(32, "0")}`)),
    );
    expect(answers.every(({ isError, text }) => isError && text.includes("there is no session"))).toBe(true);
    // The next session gets the one that was ready, and one more is made: nothing was in between.
    await begin(client, "1");
    const after = await untilContainers(pid, count + 2);
    expect(newestOf(after)).toBe(newestOf(before) + 1);
  });
});

const newestOf = (names: readonly string[]) => ordinalOf(names.at(-1) ?? "");

describe("one server", () => {
  test("refuses another caller's handle, and one that ended, in the words for one that never was", async () => {
    await using served = await serve();
    await using ada = await connectHttp(served.url, ADA, "v1");
    await using bob = await connectHttp(served.url, BOB, "v2");
    const [live, ended] = [await begin(ada, "1"), await begin(ada, "1")];
    await ada.run(`runtime.end_session('${ended}')`);
    const refusals = [
      ...(await Promise.all([live, ended, NOBODYS, "s_", "nonsense"].map((handle) => bob.run("1", handle)))),
      await ada.run("1", ended),
    ];
    const words = refusals.map(({ text, isError }) => [
      isError,
      text.replace(/session "[^"]*"/, "session …"),
    ]);
    expect(new Set(words.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(words[0]).toEqual([true, expect.stringContaining("there is no session …; nothing was run")]);
  });

  test("shares what a caller keeps, and a handle, among clients of both lines, and nothing with another", async () => {
    await using served = await serve();
    await using ada = await connectHttp(served.url, ADA, "v1");
    await using adaToo = await connectHttp(served.url, ADA, "v2");
    await using bob = await connectHttp(served.url, BOB, "v2");
    const handle = await begin(ada, "save_memory('who', 'ada'); secret = 5");
    expect((await adaToo.run("secret, load_memory('who')", handle)).text).toBe("(5, 'ada')");
    expect((await bob.run(`runtime.end_session('${handle}')`)).text).toContain("nothing was ended");
    expect((await bob.run("load_memory('who'), len(runtime.list_sessions())")).text).toStartWith("(None, ");
    expect((await adaToo.run("load_memory('who')")).text).toStartWith("'ada'");
    expect((await ada.run("secret", handle)).text).toBe("5");
  });

  test("serves a client that never comes back to its sessions, within the limit", async () => {
    await using served = await serve({ MCP_BRIDGE_MAX_SESSIONS_PER_CALLER: "2" });
    await using client = await connectHttp(served.url, ADA, "v2");
    for (let i = 0; i < 24; i += 1) {
      const { text, isError } = await client.run(`${i} + 1000`);
      expect([isError, text.split("\n")[0]]).toEqual([false, String(i + 1000)]);
    }
    const names = await untilContainers(served.child.pid, 3); // two, and the one that is kept ready
    expect(newestOf(names)).toBeGreaterThanOrEqual(24);
  });

  test("starts nothing but the sandbox that is kept ready for whoever only has a wrong handle", async () => {
    await using served = await serve();
    await using client = await connectHttp(served.url, ADA, "v2");
    for (let i = 0; i < 5; i += 1) expect((await client.run("1", NOBODYS)).isError).toBe(true);
    expect(await untilContainers(served.child.pid, 1)).toHaveLength(1);
    expect((await client.run("runtime.session")).text).toStartWith("'s_");
    expect(newestOf(await untilContainers(served.child.pid, 2))).toBe(2);
  });

  test("refuses one more than the limit where all are in use, and says which to end", async () => {
    await using served = await serve({ MCP_BRIDGE_MAX_SESSIONS_PER_CALLER: "2" });
    await using client = await connectHttp(served.url, ADA, "v2");
    const [one, two] = [await begin(client, "1"), await begin(client, "1")];
    await Promise.all([client.run("1", one), client.run("1", two)]);
    const refused = await client.run("1", "new");
    expect([refused.isError, refused.text]).toEqual([
      true,
      expect.stringContaining("you have 2 sessions, and may have 2"),
    ]);
    expect(refused.text).toContain(one);
    await client.run(`runtime.end_session('${one}')`, two);
    expect((await client.run("1", "new")).isError).toBe(false);
  });

  test("ends a session that nobody used for its time, and not the one of a connection that is used", async () => {
    await using served = await serve({ MCP_BRIDGE_SESSION_TTL: "2" });
    await using client = await connectHttp(served.url, ADA, "v1");
    await client.run("own = 1");
    const [, ready = ""] = await untilContainers(served.child.pid, 2);
    const handle = await begin(client, "v = 1");
    expect(await containersOf(served.child.pid)).toContain(ready);
    await until("its sandbox goes", async () => {
      expect((await client.run("own")).text).toBe("1");
      return !(await containersOf(served.child.pid)).includes(ready);
    });
    expect((await client.run("v", handle)).text).toContain("there is no session");
  });

  test("ends the session of a client that went away without a word, with its sandbox", async () => {
    await using served = await serve({ MCP_BRIDGE_SESSION_TTL: "2", MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: "600" });
    const client = await connectHttp(served.url, ADA, "v1");
    await client.run("own = 1");
    const [own = "", ready = ""] = await untilContainers(served.child.pid, 2);
    await client[Symbol.asyncDispose]();
    await until("its sandbox goes", async () => !(await containersOf(served.child.pid)).includes(own));
    expect(await containersOf(served.child.pid)).toEqual([ready]);
  });

  test("says that state was lost in that session alone whose sandbox was killed", async () => {
    await using served = await serve();
    await using client = await connectHttp(served.url, ADA, "v1");
    await client.run("v = 0");
    const [, ready = ""] = await untilContainers(served.child.pid, 2);
    const one = await begin(client, "v = 1");
    await untilContainers(served.child.pid, 3);
    const two = await begin(client, "v = 2");
    await runEngine("kill", ready); // the first session's, which took it
    const lost = await client.run("'v' in globals()", one);
    // It ran in a fresh Python, or not at all where it came before the bridge had heard of it.
    expect(lost.text).not.toContain("True");
    expect(lost.text).toContain("Variables, imports and functions of this session are gone");
    expect([(await client.run("v", two)).text, (await client.run("v")).text]).toEqual(["2", "0"]);
    expect((await client.run("1", one)).text).toBe("1");
  });
});
