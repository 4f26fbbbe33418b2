import { readFileSync } from "node:fs";

/** What this process and its children may have; `undefined` where the system does not say. */
export interface OwnLimits {
  readonly openFiles: number | undefined;
  /** All of this user's together. */
  readonly processes: number | undefined;
}

/** Where the system does not say: what macOS gives to a program of a desktop is more. */
const UNKNOWN_OPEN_FILES = 4096;
/** Enough for a sandbox, some servers and some clients; each of them takes a few. */
const ENOUGH = { openFiles: 256, processes: 64 };

/**
 * The soft limits, which hold, or the hard ones, which no child can exceed. Bun raises the soft one of open files to the hard one
 * when it starts.
 */
export function readOwnLimits(which: "soft" | "hard" = "soft", file = "/proc/self/limits"): OwnLimits {
  let text = "";
  try {
    text = readFileSync(file, "latin1");
  } catch {} // not Linux
  const limitOf = (name: string) => parseLimit(text, name, which);
  return { openFiles: limitOf("Max open files"), processes: limitOf("Max processes") };
}

/** How many descriptors this process may have open. */
export function openFilesLimit(): number {
  return readOwnLimits().openFiles ?? UNKNOWN_OPEN_FILES;
}

/** What there is too little of. */
export interface Scarcity {
  /** Such as "may have only 64 open files". */
  readonly what: string;
  readonly remedy: string;
  /** What to type where sandpy is started. */
  readonly command: string;
}

/** `undefined` where there is enough for ordinary use. */
export function scarcityOf({ openFiles, processes }: OwnLimits): Scarcity | undefined {
  const few = [
    ...(openFiles !== undefined && openFiles < ENOUGH.openFiles
      ? [{ what: `${openFiles} open files`, flag: "n", enough: ENOUGH.openFiles }]
      : []),
    ...(processes !== undefined && processes < ENOUGH.processes
      ? [{ what: `${processes} processes`, flag: "u", enough: ENOUGH.processes }]
      : []),
  ];
  if (few.length === 0) return undefined;
  const command = few.map(({ flag, enough }) => `ulimit -${flag} ${enough}`).join("; ");
  return {
    what: `may have only ${few.map(({ what }) => what).join(" and ")}`,
    remedy: "Allow more where sandpy is started; each sandbox, server and client takes some.",
    command,
  };
}

function parseLimit(text: string, name: string, which: "soft" | "hard"): number | undefined {
  const [, soft, hard] = new RegExp(`^${name} +(\\S+) +(\\S+)`, "m").exec(text) ?? [];
  const limit = which === "soft" ? soft : hard;
  if (limit === undefined) return undefined;
  return limit === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(limit);
}
