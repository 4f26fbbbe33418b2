import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { type McpPeer, MEDIA, type Medium, PEERS } from "../helpers/mcp-peers.ts";
import { until } from "../helpers/until.ts";

const MAX_TOKENS = 185;

const table = MEDIA.flatMap((medium) =>
  PEERS.map(([name, protocol, connect]) => [name, medium, protocol, connect] as const),
);

describe.each(table)("%s over %s", (_name, medium: Medium, protocol, connect) => {
  let peer: McpPeer;
  beforeAll(async () => {
    peer = await connect(medium);
  });
  afterAll(() => peer[Symbol.asyncDispose]());

  test(`negotiates ${protocol}`, () => expect(peer.protocol).toBe(protocol));

  test("lists one tool that costs a model few tokens", async () => {
    const tools = await peer.listTools();
    expect(tools).toMatchObject([{ name: "run_python" }]);
    expect(Object.keys(tools[0] ?? {}).sort()).toEqual(["description", "inputSchema", "name"]);
    expect(encode(JSON.stringify(tools[0])).length).toBeLessThanOrEqual(MAX_TOKENS);
  });

  test("runs code and shows stdout, then the value", async () => {
    expect(await peer.call({ code: "print hello\nvalue 42" })).toEqual({ text: "hello\n42", isError: false });
  });

  test("keeps state between calls", async () => {
    await peer.call({ code: "set kept" });
    expect(await peer.call({ code: "get" })).toEqual({ text: "kept", isError: false });
  });

  test("passes servers and timeout on, null standing for neither", async () => {
    const given = await peer.call({ code: "request", servers: ["github"], timeout: 7 });
    expect(given.text).toBe('[["github"],7]');
    expect((await peer.call({ code: "request", servers: null, timeout: null })).text).toBe("[[],null]");
  });

  test("reports an exception as an error with its traceback", async () => {
    expect(await peer.call({ code: "print before\nfail no such thing" })).toEqual({
      text: "before\nTraceback (most recent call last):\nValueError: no such thing",
      isError: true,
    });
  });

  test("says what to do when nothing could run", async () => {
    expect(await peer.call({ code: "refuse" })).toEqual({
      text: "no container engine found\nInstall podman.",
      isError: true,
    });
  });

  test("survives a bug of ours", async () => {
    expect(await peer.call({ code: "crash" })).toEqual({
      text: "internal error in sandpy: a bug\nIts log says more; try again.",
      isError: true,
    });
    expect((await peer.call({ code: "value 1" })).text).toBe("1");
  });

  test("explains bad arguments as a tool error", async () => {
    const { text, isError } = await peer.call({ code: "value 1", servers: "github" });
    expect(isError).toBe(true);
    expect(text).toBe(
      '"servers" is "github": expected an array of server names, such as {"servers": ["github"]}',
    );
  });

  test("carries 10 MB of source and any character", async () => {
    const word = `\u0000\u2028"\\é😀${"x".repeat(10_000_000)}`;
    const digest = createHash("sha256").update(word).digest("hex");
    expect((await peer.call({ code: `digest ${word}` })).text).toBe(digest);
  });

  test("replaces half a character, which no JSON parser has to take", async () => {
    expect((await peer.call({ code: "value a\ud800b" })).text).toBe("a\ufffdb");
  });

  test("streams output as bounded progress to a client that asks for it", async () => {
    const updates: { progress: number; message?: string | undefined }[] = [];
    const onprogress = (update: { progress: number; message?: string | undefined }) => updates.push(update);
    const stop = new AbortController();
    const call = peer.call({ code: "print first\nflood 5000\nhold" }, { onprogress, signal: stop.signal });
    call.catch(() => undefined);
    await until("two updates", () => updates.length >= 2);
    stop.abort();
    expect(updates[0]?.message).toBe("first\n");
    expect(updates[1]?.message).toContain("characters left out");
    expect(updates[1]?.message).toEndWith("line 4999\n");
    for (const { message = "" } of updates) expect(message.length).toBeLessThanOrEqual(4096);
    const counts = updates.map(({ progress }) => progress);
    expect(counts).toEqual([...new Set(counts)].sort((a, b) => a - b));
    await expect(call).rejects.toThrow();
  });

  test("stops the code of a cancelled call and goes on", async () => {
    const stop = new AbortController();
    const call = peer.call({ code: "set stopped\nhold" }, { signal: stop.signal });
    call.catch(() => undefined);
    stop.abort();
    await expect(call).rejects.toThrow();
    expect((await peer.call({ code: "get" })).isError).toBe(false);
  });

  test("answers overlapping calls each with its own result", async () => {
    const calls = ["a", "b", "c"].map((letter) =>
      peer.call({ code: `print ${letter}\nwait 5\nvalue ${letter}` }),
    );
    const texts = (await Promise.all(calls)).map(({ text }) => text);
    expect(texts).toEqual(["a\na", "b\nb", "c\nc"]);
  });
});
