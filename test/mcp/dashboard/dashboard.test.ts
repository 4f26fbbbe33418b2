import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type BridgeEvents, createBridgeEvents } from "../../../src/core/bridge-events.ts";
import type { Caller } from "../../../src/core/caller.ts";
import { createLog } from "../../../src/core/log.ts";
import { createDashboard, type Dashboard } from "../../../src/mcp/dashboard/dashboard.tsx";
import type { DashboardAccess, ServerHealth } from "../../../src/mcp/dashboard/port.ts";
import { createSessionBoard, type SessionBoard } from "../../../src/mcp/dashboard/session-board.ts";

const HOST = "dash.example:8848";
const BASE = `http://${HOST}`;
const ADA: Caller = { id: "token:ada", name: "ada" };
const BOB: Caller = { id: "token:bob", name: "bob" };
const LOCAL: Caller = { id: "local", name: "local" };

let events: BridgeEvents;
let acted: string[];
let servers: ServerHealth[];
let tokens: Map<string, Caller>;
let dashboard: Dashboard;
let board: SessionBoard;

function open(
  access: Partial<DashboardAccess> = {},
  isAdmin: SessionBoard["isAdmin"] = ({ name }) => name === "bob",
): Dashboard {
  board = createSessionBoard({
    events,
    control: {
      async act(id, action) {
        acted.push(`${action} ${id}`);
        return true;
      },
      memoryBytes: async () => 40 * 1024 ** 2,
    },
    isAdmin,
  });
  dashboard = createDashboard({
    source: { board, servers: async () => servers },
    access: {
      isAuthRequired: true,
      async identify(token) {
        const caller = tokens.get(token);
        return caller === undefined
          ? { kind: "unknown", reason: "nobody has it" }
          : { kind: "caller", caller };
      },
      ...access,
    },
    log: createLog("ERROR", () => undefined),
  });
  return dashboard;
}

beforeEach(() => {
  events = createBridgeEvents();
  acted = [];
  servers = [];
  tokens = new Map([
    ["ada-token", ADA],
    ["bob-token", BOB],
  ]);
});
afterEach(async () => {
  await dashboard.close();
  await board.close();
});

interface Asked {
  readonly method?: string;
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(path: string, { method, form, headers }: Asked = {}): Promise<Response> {
  return dashboard.app.request(`${BASE}${path}`, {
    method: method ?? (form === undefined ? "GET" : "POST"),
    headers: { host: HOST, ...(form === undefined ? {} : { origin: BASE }), ...headers },
    ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
  });
}

async function signIn(token: string): Promise<string> {
  const answer = await ask("/dashboard/login", { form: { token } });
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"]);
  return answer.headers.get("set-cookie")?.split(";")[0] ?? "";
}

function runs(caller: Caller, sessionId: string, code: string): void {
  const who = { caller, sessionId };
  events.emit({ kind: "session-opened", ...who });
  events.emit({ kind: "sandbox-started", fromPool: false, durationMs: 1, ...who });
  events.emit({ kind: "execution-queued", executionId: `e-${sessionId}`, code, ...who });
  events.emit({ kind: "execution-started", executionId: `e-${sessionId}`, waitedMs: 0, ...who });
}

const formTokenIn = (html: string) => /name="token" value="([^"]+)"/.exec(html)?.[1] ?? "";

describe("signing in", () => {
  test("leads there whoever has no cookie", async () => {
    open();
    const answer = await ask("/");
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/dashboard/login"]);
    expect((await ask("/api/events")).status).toBe(401);
    const page = await (await ask("/dashboard/login")).text();
    expect(page).toContain('<label for="token">');
  });

  test.each([
    ["http", {}, false],
    ["https behind a proxy", { "x-forwarded-proto": "https" }, true],
  ])("sets a cookie that scripts and other sites do not get, over %s", async (_what, headers, isSecure) => {
    open();
    const answer = await ask("/dashboard/login", { form: { token: " ada-token " }, headers });
    const cookie = answer.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^sandpy_8848=[\w-]{43}; /);
    expect(cookie).toContain("HttpOnly");
    expect(cookie).toContain("SameSite=Strict");
    expect(cookie.includes("Secure")).toBe(isSecure);
  });

  test("ends with the cookie, and with the token", async () => {
    open();
    const cookie = await signIn("ada-token");
    const page = await (await ask("/", { headers: { cookie } })).text();
    expect(page).toContain("Sign out");
    await ask("/dashboard/logout", { form: { token: formTokenIn(page) }, headers: { cookie } });
    expect((await ask("/", { headers: { cookie } })).status).toBe(303);
    const second = await signIn("ada-token");
    tokens.delete("ada-token");
    expect((await ask("/", { headers: { cookie: second } })).status).toBe(303);
  });

  test("makes whoever tries too many tokens wait", async () => {
    open();
    for (let nth = 0; nth < 10; nth++) {
      expect((await ask("/dashboard/login", { form: { token: `wrong${nth}` } })).status).toBe(403);
    }
    const answer = await ask("/dashboard/login", { form: { token: "ada-token" } });
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(30);
  });

  test("takes the header that MCP clients send, too", async () => {
    open();
    expect((await ask("/", { headers: { authorization: "Bearer ada-token" } })).status).toBe(200);
    expect((await ask("/", { headers: { authorization: "Bearer wrong" } })).status).toBe(303);
  });

  test("refuses forms of other pages, and large ones", async () => {
    open();
    const form = { token: "ada-token" };
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: BASE, "sec-fetch-site": "cross-site" },
    ]) {
      expect((await ask("/dashboard/login", { form, headers })).status).toBe(403);
    }
    expect((await ask("/dashboard/login", { form: { token: "x".repeat(40_000) } })).status).toBe(413);
  });

  test("is not needed where the server needs none", async () => {
    open({ isAuthRequired: false }, () => true);
    expect((await ask("/")).status).toBe(200);
  });
});

