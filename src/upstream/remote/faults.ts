import {
  InsufficientScopeError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
} from "@modelcontextprotocol/client";
import { BridgeError, type ErrorCode } from "../../core/errors.ts";
import { isMessage, MAX_MESSAGE_BYTES, tryParse } from "../messages.ts";

const MAX_QUOTE = 300;

export interface RemoteFaultContext {
  readonly server: string;
  /** The URL without what is secret in it. */
  readonly shown: string;
  /** What the user can do about a definition that does not fit. */
  readonly correction: string;
  readonly mask: (text: string) => string;
  /** What to do when the server wants to know who asks. */
  readonly signInHint: string;
}

/** What Bun's `fetch` fails with before anything was sent, or while a connection is made. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ENOTFOUND: "its host name is not known",
  EAI_AGAIN: "its host name cannot be looked up now",
  EHOSTUNREACH: "there is no way to its host",
  ENETUNREACH: "there is no way to its network",
  ETIMEDOUT: "the connection was not answered in time",
  EPROTO: "the TLS handshake failed, so it may speak http:// and not https://",
};
/** What it fails with on an answer that it cannot read. */
const UNREADABLE: Readonly<Record<string, string>> = {
  ResponseHeadersTooLarge: "the headers of its answer are too large",
  Malformed_HTTP_Response: "its answer is not HTTP, or has too many headers",
};
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_|TLS/;

/** A stream had more in one event than a message may have. */
export class OversizedEvent extends Error {
  override readonly name = "OversizedEvent";
}

/** A server asks more than it takes answers to. */
export class UnreadAnswers extends Error {
  override readonly name = "UnreadAnswers";
}

/** Says what a request to a server failed with, and what can be done about it. */
export function describeRemoteFault(thrown: unknown, context: RemoteFaultContext): BridgeError {
  if (thrown instanceof BridgeError) return thrown;
  const error = unwrap(thrown);
  const { server, shown, mask, correction } = context;
  const name = `server ${JSON.stringify(server)}`;
  const fail = (code: ErrorCode, message: string, hint?: string) =>
    new BridgeError(code, `${name} ${message}`, {
      ...(hint === undefined ? {} : { hint }),
      data: { server },
      cause: error,
    });
  if (error instanceof InsufficientScopeError) {
    const scope = error.requiredScope === undefined ? "" : `: ${JSON.stringify(error.requiredScope)}`;
    return fail("UPSTREAM_UNAUTHORIZED", `needs a sign-in with more rights${scope}`, context.signInHint);
  }
  if (error instanceof OversizedEvent) {
    const what = `sent more than ${MAX_MESSAGE_BYTES} bytes in one event and was disconnected`;
    return fail("LIMIT_EXCEEDED", what, "Ask for less at once, such as one page or some fields.");
  }
  if (error instanceof UnreadAnswers)
    return fail("LIMIT_EXCEEDED", "asks without end, takes no answers, and was disconnected");
  const status = statusOf(error);
  if (status === 401 || status === 403) {
    const quoted = error instanceof SdkHttpError ? quote(error.data.text, mask) : "";
    const what = status === 401 ? "needs a sign-in" : "refuses access";
    return fail("UPSTREAM_UNAUTHORIZED", `${what} (HTTP ${status})${quoted}`, context.signInHint);
  }
  if (status !== undefined) {
    const text = error instanceof SdkHttpError ? error.data.text : undefined;
    // The SDK's own words say where a redirect led that was not followed.
    const reason = status >= 300 && status < 400 ? quote((error as Error).message, mask) : quote(text, mask);
    const isOver = status === 429 || (status >= 500 && status !== 501); // 501: it takes no POST, and never will
    const hint = isOver ? "Try again later." : correction;
    return fail("UPSTREAM_FAILED", `answered ${shown} with HTTP ${status}${reason}`, hint);
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    return fail("UPSTREAM_TIMEOUT", "did not answer in time", "Try again later.");
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.ClientHttpUnexpectedContent) {
    return fail("UPSTREAM_FAILED", `does not speak MCP at ${shown}: ${mask(error.message)}`, correction);
  }
  const code = codeOf(error);
  const unreachable = explainUnreachable(error);
  if (unreachable !== undefined) {
    return fail("UPSTREAM_UNREACHABLE", `cannot be reached at ${shown}: ${unreachable}`, correction);
  }
  const reason = UNREADABLE[code] ?? mask(error instanceof Error ? error.message : String(error));
  if (CERTIFICATE.test(code)) {
    const hint = "A certificate of your own goes into the file that NODE_EXTRA_CA_CERTS names.";
    return fail(
      "UPSTREAM_UNREACHABLE",
      `has a certificate at ${shown} that is not accepted: ${reason}`,
      hint,
    );
  }
  if (code === "ECONNRESET") {
    const hint = "A call may have been carried out all the same: see before you repeat it.";
    return fail("UPSTREAM_FAILED", "closed the connection before it answered", hint);
  }
  return fail("UPSTREAM_FAILED", `failed at ${shown}: ${reason.slice(0, MAX_QUOTE)}`);
}

/** Why a server cannot be reached; `undefined` for other errors. */
export function explainUnreachable(error: unknown): string | undefined {
  return UNREACHABLE[codeOf(error)];
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** The HTTP status that an error of the SDK stands for. */
export function statusOf(thrown: unknown): number | undefined {
  const error = unwrap(thrown);
  if (error instanceof SdkHttpError) return error.status;
  return error instanceof SseError ? error.code : undefined;
}

/** The SDK's question which revision a server speaks wraps what it failed with. */
function unwrap(error: unknown): unknown {
  if (!(error instanceof SdkError) || error.code !== SdkErrorCode.EraNegotiationFailed) return error;
  const cause = (error.data as { readonly cause?: unknown } | undefined)?.cause ?? error.cause;
  return cause instanceof Error ? cause : error;
}

function quote(given: unknown, mask: (text: string) => string): string {
  const text = typeof given === "string" ? given : "";
  const parsed = tryParse(text);
  const error = isMessage(parsed) ? (parsed["error"] as { message?: unknown } | undefined) : undefined;
  const said = typeof error?.message === "string" ? error.message : text;
  const line = mask(said).replace(/\s+/g, " ").trim();
  return line === "" ? "" : `: ${JSON.stringify(line.slice(0, MAX_QUOTE).toWellFormed())}`;
}
