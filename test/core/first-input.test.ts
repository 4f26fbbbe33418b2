import { describe, expect, test } from "bun:test";
import { PassThrough } from "node:stream";
import { untilInput } from "../../src/core/first-input.ts";

const never = () => new AbortController().signal;

describe("untilInput", () => {
  test("returns what came first, and leaves all of it to the next reader", async () => {
    const input = new PassThrough();
    const waiting = untilInput(input, never());
    input.write("one ");
    expect(Buffer.from((await waiting) ?? []).toString()).toBe("one ");
    input.end("two");
    let text = "";
    for await (const chunk of input) text += chunk;
    expect(text).toBe("one two");
  });

  test("leaves what was there before it was asked", async () => {
    const input = new PassThrough();
    input.end("all");
    expect(Buffer.from((await untilInput(input, never())) ?? []).toString()).toBe("all");
    expect(input.isPaused()).toBe(true);
    const read: string[] = [];
    const ended = new Promise((resolve) => input.once("end", resolve));
    input.on("data", (chunk) => read.push(String(chunk))).resume();
    await ended;
    expect(read).toEqual(["all"]);
  });

  test.each<[string, (input: PassThrough, stop: AbortController) => void]>([
    ["the input ends", (input) => input.end()],
    ["the input breaks", (input) => input.destroy(new Error("gone"))],
    ["nobody wants it any more", (_input, stop) => stop.abort()],
  ])("returns nothing when %s, and listens no longer", async (_title, end) => {
    const input = new PassThrough();
    input.on("error", () => undefined);
    const before = input.eventNames().length;
    const stop = new AbortController();
    const waiting = untilInput(input, stop.signal);
    end(input, stop);
    expect(await waiting).toBeUndefined();
    expect(input.eventNames().length).toBe(before);
  });

  test("returns nothing for an input that is over", async () => {
    const input = new PassThrough();
    input.end();
    input.resume();
    await new Promise((resolve) => input.once("end", resolve));
    expect(await untilInput(input, never())).toBeUndefined();
    expect(await untilInput(new PassThrough(), AbortSignal.abort())).toBeUndefined();
  });
});