describe("the page", () => {
  test("NBR-4: shows somebody only what is theirs, and all to an admin", async () => {
    open();
    runs(ADA, "of-ada", "secret_of_ada()");
    runs(BOB, "of-bob", "secret_of_bob()");
    const call = {
      executionId: undefined,
      server: "notes",
      method: "tools/call",
      tool: "write_bobs",
      outcome: "ok",
    } as const;
    events.emit({
      kind: "upstream-called",
      ...call,
      startedAtMs: 1,
      durationMs: 1,
      caller: BOB,
      sessionId: "of-bob",
    });
    const ada = await (await ask("/", { headers: { cookie: await signIn("ada-token") } })).text();
    expect(ada).toContain("secret_of_ada()");
    expect(ada).not.toMatch(/of-bob|secret_of_bob|write_bobs/);
    const bob = await (await ask("/", { headers: { cookie: await signIn("bob-token") } })).text();
    for (const shown of ["secret_of_ada()", "secret_of_bob()", "write_bobs", "40 MiB"])
      expect(bob).toContain(shown);
  });

  test("NBR-6: takes nothing for markup that it shows", async () => {
    open({ isAuthRequired: false });
    const evil = `</pre></script><script>alert(1)</script><img src=x onerror="alert(1)">\u001b[31mred`;
    runs({ id: "local", name: evil }, `id"><b>`, evil);
    const who = { caller: LOCAL, sessionId: `id"><b>` };
    events.emit({
      kind: "execution-output",
      executionId: `e-${who.sessionId}`,
      stream: "stderr",
      text: evil,
      ...who,
    });
    servers = [{ name: evil, status: "failed", reason: evil, tools: 3 }];
    const call = { executionId: undefined, server: evil, method: evil, tool: evil, outcome: "ok" } as const;
    events.emit({ kind: "upstream-called", ...call, startedAtMs: 1, durationMs: 1, ...who });
    const page = await (await ask("/")).text();
    expect(page.match(/<script>/g)?.length).toBe(1); // ours
    expect(page).not.toMatch(/<img|<b>/);
    expect(page).not.toContain("\u001b");
    expect(page).toStartWith("<!doctype html><html lang");
    expect(page).toContain("&lt;script&gt;alert(1)");
  });

  test("allows its own style and script and nothing else", async () => {
    open({ isAuthRequired: false });
    const answer = await ask("/");
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toStartWith("default-src 'none'; ");
    expect(policy).not.toContain("unsafe");
    const page = await answer.text();
    for (const [tag, directive] of [
      ["script", "script-src"],
      ["style", "style-src"],
    ]) {
      const text = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page)?.[1] ?? "";
      const hash = new Bun.CryptoHasher("sha256").update(text).digest("base64");
      expect(policy).toContain(`${directive} 'sha256-${hash}'`);
    }
    expect(page).not.toMatch(/ (on\w+|style)="/);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("x-frame-options")).toBe("DENY");
  });
});

