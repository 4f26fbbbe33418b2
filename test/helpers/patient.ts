import { availableParallelism, loadavg } from "node:os";

/**
 * How long what takes `ms` on a machine at rest may take on this one now: as many times as long as programs stand in line for each
 * processor (the mean of the last minute, where the system tells it), and once more. A bound made of it fails where
 * something hangs or grows with the square of its input, and not where other programs run.
 *
 * @param ms milliseconds
 * @returns milliseconds, at least `ms`
 */
export function patient(ms: number): number {
  return ms * (1 + (loadavg()[0] ?? 0) / availableParallelism());
}
