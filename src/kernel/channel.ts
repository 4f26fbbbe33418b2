import { setImmediate as nextTurn } from "node:timers/promises";
import { LineSplitter } from "../core/lines.ts";
import type { Log } from "../core/log.ts";
import { type IncomingLine, MAX_FRAME_BYTES, parseLine } from "./protocol.ts";

/** Invalid lines are logged up to this many; user code can write them without end. */
const MAX_LOGGED = 5;
/** After so long without a pause, timers and other peers get their turn: a sandbox can write without end. */
const MAX_BUSY_MS = 20;
/** What is passed on makes garbage several times its size, which Bun is slow to take for a reason to collect. */
const COLLECT_BYTES = 16 * 1024 * 1024;
/** Of shorter lines Bun knows itself what they leave; what their values take is estimated too high by far. */
const SHORT_BYTES = 4096;

/**
 * Reads frames from the sandbox until its output ends and hands each to `onLine`, with what it costs in memory and in
 * order; where that returns a promise, nothing more is read until it settles, which in the end blocks the writer. Lines
 * that are not frames are dropped, and `onInvalid` told why, and how to say so in the log. Returns why it stopped: the
 * stream ended, or a line was longer than the protocol allows (the supervisor cuts such lines of the kernel itself, so it
 * is no longer what we started).
 */
export async function readFrames(
  stdout: AsyncIterable<Uint8Array>,
  onLine: (line: IncomingLine, cost: number) => void | Promise<void>,
  log: Log,
  onInvalid: (reason: string, say: () => void) => void = (_reason, say) => say(),
): Promise<"ended" | "overflow"> {
  const splitter = new LineSplitter(MAX_FRAME_BYTES + 16);
  let invalid = 0;
  let busySince = performance.now();
  let uncollected = 0;
  for await (const chunk of stdout) {
    if (uncollected > COLLECT_BYTES) {
      uncollected = 0;
      Bun.gc(true);
    }
    for (const split of splitter.push(chunk)) {
      if (split.kind === "overflow") return "overflow";
      const parsed = parseLine(split.bytes);
      if ("line" in parsed) {
        const { length } = split.bytes;
        uncollected += length > SHORT_BYTES ? parsed.cost : length;
        const wait = onLine(parsed.line, parsed.cost);
        if (wait !== undefined) await wait; // always awaiting would cost a turn of the event loop for each frame
      } else {
        invalid += 1;
        const isSaid = invalid <= MAX_LOGGED;
        const reason = parsed.invalid;
        onInvalid(reason, () => isSaid && log.warning("dropped a line from the sandbox", { reason }));
      }
      if (performance.now() - busySince > MAX_BUSY_MS) {
        await nextTurn();
        busySince = performance.now();
      }
    }
  }
  return "ended";
}
