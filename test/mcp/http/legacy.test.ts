import { describe, expect, test } from "bun:test";
import type { PythonRunner } from "../../../src/mcp/python-runner.ts";
import {
  ALICE,
  BOB,
  eventsOf,
  INITIALIZE,
  type Message,
  openSession,
  startHttpWorld,
} from "../../helpers/http-world.ts";
import { NOTHING } from "../../helpers/run-results.ts";
import { until } from "../../helpers/until.ts";

const run = (id: string | number, code: string, more: object = {}) => ({
  id,
  method: "tools/call",
  params: { name: "run_python", arguments: { code }, ...more },
});

async function lastOf(response: Response): Promise<Message | undefined> {
  const all = await Array.fromAsync(eventsOf(response));
  return all.at(-1)?.message;
}
const textOf = (message: Message | undefined) => message?.result?.content?.[0]?.text;

describe("a session", () => {
  test("has an id of 256 bits, and one connection from its first run to its end", async () => {
    await using world = startHttpWorld();
    const id = await openSession(world);
    expect(Buffer.from(id, "base64url")).toHaveLength(32);
    expect(world.connections).toEqual([]);
    await (await world.post(run(1, "set x"), id)).text();
    expect(textOf(await lastOf(await world.post(run(2, "get"), id)))).toBe("x");
    expect(world.connections).toEqual(["+alice session"]);
    const headers = { authorization: `Bearer ${ALICE}`, "mcp-session-id": id };
    expect((await fetch(world.url, { method: "DELETE", headers })).status).toBe(200);
    expect(world.connections).toEqual(["+alice session", "-alice"]);
    expect((await world.post(run(3, "get"), id)).status).toBe(404);
  });

  test.each([
    ["none", undefined, 400],
    ["one that never was", "x".repeat(43), 404],
    ["an empty one", "", 404],
    ["one with a list in it", "a, b", 404],
  ])("CLI-9: is needed for all but initialize: %s is refused, and nothing is made", async (_, id, status) => {
    await using world = startHttpWorld();
    const own = await openSession(world);
    for (const method of ["POST", "GET", "DELETE"]) {
      const headers: Record<string, string> = {
        authorization: `Bearer ${ALICE}`,
        accept: "text/event-stream",
      };
      if (id !== undefined) headers["mcp-session-id"] = id;
      const answer =
        method === "POST"
          ? await world.post(run(1, "value 1"), id)
          : await fetch(world.url, { method, headers });
      expect([method, answer.status]).toEqual([method, status]);
      expect(await answer.json()).toMatchObject({ jsonrpc: "2.0", id: null });
    }
    expect(world.connections).toEqual([]);
    expect((await world.post(run(1, "value 1"), own)).status).toBe(200);
  });

  test("NBR-2: is one that never was for everybody else", async () => {
    await using world = startHttpWorld();
    const id = await openSession(world);
    const bob = { authorization: `Bearer ${BOB}` };
    const foreign = await world.post(run(1, "get"), id, bob);
    const unknown = await world.post(run(1, "get"), "x".repeat(43), bob);
    expect([foreign.status, await foreign.text()]).toEqual([unknown.status, await unknown.text()]);
    const headers = { ...bob, "mcp-session-id": id };
    expect((await fetch(world.url, { method: "DELETE", headers })).status).toBe(404);
    expect((await world.post(run(1, "value 1"), id)).status).toBe(200);
  });

  test("CLI-13: is not to be had beyond the limits, and again when one has ended", async () => {
    await using world = startHttpWorld({ limits: { total: 3, perCaller: 2 } });
    const use = async (token: string) => {
      const id = await openSession(world, token);
      await (await world.post(run(1, "value 1"), id, { authorization: `Bearer ${token}` })).text();
      return id;
    };
    const [first = ""] = [await use(ALICE), await use(ALICE)];
    const refused = await world.post(INITIALIZE);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "30"]);
    expect(await refused.text()).toContain("you have 2 sessions already");
    await use(BOB);
    const full = await world.post(INITIALIZE, undefined, { authorization: `Bearer ${BOB}` });
    expect([full.status, await full.text()]).toEqual([429, expect.stringContaining("no room")]);
    const headers = { authorization: `Bearer ${ALICE}`, "mcp-session-id": first };
    await fetch(world.url, { method: "DELETE", headers });
    await openSession(world);
  });

  test("CLI-13: ends when nobody used it for its time, with its connection, and not while a run goes on", async () => {
    await using world = startHttpWorld({ limits: { ttlMs: 800 } });
    const going = world.post(run(1, "wait 2000"), await openSession(world));
    const idle = await openSession(world);
    await (await world.post(run(1, "value 1"), idle)).text();
    await until("the end of the session", () => world.connections.includes("-alice"));
    expect((await world.post({ id: 2, method: "ping" }, idle)).status).toBe(404);
    const answer = await going;
    expect([answer.status, (await answer.text()).includes("result")]).toEqual([200, true]);
  });

  test("that was longest unused makes room for another, and one that is used does not", async () => {
    await using world = startHttpWorld({ limits: { perCaller: 3 } });
    const used = await openSession(world);
    await (await world.post(run(1, "set x"), used)).text();
    const listening = await openSession(world);
    const headers = {
      authorization: `Bearer ${ALICE}`,
      accept: "text/event-stream",
      "mcp-session-id": listening,
    };
    const stream = await fetch(world.url, { headers });
    const left = await openSession(world);
    const others = [await openSession(world), await openSession(world)];
    const statuses = await Promise.all(
      [used, listening, left, ...others].map(
        async (id) => (await world.post({ id: 9, method: "ping" }, id)).status,
      ),
    );
    expect(statuses).toEqual([200, 200, 404, 404, 200]);
    await stream.body?.cancel();
  });

  test.each([
    ["not initialize, but like it", { id: 1, method: "initialize", params: {} }, 400],
    ["no JSON-RPC", { id: 1 }, 400],
  ])("does not begin with what is %s", async (_, message, status) => {
    await using world = startHttpWorld({ limits: { perCaller: 1 } });
    expect((await world.post(message)).status).toBe(status);
    await openSession(world);
  });

  test("speaks the revision that was agreed on, and no other", async () => {
    await using world = startHttpWorld();
    const id = await openSession(world);
    const answer = await world.post(run(1, "value 1"), id, { "mcp-protocol-version": "1999-01-01" });
    expect(answer.status).toBe(400);
    expect((await world.post(run(1, "value 1"), id, { "mcp-protocol-version": "2025-06-18" })).status).toBe(
      200,
    );
  });

  test("refuses an id that is under way", async () => {
    await using world = startHttpWorld();
    const id = await openSession(world);
    const first = await world.post(run("a", "hold"), id);
    expect((await world.post(run("a", "value 2"), id)).status).toBe(400);
    await world.post({ method: "notifications/cancelled", params: { requestId: "a" } }, id);
    expect((await lastOf(first))?.error?.code).toBe(-32800);
    expect(textOf(await lastOf(await world.post(run("a", "value 3"), id)))).toBe("3");
  });

  test("is not cancelled by a request that is refused", async () => {
    await using world = startHttpWorld();
    const id = await openSession(world);
    const answer = await world.post(run("a", "wait 200\nvalue 1"), id);
    const cancel = { method: "notifications/cancelled", params: { requestId: "a" } };
    const refused = await world.post(cancel, id, { "mcp-protocol-version": "2024-01-01" });
    expect([refused.status, textOf(await lastOf(answer))]).toEqual([400, "1"]);
  });
});

