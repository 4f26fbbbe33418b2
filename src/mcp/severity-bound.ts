import type { LogLevel } from "../core/log.ts";
import type { LogSeverity } from "../upstream/client-peer.ts";

/** For each level of our own log the least severity that clients get, and those below it. */
const BOUNDS: Readonly<Record<LogLevel, { least: LogSeverity; below: readonly LogSeverity[] }>> = {
  DEBUG: { least: "debug", below: [] },
  INFO: { least: "info", below: ["debug"] },
  WARNING: { least: "warning", below: ["debug", "info", "notice"] },
  ERROR: { least: "error", below: ["debug", "info", "notice", "warning"] },
};

/** What a client gets that asks for `wanted`: no more than whoever set the level of the log allows. */
export function boundSeverity(wanted: LogSeverity, level: LogLevel): LogSeverity {
  const { least, below } = BOUNDS[level];
  return below.includes(wanted) ? least : wanted;
}
