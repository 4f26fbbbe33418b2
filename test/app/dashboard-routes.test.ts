import { expect, test } from "bun:test";
import { createDashboardRoutes } from "../../src/app/dashboard-routes.ts";
import { openBoard } from "../../src/app/open-board.ts";
import { createBridgeEvents } from "../../src/core/bridge-events.ts";
import type { Caller } from "../../src/core/caller.ts";
import { createLog } from "../../src/core/log.ts";
import { createAuthenticator } from "../../src/mcp/http/authenticator.ts";
import { createHttpApp } from "../../src/mcp/http/http-app.ts";

const SESSION = { sessionId: "s1", caller: { id: "token:eve", name: "eve" } };

function serve(caller: Caller, admins: readonly string[]) {
  const log = createLog("ERROR", () => undefined);
  const events = createBridgeEvents();
  const handles = { byId: () => undefined, drop: async () => undefined };
  const board = openBoard({ events, handles, admins });
  const dashboard = createDashboardRoutes({ board, upstream: { health: async () => [] }, log });
  const app = createHttpApp({
    path: "/mcp",
    endpoint: { handle: async () => new Response("mcp") },
    authenticator: createAuthenticator({
      verifiers: [
        {
          verify: async (token) =>
            token === "good" ? { kind: "caller", caller } : { kind: "unknown", reason: "it is not good" },
        },
      ],
    }),
    hosts: { hosts: ["localhost"], origins: ["https://friend.example"] },
    routes: [dashboard.routes],
    isDraining: () => false,
    log,
  });
  events.emit({ kind: "session-opened", ...SESSION });
  const ask = (
    path: string,
    headers: Readonly<Record<string, string>> = {},
    form?: Readonly<Record<string, string>>,
  ) =>
    app.request(`http://localhost${path}`, {
      headers: { host: "localhost", ...headers },
      ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) }),
    });
  return {
    ask,
    async [Symbol.asyncDispose]() {
      await dashboard.close();
      await board.close();
    },
  };
}

test.each([
  ["the name of a token", { id: "token:ada", name: "ada" }, ["ada"], true],
  [
    "the whole id of a subject",
    { id: "https://login.example|7", name: "x" },
    ["https://login.example|7"],
    true,
  ],
  ["a name that a subject calls itself", { id: "https://login.example|7", name: "ada" }, ["ada"], false],
  ["another name", { id: "token:bob", name: "bob" }, ["ada"], false],
])("takes as an admin %s: as it should", async (_what, caller, admins, seesAll) => {
  await using server = serve(caller, admins);
  const page = await (await server.ask("/", { authorization: "Bearer good" })).text();
  expect(page.includes('<h3 id="session-s1-name">')).toBe(seesAll);
});

test("takes its cookies for the dashboard alone", async () => {
  await using server = serve({ id: "token:eve", name: "eve" }, []);
  const answer = await server.ask("/dashboard/login", { origin: "http://localhost" }, { token: "good" });
  const cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? "";
  expect((await server.ask("/", { cookie })).status).toBe(200);
  expect((await server.ask("/mcp", { cookie })).status).toBe(401);
});

test("answers no page of another name, and takes no form of a friendly origin", async () => {
  await using server = serve({ id: "token:eve", name: "eve" }, []);
  expect((await server.ask("/dashboard/login", { host: "evil.example" })).status).toBe(403);
  const origin = "https://friend.example";
  expect((await server.ask("/dashboard/login", { origin }, { token: "good" })).status).toBe(403);
});
