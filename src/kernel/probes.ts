import * as z from "zod";
import isolation from "../../sandbox/doctor/isolation.py" with { type: "text" };
import limits from "../../sandbox/doctor/limits.py" with { type: "text" };

/** Programs that look at a sandbox from the inside, and what they print: for `sandpy doctor`. */

const SHORT = z.string().max(200);
const NAMES = z.array(SHORT).max(300);
/** The name of the error that refused something; `null`: it was allowed. */
const refusal = SHORT.nullable();
const mount = z
  .object({
    ro: z.boolean(),
    nosuid: z.boolean(),
    nodev: z.boolean(),
    noexec: z.boolean(),
    bytes: z.number(),
  })
  .nullable();

const view = z.object({
  /** Such as `3.14.0`. */
  python: SHORT,
  implementation: SHORT,
  missing_modules: NAMES,
  packages: NAMES,
  /** Where packages go; empty where it has no such folder. */
  package_folder: z.string().max(1000),
  uid: z.number(),
  gid: z.number(),
  /** Of `/proc/self/status`: capabilities in hexadecimal, `NoNewPrivs`, `Seccomp`. */
  status: z.record(SHORT, SHORT),
  interfaces: NAMES,
  connect: z.object({ tcp: refusal, udp: refusal, tcp6: refusal }),
  families: z.record(SHORT, refusal),
  abstract_sockets: z.number(),
  engine_sockets: NAMES,
  user_namespace: refusal,
  root: mount,
  folders: z.record(SHORT, mount),
  unwritable_own: NAMES,
  /** Folders, files and devices of the machine. */
  foreign: NAMES,
  writable: NAMES,
  pid: z.number(),
});

/** What the first program saw; it decides nothing. */
export type SandboxView = z.infer<typeof view>;

/** What came of trying the limits. Where the container itself was ended it is only known that a try had `started`. */
export interface LimitsView {
  readonly pids: { readonly started: number; readonly refused: string | null } | "started" | undefined;
  readonly memory:
    | { readonly taken: number; readonly killed: boolean; readonly refused: boolean }
    | "started"
    | undefined;
}

/** Prints what {@link parseView} reads. */
export const VIEW_COMMAND: readonly string[] = ["python3", "-I", "-B", "-c", isolation];

/** Prints what {@link parseLimits} reads. It takes twice of what it should get, and no more; a limit of 0 is not tried. */
export function limitsCommand(memoryBytes: number, pids: number): readonly string[] {
  return ["python3", "-I", "-B", "-c", limits, String(memoryBytes), String(pids)];
}

/** `undefined` when that is not what the program prints. */
export function parseView(text: string): SandboxView | undefined {
  return view.safeParse(parseLine(text)).data;
}

const pidsLine = z.union([
  z.object({ limit: z.literal("pids"), started: z.number(), refused: refusal }),
  z.object({ limit: z.literal("pids"), trying: z.literal(true) }),
]);
const memoryLine = z.union([
  z.object({ limit: z.literal("memory"), taken: z.number(), killed: z.boolean(), refused: z.boolean() }),
  z.object({ limit: z.literal("memory"), started: z.literal(true) }),
]);

/** What was printed before the container ended; lines that the program does not print count as none. */
export function parseLimits(text: string): LimitsView {
  const lines = text.split("\n").map(parseLine);
  const pids = lines.map((line) => pidsLine.safeParse(line).data).findLast((line) => line !== undefined);
  const memory = lines.map((line) => memoryLine.safeParse(line).data).findLast((line) => line !== undefined);
  return {
    pids: pids === undefined || "started" in pids ? pids : "started",
    memory: memory === undefined || "taken" in memory ? memory : "started",
  };
}

function parseLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not ours
  }
}