describe("a stream", () => {
  test("that breaks is taken up where it broke, and the run goes on meanwhile", async () => {
    await using world = startHttpWorld();
    const id = await openSession(world);
    const version = { "mcp-protocol-version": "2025-11-25" };
    const broken = new AbortController();
    const headers = {
      authorization: `Bearer ${ALICE}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-session-id": id,
      ...version,
    };
    const message = run(7, "print early\nwait 400\nprint late\nvalue 42", { _meta: { progressToken: 1 } });
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    const first = await fetch(world.url, { method: "POST", headers, body, signal: broken.signal });
    let last = "";
    for await (const event of eventsOf(first)) {
      last = event.id;
      if (event.message?.method === "notifications/progress") break;
    }
    broken.abort();
    const again = { ...headers, accept: "text/event-stream", "last-event-id": last };
    const rest = await Array.fromAsync(eventsOf(await fetch(world.url, { headers: again })));
    expect(textOf(rest.at(-1)?.message)).toBe("early\nlate\n42");
    expect(rest.at(-1)?.message?.id).toBe(7);
    // And once more: what was sent is still there.
    const replayed = await Array.fromAsync(eventsOf(await fetch(world.url, { headers: again })));
    expect(replayed.at(-1)).toEqual(rest.at(-1));
    const bad = await fetch(world.url, { headers: { ...again, "last-event-id": "999-x" } });
    expect(bad.status).toBe(400);
  });

  test("of one session is told when the tool changed", async () => {
    let aliases: readonly string[] = ["notes"];
    const listeners = new Set<(aliases: readonly string[]) => void>();
    const servers = {
      read: async () => aliases,
      onRead: (listener: (aliases: readonly string[]) => void) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };
    await using world = startHttpWorld({ servers });
    const id = await openSession(world);
    const headers = { authorization: `Bearer ${ALICE}`, accept: "text/event-stream", "mcp-session-id": id };
    const stream = await fetch(world.url, { headers });
    expect((await fetch(world.url, { headers })).status).toBe(409);
    await (await world.post({ id: 1, method: "tools/list" }, id)).text();
    aliases = ["notes", "git"];
    for (const listener of listeners) listener(aliases);
    const { value } = await eventsOf(stream).next();
    expect(value?.message?.method).toBe("notifications/tools/list_changed");
    await fetch(world.url, { method: "DELETE", headers });
    expect(listeners.size).toBe(1); // that of the other era
  });

  test("CLI-7: of another's call never gets an answer of mine, whatever the ids are", async () => {
    await using world = startHttpWorld();
    const ids = [await openSession(world), await openSession(world, BOB)];
    const who = [ALICE, BOB];
    const calls = Array.from({ length: 200 }, async (_, n) => {
      const which = n % 2;
      const headers = { authorization: `Bearer ${who[which]}` };
      const answer = await world.post(run(Math.floor(n / 2), `value ${which}-${n}`), ids[which], headers);
      expect(textOf(await lastOf(answer))).toBe(`${which}-${n}`);
    });
    await Promise.all(calls);
  });
});

describe("the end", () => {
  test("waits for what runs, then is over", async () => {
    const world = startHttpWorld();
    const id = await openSession(world);
    const running = world.post(run(1, "wait 300\nvalue done"), id);
    await until("a run", () => world.connections.length === 1);
    const closing = world.close(10_000);
    expect((await world.post(run(2, "value 1"), id)).status).toBe(503);
    expect(textOf(await lastOf(await running))).toBe("done");
    await closing;
    expect(world.connections).toEqual(["+alice session", "-alice"]);
    expect(fetch(world.url)).rejects.toThrow();
  });

  test("lets clients read what is large of the last answers", async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const image = { mimeType: "image/png", data: "A".repeat(3 * 1024 ** 2) };
    const runner: PythonRunner = {
      run: async () => {
        await ended;
        return { ...NOTHING, images: [image] };
      },
    };
    const world = startHttpWorld({ connect: async () => ({ runner, close: async () => undefined }) });
    const ids = await Promise.all(Array.from({ length: 4 }, () => openSession(world)));
    const answers = await Promise.all(ids.map((id) => world.post(run(1, "value 1"), id)));
    const texts = answers.map((answer) => answer.text());
    const closing = world.close(10_000);
    end();
    for (const text of texts) expect((await text).includes(image.data)).toBe(true);
    await closing;
  });

  test("cancels what runs too long, with an answer", async () => {
    const world = startHttpWorld();
    const id = await openSession(world);
    const answer = await world.post(run(1, "hold"), id);
    const closing = world.close(60_000);
    world.hurry();
    expect(textOf(await lastOf(answer))).toContain("Variables were kept.");
    await closing;
  });
});
