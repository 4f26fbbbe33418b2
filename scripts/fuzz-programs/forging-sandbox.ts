import type { Sandbox, SandboxExit } from "../../src/container/engine.ts";
import { PROTOCOL } from "../../src/kernel/protocol.ts";
import { BUNDLE_HASH } from "../../src/kernel/source.ts";

const HEADER_CHARS = 10; // the length of the sources and settings, which come before the first frame

/** What the host sent that asks for something. */
export interface Asked {
  readonly type: string;
  readonly id: number;
  readonly code: string;
}

/**
 * A sandbox in this process, in the place of a container whose Python is in the hands of an attacker: it greets as the
 * real one does, and answers each `execute` with the chunks that `forge` makes of it. What it says of resets and
 * interrupts is true.
 */
export function createForgingSandbox(forge: (asked: Asked) => readonly Uint8Array[]): Sandbox {
  const stdout = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark: 64 });
  const writer = stdout.writable.getWriter();
  const ended = Promise.withResolvers<SandboxExit>();
  const pending: string[] = [];
  let received = "";
  let hasSources = false;
  let generation = 0;

  const put = (bytes: Uint8Array) => writer.write(bytes).catch(() => undefined); // the host stopped reading: it may
  const say = (line: unknown) => put(Buffer.from(`\n${JSON.stringify(line)}\n`));
  const startGeneration = () => {
    generation += 1;
    return say(["s", { type: "ready", generation }]);
  };
  const answer = async (asked: Asked) => {
    if (asked.type === "execute") for (const chunk of forge(asked)) await put(chunk);
    else if (asked.type === "interrupt") await say(["k", renderDone(asked.id, null, "interrupted")]);
    else if (asked.type === "measure") await say(["s", { type: "measured", memory_bytes: 1 }]);
    else if (asked.type === "sync") await say(["k", { type: "synced", id: asked.id }]);
    else if (asked.type === "reset") {
      const died = { type: "died", generation, execution: null, reason: "reset" };
      await say(["s", { ...died, code: null, signal: null, detail: null }]);
      await startGeneration();
    }
  };
  let answering = Promise.resolve();
  const close = async () => {
    await writer.abort().catch(() => undefined);
    ended.resolve({ code: 137, stderr: "" });
  };
  return {
    name: "forging",
    handedDown: undefined,
    stdout: stdout.readable,
    ended: ended.promise,
    async write(bytes) {
      received += typeof bytes === "string" ? bytes : Buffer.from(bytes).toString();
      if (!hasSources) {
        const length = Number(received.slice(0, HEADER_CHARS));
        if (Buffer.byteLength(received) < HEADER_CHARS + length) return;
        received = Buffer.from(received)
          .subarray(HEADER_CHARS + length)
          .toString();
        hasSources = true;
        await say(["s", { type: "hello", protocol: PROTOCOL, bundle: BUNDLE_HASH, python: "3.14.0" }]);
        await startGeneration();
      }
      const lines = received.split("\n");
      received = lines.pop() ?? "";
      pending.push(...lines.filter((line) => line !== ""));
      for (let line = pending.shift(); line !== undefined; line = pending.shift()) {
        const [, asked] = JSON.parse(line) as [string, Asked];
        answering = answering.then(() => answer(asked));
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The frame that ends an execution. */
export function renderDone(id: number, result: string | null, status: "ok" | "interrupted" = "ok") {
  return { type: "done", id, status, result, error: null, exit_code: null };
}
