import { afterEach, beforeEach, expect, test } from "bun:test";
import { type BridgeEvents, createBridgeEvents } from "../../../src/core/bridge-events.ts";
import type { Caller } from "../../../src/core/caller.ts";
import { createLog } from "../../../src/core/log.ts";
import { createSessionBoard, type SessionBoard } from "../../../src/mcp/dashboard/session-board.ts";
import { createAuthenticator } from "../../../src/mcp/http/authenticator.ts";
import { createHttpApp } from "../../../src/mcp/http/http-app.ts";
import type { HttpApp } from "../../../src/mcp/http/http-env.ts";
import type { SessionList } from "../../../src/mcp/http/session-api.ts";
import { createSessionRoutes } from "../../../src/mcp/http/session-routes.ts";

const ADA: Caller = { id: "token:ada", name: "ada" };
const BOB: Caller = { id: "token:bob", name: "bob" };
const CALLERS = new Map([ADA, BOB].map((caller) => [`${caller.name}-token`, caller]));

let events: BridgeEvents;
let board: SessionBoard;
let acted: string[];
let app: HttpApp;
let act: (id: string, action: string) => Promise<boolean>;

beforeEach(() => {
  events = createBridgeEvents();
  acted = [];
  act = async (id, action) => acted.push(`${action} ${id}`) > 0;
  const log = createLog("ERROR", () => undefined);
  board = createSessionBoard({
    events,
    control: { act: (id, action) => act(id, action), memoryBytes: async () => 5_000_000 },
    isAdmin: ({ name }) => name === "bob",
  });
  app = createHttpApp({
    path: "/mcp",
    endpoint: { handle: async () => new Response("mcp") },
    authenticator: createAuthenticator({
      verifiers: [
        {
          async verify(token) {
            const caller = CALLERS.get(token);
            return caller === undefined
              ? { kind: "unknown", reason: "it is not known" }
              : { kind: "caller", caller };
          },
        },
      ],
    }),
    hosts: { hosts: ["localhost"], origins: [] },
    routes: [createSessionRoutes(board, log)],
    isDraining: () => false,
    log,
  });
  open(ADA, "of-ada");
  open(BOB, "of-bob");
});
afterEach(() => board.close());

function open(caller: Caller, sessionId: string) {
  events.emit({ kind: "session-opened", sessionId, caller });
}

function ask(method: string, path: string, who = "ada", headers: Readonly<Record<string, string>> = {}) {
  return app.request(`http://localhost/api/sessions${path}`, {
    method,
    headers: { host: "localhost", authorization: `Bearer ${who}-token`, ...headers },
  });
}

const list = async (who: string) => ((await (await ask("GET", "", who)).json()) as SessionList).sessions;

test("lists what a caller has, and all to an admin, newest first", async () => {
  expect((await list("ada")).map(({ id }) => id)).toEqual(["of-ada"]);
  expect((await list("bob")).map(({ id, caller }) => [id, caller])).toEqual([
    ["of-bob", "bob"],
    ["of-ada", "ada"],
  ]);
});

test("tells state, memory and the first line of what runs", async () => {
  const about = { sessionId: "of-ada", caller: ADA };
  expect(await list("ada")).toEqual([
    {
      id: "of-ada",
      caller: "ada",
      caller_id: "token:ada",
      state: "stopped",
      memory_bytes: null,
      age_seconds: 0,
      idle_seconds: 0,
      executions: 0,
      waiting: 0,
      code: null,
    },
  ]);
  const code = `\n   \n  first(${"x".repeat(400)})\nsecond()`;
  events.emit({ kind: "execution-queued", executionId: "1", code, ...about });
  expect(await list("ada")).toMatchObject([{ state: "waiting", waiting: 1 }]);
  events.emit({ kind: "sandbox-started", fromPool: true, durationMs: 1, ...about });
  events.emit({ kind: "execution-started", executionId: "1", waitedMs: 0, ...about });
  const [running] = await list("ada");
  expect(running).toMatchObject({ state: "running", executions: 1, waiting: 0, idle_seconds: 0 });
  expect(running?.code).toBe(`first(${"x".repeat(193)}…`);
  events.emit({ kind: "execution-ended", executionId: "1", outcome: "ok", durationMs: 1, ...about });
  expect(await list("ada")).toMatchObject([{ state: "idle", code: null }]);
});

test("tells what a sandbox holds", async () => {
  events.emit({
    kind: "sandbox-started",
    fromPool: true,
    durationMs: 1,
    sessionId: "of-ada",
    caller: ADA,
  });
  expect(await list("ada")).toMatchObject([{ memory_bytes: 5_000_000 }]);
});

test.each([
  ["DELETE", "/of-ada", "end of-ada"],
  ["POST", "/of-ada/interrupt", "interrupt of-ada"],
  ["POST", "/of-ada/reset", "reset of-ada"],
])("%s %s acts on the session, for its caller and for an admin", async (method, path, what) => {
  for (const who of ["ada", "bob"]) {
    const answer = await ask(method, path, who);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { server: expect.objectContaining({ name: "sandpy" }), id: "of-ada", done: true },
    ]);
  }
  expect(acted).toEqual([what, what]);
});

test("says where there was nothing to do, and where it failed", async () => {
  act = async () => false;
  expect(await (await ask("POST", "/of-ada/interrupt")).json()).toMatchObject({ done: false });
  act = () => Promise.reject(new Error("the words of an engine"));
  const failed = await ask("DELETE", "/of-ada");
  expect([failed.status, await failed.json()]).toEqual([
    500,
    { error: { code: "INTERNAL", message: "that did not work; the server's log says why" } },
  ]);
});

test.each([
  ["another caller's", "of-bob"],
  ["one that never was", "nobodys"],
])("refuses %s session in the same words", async (_, id) => {
  for (const [method, path] of [
    ["DELETE", `/${id}`],
    ["POST", `/${id}/interrupt`],
    ["POST", `/${id}/reset`],
  ] as const) {
    const answer = await ask(method, path);
    expect([answer.status, await answer.json()]).toEqual([
      404,
      { error: { code: "SESSION_UNKNOWN", message: `there is no session "${id}"` } },
    ]);
  }
  expect(acted).toEqual([]);
});

test.each([
  ["a token that is not known", "eve", {}, 401],
  ["a page of another site", "ada", { origin: "https://evil.example" }, 403],
  ["another name", "ada", { host: "evil.example" }, 403],
] as const)("answers nothing to %s", async (_, who, headers, status) => {
  for (const [method, path] of [
    ["GET", ""],
    ["DELETE", "/of-ada"],
    ["POST", "/of-ada/reset"],
  ] as const) {
    const answer = await ask(method, path, who, headers);
    expect([answer.status, (await answer.text()).includes("of-ada")]).toEqual([status, false]);
  }
  expect(acted).toEqual([]);
});

test("does nothing else", async () => {
  expect((await ask("POST", "/of-ada/other")).status).toBe(404);
  expect((await ask("GET", "/of-ada/reset")).status).toBe(404);
  expect((await ask("DELETE", "")).status).toBe(404);
  expect(acted).toEqual([]);
});
