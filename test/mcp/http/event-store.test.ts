import { expect, test } from "bun:test";
import { SessionEvents } from "../../../src/mcp/http/event-store.ts";

const message = (chars: number) => ({ jsonrpc: "2.0", method: "x".repeat(chars) }) as const;
const MINUTE = 60_000;

test("events are let go after five minutes, also where no other comes", async () => {
  let now = 0;
  const events = new SessionEvents(() => now);
  const id = await events.storeEvent("s", message(1));
  now = 4 * MINUTE;
  events.dropOld();
  expect(await events.getStreamIdForEventId(id)).toBe("s");
  now = 6 * MINUTE;
  events.dropOld();
  expect(await events.getStreamIdForEventId(id)).toBeUndefined();
});

test("the newest 4 MiB of events are kept, and none that is larger", async () => {
  const events = new SessionEvents();
  const ids: string[] = [];
  for (let at = 0; at < 6; at += 1) ids.push(await events.storeEvent("s", message(1_000_000)));
  ids.push(await events.storeEvent("s", message(5_000_000)));
  const kept = await Promise.all(ids.map((id) => events.getStreamIdForEventId(id)));
  expect(kept.map((streamId) => streamId !== undefined)).toEqual([
    false,
    false,
    true,
    true,
    true,
    true,
    false,
  ]);
});

test("EXH-19: the newest 512 events are kept", async () => {
  const events = new SessionEvents();
  const ids: string[] = [];
  for (let at = 0; at < 600; at += 1) ids.push(await events.storeEvent("s", message(1)));
  const kept = await Promise.all(ids.map((id) => events.getStreamIdForEventId(id)));
  expect(kept.map((streamId) => streamId !== undefined)).toEqual(ids.map((_, at) => at >= 600 - 512));
});
