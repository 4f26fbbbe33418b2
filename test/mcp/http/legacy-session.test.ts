import { expect, test } from "bun:test";
import { LegacySession } from "../../../src/mcp/http/legacy-session.ts";
import { ResultRooms } from "../../../src/mcp/unread-results.ts";
import { createEchoRunner } from "../../fixtures/mcp/echo-runner.ts";
import { INITIALIZE } from "../../helpers/http-world.ts";
import { createMemoryLog } from "../../helpers/logs.ts";
import { SERVER_OPTIONS } from "../../helpers/mcp-peers.ts";

async function startSession() {
  const session = new LegacySession({
    caller: { id: "alice", name: "alice" },
    connect: async () => ({ runner: createEchoRunner(), close: async () => undefined }),
    server: { ...SERVER_OPTIONS, log: createMemoryLog() },
    rooms: new ResultRooms(),
  });
  await session.start();
  const requestOf = () =>
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": session.id,
      },
    });
  const send = (message: object, request = requestOf()) =>
    session.handle(request, { jsonrpc: "2.0", ...message });
  await (await send(INITIALIZE)).text();
  return { send, requestOf, session, [Symbol.asyncDispose]: () => session.close() };
}

test("knows no request under way that could not be taken, and takes its id again", async () => {
  await using world = await startSession();
  const broken = Object.defineProperty(world.requestOf(), "method", {
    get: () => {
      throw new Error("the connection is gone");
    },
  });
  const ping = { id: 1, method: "ping" };

  await expect(world.send(ping, broken)).rejects.toThrow("the connection is gone");

  await world.session.idle(); // at the latest a shutdown would wait for it
  const answer = await world.send(ping);
  expect([answer.status, (await answer.text()).includes('"result"')]).toEqual([200, true]);
});
