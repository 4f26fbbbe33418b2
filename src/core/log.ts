/** Severities, least first; a log prints its own level and those above it. */
export const LOG_LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Values of a log line's fields; printed as `key=value`, quoted where needed. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where the bridge says what it does. Never stdout: that belongs to the protocol. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warning(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const MAX_VALUE_CHARS = 2000;

/** Creates a log that writes lines `LEVEL message key=value …` through `write` (stderr in the product). */
export function createLog(level: LogLevel, write: (line: string) => void): Log {
  const threshold = LOG_LEVELS.indexOf(level);
  const at = (own: LogLevel) => (message: string, fields?: LogFields) => {
    if (LOG_LEVELS.indexOf(own) >= threshold) write(`${renderLine(own, message, fields)}\n`);
  };
  return { debug: at("DEBUG"), info: at("INFO"), warning: at("WARNING"), error: at("ERROR") };
}

function renderLine(level: LogLevel, message: string, fields: LogFields = {}): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${renderValue(String(value))}`);
  return [level, "sandpy:", escapeControls(message), ...pairs].join(" ");
}

function renderValue(value: string): string {
  const cut = value.length > MAX_VALUE_CHARS ? `${value.slice(0, MAX_VALUE_CHARS)}…` : value;
  return /^[\w.:/@+-]+$/.test(cut) ? cut : JSON.stringify(cut);
}

/** Untrusted text reaches the log: a control character must not move a terminal's cursor or forge a line. */
function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (char) => JSON.stringify(char).slice(1, -1));
}
