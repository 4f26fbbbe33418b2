import { escapeUnprintable } from "./escaped-text.ts";
import { currentRun } from "./run-context.ts";

/** Severities, least first; a log prints its own level and those above it. */
export const LOG_LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Lines for people, or one JSON object in each line for programs. */
export const LOG_FORMATS = ["text", "json"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/**
 * What an entry says beside its message, under names of ours: `key=value` in text, quoted where needed, members in JSON.
 * A field counts for more than the id of the same name that the run has.
 */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>> & {
  readonly [name in "time" | "level" | "message"]?: never;
};

/** Where the bridge says what it does. Never stdout: that belongs to the protocol. */
export interface Log {
  /** Below it nothing is written. */
  readonly level: LogLevel;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warning(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

interface Entry {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: readonly (readonly [string, string | number | boolean])[];
}

const MAX_MESSAGE_CHARS = 10_000;
const MAX_VALUE_CHARS = 2000;

/**
 * Creates a log that writes one line for each entry through `write` (stderr in the product). In JSON it says which run the
 * entry is of, with the ids of the audit: `caller`, `session`, `execution`, `request`; in text only at the level `DEBUG`.
 */
export function createLog(level: LogLevel, write: (line: string) => void, format: LogFormat = "text"): Log {
  const threshold = LOG_LEVELS.indexOf(level);
  const render = format === "json" ? renderJson : renderText;
  const hasIds = format === "json" || level === "DEBUG";
  const at = (own: LogLevel) => (message: string, fields?: LogFields) => {
    if (LOG_LEVELS.indexOf(own) < threshold) return;
    const entry = {
      level: own,
      message: cut(message, MAX_MESSAGE_CHARS),
      fields: boundFields({ ...(hasIds ? currentIds() : {}), ...fields }),
    };
    // Untrusted text reaches the log: it must not forge a line, nor what a terminal shows.
    write(`${escapeUnprintable(render(entry))}\n`);
  };
  return { level, debug: at("DEBUG"), info: at("INFO"), warning: at("WARNING"), error: at("ERROR") };
}

function currentIds(): LogFields {
  const { requestId, callerId, sessionId, executionId, trace } = currentRun();
  return {
    request: requestId,
    caller: callerId,
    session: sessionId,
    execution: executionId,
    trace: trace?.traceparent.split("-")[1],
  };
}

function boundFields(fields: LogFields): Entry["fields"] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return [[name, typeof value === "string" ? cut(value, MAX_VALUE_CHARS) : value] as const];
  });
}

function renderJson({ level, message, fields }: Entry): string {
  const time = new Date().toISOString();
  return JSON.stringify({ time, level, message, ...Object.fromEntries(fields) });
}

function renderText({ level, message, fields }: Entry): string {
  const pairs = fields.map(([name, value]) => `${name}=${renderValue(String(value))}`);
  return [level, "sandpy:", message, ...pairs].join(" ");
}

function renderValue(value: string): string {
  return /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
}

function cut(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars).toWellFormed()}…` : text;
}
