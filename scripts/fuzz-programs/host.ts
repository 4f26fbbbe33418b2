import { withDeadline } from "../../src/core/lifecycle.ts";
import { startKernel } from "../../src/kernel/kernel.ts";
import { MAX_FRAME_BYTES, PROTOCOL } from "../../src/kernel/protocol.ts";
import { parseRpc } from "../../src/kernel/rpc.ts";
import type { Outcome } from "../../src/session/outcome.ts";
import { createSession } from "../../src/session/python-session.ts";
import { createHostMemory } from "../../test/helpers/host-memory.ts";
import { NO_SESSIONS } from "../../test/helpers/host-sessions.ts";
import { createHostTools } from "../../test/helpers/host-tools.ts";
import { createMemoryLog } from "../../test/helpers/logs.ts";
import { Corpus } from "./corpus.ts";
import { type Asked, createForgingSandbox, renderDone } from "./forging-sandbox.ts";
import { createRandom, type Random } from "./random.ts";

const FRAMES_AT_ONCE = 200;
const MAX_OUTPUT_CHARS = 1000;
/** The sentence in the middle of output that was cut. */
const MAX_MARKER_CHARS = 500;
const CALL_MS = 10_000;
/** What one call may take on a machine that is busy with other things. */
const PATIENCE_MS = 60_000;
/** The bound that the bridge keeps in every attack; this process is larger than a bridge by the corpus alone. */
/** Beside what this process had before: in the tests it is that of other tests, too. */
const MAX_GROWTH_MIB = 240;
const MAX_IMAGES = 32;
const CLEAN = "clean";
const STATUSES: ReadonlySet<string> = new Set(["ok", "error", "exit", "timeout", "cancelled", "died"]);

/** What the host made of forged frames; `frames` were written, and `faults` says what it did wrong. */
export interface HostFuzz {
  readonly frames: number;
  readonly answers: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly sandboxes: number;
  readonly peakMiB: number;
  readonly faults: readonly string[];
}

/**
 * Writes at least `frames` mutated frames into real sessions from a sandbox that lies, cut into chunks anywhere. After
 * each call an honest one must have its own result, or say that Python died and the next have it; no call may last, be
 * lost, or carry more than the limit.
 */
export async function fuzzHost(frames: number, seed: number): Promise<HostFuzz> {
  const random = createRandom(seed);
  const corpus = new Corpus(random);
  const outcomes: Record<string, number> = {};
  const faults: string[] = [];
  let written = 0;
  let sandboxes = 0;
  const beforeMiB = process.memoryUsage.rss() / 2 ** 20;
  let peakMiB = 0;

  const forge = (asked: Asked): Uint8Array[] => {
    if (asked.code.startsWith(CLEAN)) return [renderEnd(asked)];
    const lines = Array.from({ length: FRAMES_AT_ONCE }, () => corpus.next(asked.id));
    written += lines.length;
    const text = Buffer.from(
      `${lines.join("\n")}${random.once(4) ? "" : "\n"}`,
      random.once(8) ? "latin1" : "utf8",
    );
    return [...cut(text, random), renderEnd(asked)];
  };
  await using session = createSession({
    kernels: {
      async start(events, signal) {
        sandboxes += 1;
        const settings = { protocol: PROTOCOL, max_frame_bytes: MAX_FRAME_BYTES, rlimits: null };
        const sandbox = createForgingSandbox(forge);
        const log = createMemoryLog();
        const kernel = await startKernel({
          sandbox,
          settings,
          events,
          log,
          helloDeadlineMs: CALL_MS,
          signal,
        });
        return { kernel, notes: [] };
      },
    },
    tools: createHostTools({ callTool: async () => ({ content: [{ type: "text", text: "1" }] }) }),
    memory: createHostMemory(),
    sessions: NO_SESSIONS,
    parseRpc,
    log: createMemoryLog(),
    maxOutputChars: MAX_OUTPUT_CHARS,
    idleTimeoutMs: PATIENCE_MS,
    stateless: false,
    memoryBytes: 512 * 1024 ** 2,
    backgroundBudgetMs: CALL_MS,
  });
  const run = (code: string): Promise<Outcome> => {
    const request = { code, servers: [], timeoutMs: CALL_MS };
    return withDeadline(session.execute(request, new AbortController().signal), PATIENCE_MS, code);
  };
  for (let turn = 0; written < frames && faults.length < 10; turn += 1) {
    const forged = await run(`forged ${turn}`);
    outcomes[forged.status] = (outcomes[forged.status] ?? 0) + 1;
    const excess = excessOf(forged);
    if (excess !== undefined) faults.push(`turn ${turn}: ${excess}`);
    const code = `${CLEAN} ${turn}`;
    let clean = await run(code);
    // The supervisor's word that Python died may come late: it is believed, and said.
    if (clean.status === "died" && clean.stateLost && clean.notes.length > 0) clean = await run(code);
    if (clean.status !== "ok" || clean.result !== code) {
      faults.push(`turn ${turn}, honest: ${clean.status} ${clean.result} ${clean.notes.join(" ")}`);
    }
    peakMiB = Math.max(peakMiB, process.memoryUsage.rss() / 2 ** 20);
  }
  if (peakMiB - beforeMiB > MAX_GROWTH_MIB)
    faults.push(`the host grew by ${Math.round(peakMiB - beforeMiB)} MiB, more than ${MAX_GROWTH_MIB}`);
  return {
    frames: written,
    answers: corpus.answers,
    outcomes,
    sandboxes,
    peakMiB: Math.round(peakMiB),
    faults,
  };
}

/** The frame that ends the call; it comes on a line of its own whatever was written before. */
function renderEnd(asked: Asked): Uint8Array {
  return Buffer.from(`\n${JSON.stringify(["k", renderDone(asked.id, asked.code)])}\n`);
}

function cut(bytes: Uint8Array, random: Random): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random.below(random.once(3) ? 16 : 65_536);
    chunks.push(bytes.slice(at, at + size));
    at += size;
  }
  return chunks;
}

/** What of an outcome is more than it may be. */
function excessOf({ status, stdout, stderr, late, images }: Outcome): string | undefined {
  if (!STATUSES.has(status)) return `the status ${JSON.stringify(status)}`;
  for (const { text } of [stdout, stderr, late.stdout, late.stderr]) {
    if (text.length > MAX_OUTPUT_CHARS + MAX_MARKER_CHARS) return `${text.length} characters of output`;
  }
  return images.length > MAX_IMAGES ? `${images.length} images` : undefined;
}