describe("acting on a session", () => {
  async function adasForm(): Promise<{ readonly cookie: string; readonly token: string }> {
    open();
    runs(ADA, "of-ada", "1");
    runs(BOB, "of-bob", "1");
    const cookie = await signIn("ada-token");
    return { cookie, token: formTokenIn(await (await ask("/", { headers: { cookie } })).text()) };
  }

  test.each(["interrupt", "reset", "end"])("does %s, with and without the script", async (action) => {
    const { cookie, token } = await adasForm();
    const form = { session: "of-ada", action, token };
    const plain = await ask("/dashboard/act", { form, headers: { cookie } });
    expect([plain.status, plain.headers.get("location")]).toEqual([303, `/?did=${action}`]);
    const scripted = await ask("/dashboard/act", { form, headers: { cookie, accept: "application/json" } });
    expect(((await scripted.json()) as { message: string }).message).toEndWith(".");
    expect(acted).toEqual([`${action} of-ada`, `${action} of-ada`]);
  });

  test("offers to interrupt what runs or waits, and no more", async () => {
    open();
    const cookie = await signIn("ada-token");
    const isOffered = async () => {
      const page = await (await ask("/", { headers: { cookie } })).text();
      return !/<button[^>]* class="interrupt"[^>]* disabled/.test(page);
    };
    const who = { caller: ADA, sessionId: "of-ada", executionId: "e-of-ada" };
    events.emit({ kind: "session-opened", ...who });
    expect(await isOffered()).toBe(false);
    events.emit({ kind: "execution-queued", code: "1", ...who });
    expect(await isOffered()).toBe(true);
    events.emit({ kind: "execution-started", waitedMs: 0, ...who });
    expect(await isOffered()).toBe(true);
    events.emit({ kind: "execution-ended", outcome: "ok", durationMs: 1, ...who });
    expect(await isOffered()).toBe(false);
  });

  test.each([
    ["somebody else's session", { session: "of-bob" }, {}, 303],
    ["a session that is not there", { session: "nothing" }, {}, 303],
    ["an action that is none", { action: "format" }, {}, 400],
    ["a form with a token that is made up", { token: "x".repeat(43) }, {}, 403],
    ["a form without a token", { token: "" }, {}, 403],
    ["a form of another page", {}, { origin: "https://evil.example" }, 403],
    ["a form of another port", {}, { origin: "http://dash.example:9999" }, 403],
    ["a form of nobody", {}, { cookie: "" }, 303],
  ])("does nothing for %s", async (_what, changed, headers, status) => {
    const { cookie, token } = await adasForm();
    const form = { session: "of-ada", action: "end", token, ...changed };
    const answer = await ask("/dashboard/act", { form, headers: { cookie, ...headers } });
    expect(answer.status).toBe(status);
    expect(acted).toEqual([]);
  });

  test("NBR-5: takes no form token of another cookie", async () => {
    const { token } = await adasForm();
    const other = await signIn("ada-token");
    const form = { session: "of-ada", action: "end", token };
    expect((await ask("/dashboard/act", { form, headers: { cookie: other } })).status).toBe(403);
  });
});

describe("what happens", () => {
  interface Lists {
    readonly lists: Readonly<
      Record<string, { readonly order: string[]; readonly put: Record<string, string> }>
    >;
  }

  /** Reads server-sent events, one at a time. */
  function reader(answer: Response) {
    const chunks = (answer.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    return {
      async next(): Promise<{ readonly event: string; readonly data: string } | undefined> {
        for (;;) {
          const [, event, data = ""] = /^event: (\w+)\ndata: ?(.*)\n\n/.exec(text) ?? [];
          if (event !== undefined) {
            text = text.slice(text.indexOf("\n\n") + 2);
            return { event, data };
          }
          text = text.replace(/^:\n\n/, "");
          const { done, value } = await chunks.read();
          if (done) return undefined;
          text += new TextDecoder().decode(value);
        }
      },
      cancel: () => chunks.cancel(),
    };
  }

  async function lists(stream: ReturnType<typeof reader>): Promise<Lists["lists"]> {
    const said = await stream.next();
    expect(said?.event).toBe("lists");
    return (JSON.parse(said?.data ?? "{}") as Lists).lists;
  }

  test("is told as it happens, and only what changed", async () => {
    open();
    const cookie = await signIn("ada-token");
    runs(ADA, "of-ada", "first()");
    const stream = reader(await ask("/api/events", { headers: { cookie } }));
    const first = await lists(stream);
    expect(first["sessions"]?.put["session-of-ada"]).toContain("first()");
    runs(BOB, "of-bob", "hidden()");
    events.emit({
      kind: "execution-output",
      executionId: "e-of-ada",
      stream: "stdout",
      text: "<b>out</b>",
      caller: ADA,
      sessionId: "of-ada",
    });
    const second = await lists(stream);
    expect(Object.keys(second)).toEqual(["sessions"]);
    expect(second["sessions"]?.order).toEqual(["session-of-ada"]);
    expect(second["sessions"]?.put["session-of-ada"]).toContain("&lt;b&gt;out");
    events.emit({ kind: "session-closed", reason: "ended", caller: ADA, sessionId: "of-ada" });
    expect((await lists(stream))["sessions"]).toEqual({ order: [], put: {} });
    await stream.cancel();
  });

  test("is told no more once the token is not good", async () => {
    open();
    const cookie = await signIn("ada-token");
    const stream = reader(await ask("/api/events", { headers: { cookie } }));
    tokens.delete("ada-token");
    let said = await stream.next();
    while (said?.event === "lists") said = await stream.next();
    expect(said?.event).toBe("leave");
    expect(await stream.next()).toBeUndefined();
  });

  test("goes to so many pages and no more; each that closes makes room", async () => {
    open();
    const cookie = await signIn("ada-token");
    const answers = await Promise.all(
      Array.from({ length: 17 }, () => ask("/api/events", { headers: { cookie } })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(16).fill(200), 429]);
    await answers[0]?.body?.cancel();
    expect((await ask("/api/events", { headers: { cookie } })).status).toBe(200);
  });

  test("ends when the dashboard closes", async () => {
    open();
    const stream = reader(await ask("/api/events", { headers: { cookie: await signIn("ada-token") } }));
    const ended = (async () => {
      while ((await stream.next()) !== undefined);
    })();
    await dashboard.close();
    await ended;
    await board.close();
    expect(events.isHeard).toBe(false);
  });
});
