/**
 * Every way in which the bridge itself can fail, and the exit code that the command line gives it.
 * User code that fails is not here: that is a result. Codes are stable; messages are not.
 */
export const EXIT_CODES = {
  INTERNAL: 1,
  USAGE: 2,
  CONFIG_INVALID: 3,
  HTTP_LISTEN_FAILED: 3,
  SERVER_UNREACHABLE: 3,
  SERVER_REFUSED: 3,
  ENGINE_NOT_FOUND: 4,
  ENGINE_FAILED: 4,
  ENGINE_TIMEOUT: 4,
  IMAGE_MISSING: 4,
  IMAGE_BUILD_FAILED: 4,
  KERNEL_START_FAILED: 5,
  FILES_FAILED: 5,
  SESSION_BUSY: 5,
  SESSION_CLOSED: 5,
  SESSION_UNKNOWN: 5,
  CANCELLED: 5,
  UPSTREAM_UNKNOWN_SERVER: 6,
  UPSTREAM_NOT_USABLE: 6,
  UPSTREAM_UNKNOWN_TOOL: 6,
  UPSTREAM_UNREACHABLE: 6,
  UPSTREAM_TIMEOUT: 6,
  UPSTREAM_UNAUTHORIZED: 6,
  UPSTREAM_FAILED: 6,
  APPROVAL_DENIED: 6,
  LIMIT_EXCEEDED: 6,
  MEMORY_REFUSED: 7,
  MEMORY_UNAVAILABLE: 7,
} as const;

/** A stable name for one kind of bridge failure. */
export type ErrorCode = keyof typeof EXIT_CODES;

/** What a {@link BridgeError} carries beside its code and message. */
export interface BridgeErrorOptions {
  /** What to do next: a command, a configuration key, or the valid values. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** Facts for machines; never secrets. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** A failure of the bridge: what failed and the offending value in `message`, what to do next in `hint`. */
export class BridgeError extends Error {
  override readonly name = "BridgeError";
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, options: BridgeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.data = options.data;
  }

  /** The process exit code that stands for this error. */
  get exitCode(): number {
    return EXIT_CODES[this.code];
  }
}

/** Wraps anything thrown into a {@link BridgeError}; one that is already is returned as it is. */
export function toBridgeError(error: unknown, code: ErrorCode = "INTERNAL"): BridgeError {
  if (error instanceof BridgeError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new BridgeError(code, message, { cause: error });
}

/** One paragraph for a person or a model: the message, then the hint on a line of its own. */
export function renderError(error: BridgeError): string {
  return error.hint === undefined ? error.message : `${error.message}\n${error.hint}`;
}
