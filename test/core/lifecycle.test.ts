import { describe, expect, test } from "bun:test";
import { Scope, untilAborted, withDeadline } from "../../src/core/lifecycle.ts";

const never = () => new Promise<never>(() => undefined);

describe("Scope", () => {
  test("closes in reverse order, once", async () => {
    const closed: string[] = [];
    const scope = new Scope();
    scope.add("a", () => closed.push("a"));
    scope.add("b", () => closed.push("b"));
    await Promise.all([scope.close(), scope.close()]);
    expect(closed).toEqual(["b", "a"]);
  });

  test("runs every closer although others fail or hang, and throws the first failure", async () => {
    const closed: string[] = [];
    const scope = new Scope(20);
    scope.add("first", () => closed.push("first"));
    scope.add("hanging", never);
    scope.add("failing", () => Promise.reject(new Error("no")));
    expect(await scope.close().catch((error: Error) => error.message)).toBe("no");
    expect(closed).toEqual(["first"]);
  });

  test("closes at once what is added after its end", async () => {
    const scope = new Scope();
    await scope.close();
    const closed: string[] = [];
    scope.add("late", () => closed.push("late"));
    expect(closed).toEqual(["late"]);
  });
});

describe("withDeadline", () => {
  test("passes a value and a failure on", async () => {
    expect(await withDeadline(Promise.resolve(1), 1000, "it")).toBe(1);
    expect(
      await withDeadline(Promise.reject(new Error("no")), 1000, "it").catch((e: Error) => e.message),
    ).toBe("no");
  });

  test("rejects with the given code, naming what took too long", async () => {
    const error = await withDeadline(never(), 5, "closing it", "ENGINE_TIMEOUT").catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "ENGINE_TIMEOUT", message: "closing it took longer than 5 ms" });
  });
});

describe("untilAborted", () => {
  test("passes a value and a failure on", async () => {
    const { signal } = new AbortController();
    expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
    expect(await untilAborted(Promise.reject(new Error("no")), signal).catch((e: Error) => e.message)).toBe(
      "no",
    );
  });

  test("stops waiting when the signal aborts, or is already", async () => {
    const abort = new AbortController();
    const waiting = untilAborted(never(), abort.signal);
    abort.abort();
    expect(await waiting).toBeUndefined();
    expect(await untilAborted(never(), abort.signal)).toBeUndefined();
  });

  test("leaves no listener on a signal that lives on", async () => {
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    signal.addEventListener = (_type: string, listener: unknown) => void listeners.add(listener);
    signal.removeEventListener = (_type: string, listener: unknown) => void listeners.delete(listener);
    await untilAborted(Promise.resolve(1), signal);
    await untilAborted(Promise.reject(new Error("no")), signal).catch(() => undefined);
    expect(listeners.size).toBe(0);
  });
});
