import { expect, test } from "bun:test";
import { type BridgeEvent, createBridgeEvents } from "../../src/core/bridge-events.ts";
import { LOCAL_CALLER } from "../../src/core/caller.ts";

const OPENED: BridgeEvent = { kind: "session-opened", sessionId: "s1", caller: LOCAL_CALLER };

test("hands an event to each listener, until that stops listening", () => {
  const events = createBridgeEvents();
  const heard: string[] = [];
  expect(events.isHeard).toBe(false);
  const stop = events.listen(({ kind }) => heard.push(`a ${kind}`));
  events.listen(({ kind }) => heard.push(`b ${kind}`));
  events.emit(OPENED);
  stop();
  events.emit(OPENED);
  expect(heard).toEqual(["a session-opened", "b session-opened", "b session-opened"]);
  expect(events.isHeard).toBe(true);
});

test("goes on when a listener throws, and says so", () => {
  const faults: unknown[] = [];
  const events = createBridgeEvents((error) => faults.push(error));
  const heard: string[] = [];
  events.listen(() => {
    throw new Error("full");
  });
  events.listen(({ kind }) => heard.push(kind));
  events.emit(OPENED);
  expect(heard).toEqual(["session-opened"]);
  expect(faults).toEqual([new Error("full")]);
});
