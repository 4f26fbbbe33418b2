import { describe, expect, test } from "bun:test";
import { runChild, startChild } from "../../src/core/child.ts";

const env = { PATH: process.env["PATH"] ?? "" };
const shell = (script: string) => ({ command: "sh", args: ["-c", script], env });

async function read(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  return text;
}

describe("startChild", () => {
  test("carries bytes in and out and tells the exit code", async () => {
    const child = await startChild({ command: "cat", args: [], env });
    await child.write("hello\n");
    child.endInput();
    expect(await read(child.stdout)).toBe("hello\n");
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  test("rejects with the system's code when the program does not exist", async () => {
    const error = await startChild({ command: "no-such-program-here", args: [], env }).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({ code: "ENOENT" });
  });

  test("keeps the head and the tail of stderr, and drains all of it", async () => {
    const child = await startChild(
      shell("printf begin >&2; head -c 300000 /dev/zero | tr '\\0' e >&2; printf end >&2"),
    );
    await Promise.all([read(child.stdout), child.exited]);
    const text = child.stderrText();
    expect([text.startsWith("begin"), text.endsWith("end"), text.length < 9000]).toEqual([true, true, true]);
  });

  test("gives the child exactly its environment, without Bun's variables", async () => {
    const child = await startChild({
      ...shell("env"),
      env: { ...env, KEEP: "1", BUN_OPTIONS: "--preload x" },
    });
    const names = (await read(child.stdout)).split("\n").map((line) => line.split("=")[0]);
    expect(names.filter((name) => name === "KEEP" || name === "HOME" || name?.startsWith("BUN_"))).toEqual([
      "KEEP",
    ]);
  });

  test.each([
    ["ends with its stdin", "cat >/dev/null", { code: 0, signal: null }],
    ["needs SIGTERM", "exec sleep 60", { code: null, signal: "SIGTERM" }],
    ["ignores SIGTERM", "trap '' TERM; while :; do sleep 0.1; done", { code: null, signal: "SIGKILL" }],
  ] as const)("stops a child that %s", async (_title, script, exit) => {
    const child = await startChild(shell(script));
    expect(await child.stop(100)).toEqual(exit);
  });

  test("HOST-5: rejects a write to a child that has ended, and nothing is thrown elsewhere", async () => {
    const child = await startChild(shell("exit 3"));
    await Promise.all([read(child.stdout), child.exited]);
    expect(
      await child.write("x".repeat(1_000_000)).then(
        () => "written",
        () => "rejected",
      ),
    ).toBe("rejected");
  });

  test("does not wait for a grandchild that holds the pipes open", async () => {
    const child = await startChild(shell("sleep 30 & echo started; exit 4"));
    const text = read(child.stdout).catch(() => "");
    expect(await child.exited).toEqual({ code: 4, signal: null });
    await text;
  });
});

describe("runChild", () => {
  test("ends what it runs when it is told to", async () => {
    const stop = new AbortController();
    const running = runChild({
      ...shell("exec sleep 60"),
      timeoutMs: 30_000,
      signal: stop.signal,
      onSpawn: () => stop.abort(),
    });
    expect(await running).toMatchObject({ code: null, signal: "SIGKILL" });
  });

  test("collects the output of a program", async () => {
    const result = await runChild({ ...shell("echo out; echo err >&2; exit 5"), timeoutMs: 5000 });
    expect(result).toEqual({ code: 5, signal: null, stdout: "out\n", stderr: "err" });
  });

  test("kills a program that takes too long, and names it", async () => {
    const error = await runChild({ command: "sleep", args: ["60"], env, timeoutMs: 50 }).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({ code: "INTERNAL", message: '"sleep 60" took longer than 50 ms' });
  });
});
