const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A server that failed this often in a row is left alone for a while: trying on would only cost the user's machine. */
const MAX_FAILURES = 10;
const COOL_DOWN_MS = 10 * 60_000;

/** Milliseconds after the last of `failures` in a row until a server may be started again. */
export function pauseAfter(failures: number): number {
  if (failures >= MAX_FAILURES) return COOL_DOWN_MS;
  return Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
}

/** Says when that is, for a hint. */
export function describePause(failures: number, leftMs: number): string {
  const seconds = Math.ceil(leftMs / 1000);
  if (failures < MAX_FAILURES) {
    return `It failed ${failures} times in a row and is started again at the earliest in ${seconds} s.`;
  }
  return `It failed ${failures} times in a row and is left alone for ${seconds} s more, or until its definition changes.`;
}
