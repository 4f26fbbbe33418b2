import { setImmediate as nextTurn } from "node:timers/promises";
import { SMALL_BYTES } from "../core/answer-room.ts";
import { LineSplitter } from "../core/lines.ts";
import type { Log } from "../core/log.ts";
import { type Place, Room } from "../core/room.ts";
import { type IncomingLine, MAX_FRAME_BYTES, parseLine } from "./protocol.ts";

/** Invalid lines are logged up to this many; user code can write them without end. */
const MAX_LOGGED = 5;
/** After so long without a pause, timers and other peers get their turn: a sandbox can write without end. */
const MAX_BUSY_MS = 20;
/** What is passed on makes garbage several times its size, which Bun is slow to take for a reason to collect. */
const COLLECT_BYTES = 16 * 1024 * 1024;
/** Of shorter lines Bun knows itself what they leave; what their values take is estimated too high by far. */
const SHORT_BYTES = 4096;

/** Longer lines are counted while they come, and others are read one after the other. */
const LARGE_BYTES = 1024 * 1024;

/** For all requests that were not answered yet, but small ones. What one takes in memory is several times its size for a moment. */
const requestRoom = new Room({ totalBytes: 16 * 1024 * 1024 });

/** What is done with what a sandbox says. */
export interface FrameReader {
  /**
   * Takes a frame, and what it costs in memory; where it returns a promise, nothing more is read until that settles, which in
   * the end blocks the writer. Who shares `place` has the frame counted until he leaves.
   */
  readonly onLine: (line: IncomingLine, cost: number, place: Place | undefined) => void | Promise<void>;
  /** Is told why a line is no frame, and how to say so in the log. By default it is said. */
  readonly onInvalid?: (reason: string, say: () => void) => void;
  /** Is given what is waited for before more is read, and returns it. */
  readonly holdBack?: (wait: Promise<void>) => Promise<void>;
  readonly log: Log;
  /** Where large frames are counted; by default where those of all sandboxes are. */
  readonly room?: Room;
}

/**
 * Reads frames from the sandbox until its output ends, and hands them on in order. Lines that are not frames are dropped.
 * Returns why it stopped: the stream ended, or a line was longer than the protocol allows (the supervisor cuts such lines of
 * the kernel itself, so it is no longer what we started).
 */
export async function readFrames(
  stdout: AsyncIterable<Uint8Array>,
  {
    onLine,
    onInvalid = (_reason, say) => say(),
    holdBack = (wait) => wait,
    log,
    room = requestRoom,
  }: FrameReader,
): Promise<"ended" | "overflow"> {
  const splitter = new LineSplitter(MAX_FRAME_BYTES + 16);
  const owner = {};
  let place: Place | undefined;
  /** Others go on where this one stays as it is for long. */
  const count = (bytes: number): Promise<void> | undefined => {
    if (place === undefined) {
      place = room.open(owner);
      place.onStalled(() => undefined);
    }
    const wait = place.grow(bytes);
    return wait === undefined ? undefined : holdBack(wait);
  };
  let invalid = 0;
  let busySince = performance.now();
  let uncollected = 0;
  try {
    for await (const chunk of stdout) {
      if (uncollected > COLLECT_BYTES) uncollected = collect();
      for (const split of splitter.push(chunk)) {
        if (split.kind === "overflow") return "overflow";
        const { length } = split.bytes;
        // Always awaiting would cost a turn of the event loop for each frame.
        const turn = length > LARGE_BYTES ? count(length) : undefined;
        if (turn !== undefined) await turn;
        if (length > LARGE_BYTES) uncollected = collect(); // the pieces that it came in
        const parsed = parseLine(split.bytes);
        if ("line" in parsed) {
          uncollected += length > SHORT_BYTES ? parsed.cost : length;
          const isKept = length > SMALL_BYTES && parsed.line[1].type === "rpc";
          const counted = isKept ? count(length) : undefined;
          if (counted !== undefined) await counted;
          if (length > LARGE_BYTES) uncollected = collect();
          const wait = onLine(parsed.line, parsed.cost, place);
          if (wait !== undefined) await holdBack(wait);
        } else {
          invalid += 1;
          const isSaid = invalid <= MAX_LOGGED;
          const reason = parsed.invalid;
          onInvalid(reason, () => isSaid && log.warning("dropped a line from the sandbox", { reason }));
        }
        place?.leave();
        place = undefined;
        if (performance.now() - busySince > MAX_BUSY_MS) {
          await nextTurn();
          busySince = performance.now();
        }
      }
      const turn = splitter.heldBytes > LARGE_BYTES ? count(splitter.heldBytes) : undefined;
      if (turn !== undefined) await turn;
    }
    return "ended";
  } finally {
    place?.leave();
  }
}

function collect(): 0 {
  Bun.gc(true);
  return 0;
}
