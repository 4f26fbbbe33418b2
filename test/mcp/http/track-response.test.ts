import { expect, test } from "bun:test";
import { trackResponse } from "../../../src/mcp/http/track-response.ts";

function track(body: ReadableStream<Uint8Array> | null, opening?: Uint8Array) {
  let ends = 0;
  const init = { status: 201, headers: { "x-a": "b" } };
  const response = trackResponse(new Response(body, init), () => void ends++, opening);
  return { response, ends: () => ends };
}

const bytes = (text: string) => new TextEncoder().encode(text);
const streamOf = (...texts: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const text of texts) controller.enqueue(bytes(text));
      controller.close();
    },
  });

test("ends when the body has been read, and is the same answer", async () => {
  const { response, ends } = track(streamOf("a", "b"), bytes("> "));
  expect([response.status, response.headers.get("x-a"), ends()]).toEqual([201, "b", 0]);
  expect([await response.text(), ends()]).toEqual(["> ab", 1]);
});

test("ends at once without a body", () => {
  expect(track(null).ends()).toBe(1);
});

test("ends once when nobody wants a body that is silent, and tells its maker", async () => {
  let isCancelled = false;
  const silent = new ReadableStream<Uint8Array>({
    cancel() {
      isCancelled = true;
    },
  });
  const { response, ends } = track(silent);
  const reader = response.body?.getReader();
  const read = reader?.read();
  await reader?.cancel();
  await read;
  expect([ends(), isCancelled]).toEqual([1, true]);
});

test("ends when the body cannot be made", async () => {
  const broken = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new Error("broken")),
  });
  const { response, ends } = track(broken);
  expect(response.text()).rejects.toThrow("broken");
  await response.text().catch(() => undefined);
  expect(ends()).toBe(1);
});

test("CLI-5: gives a large piece in small ones, and ends only when the last was taken", async () => {
  const { response, ends } = track(streamOf("x".repeat(1_000_000), "y"));
  const reader = response.body?.getReader();
  const sizes: number[] = [];
  for (let all = 0; all < 1_000_001; all += sizes.at(-1) ?? 0) {
    expect(ends()).toBe(0);
    sizes.push((await reader?.read())?.value?.length ?? Number.NaN);
  }
  expect(Math.max(...sizes)).toBe(65_536);
  expect([(await reader?.read())?.done, ends()]).toEqual([true, 1]);
});
