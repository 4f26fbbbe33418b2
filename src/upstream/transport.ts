import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { answerRoom, SMALL_BYTES } from "../core/answer-room.ts";
import { type Child, type ChildExit, type ChildOptions, startChild } from "../core/child.ts";
import { BridgeError } from "../core/errors.ts";
import { withDeadline } from "../core/lifecycle.ts";
import { LineSplitter } from "../core/lines.ts";
import type { Place, Room } from "../core/room.ts";
import { excerpt, type Mask } from "./mask.ts";
import {
  isMessage,
  isTooCostly,
  MAX_MESSAGE_BYTES,
  type RawMessage,
  refuseBadResult,
  tryParse,
} from "./messages.ts";
import { RequestOrigins } from "./request-origins.ts";
import { ServerGone } from "./server-gone.ts";
import { withTrace } from "./trace-meta.ts";
import { UnaskedLimit } from "./unasked-limit.ts";

/** What a server leaves unread on its stdin stays in memory, also when its requests were given up long ago. */
const MAX_UNREAD_BYTES = 64 * 1024 ** 2;
/** What a waiting message costs beside its bytes. */
const MESSAGE_COST_BYTES = 8192;
/** Without an answer between them: a program that says no more than this is no server. */
const MAX_BAD_LINES = 1000;
const MAX_QUOTE = 200;
const EXIT_AFTER_EOF_MS = 1000;

export interface TransportOptions extends Omit<ChildOptions, "ownGroup" | "onStderr"> {
  readonly onStderr: (text: string) => void;
  /** Hides the secrets in what is quoted of the server. */
  readonly mask: Mask;
  /** Called for the first line that is not a message. */
  readonly onBadLine: (quote: string) => void;
  readonly stopGraceMs: number;
  /** Where what comes is counted; by default where that of all servers is. */
  readonly room?: Room;
}

/**
 * JSON-RPC over the stdio of a process. Unlike the SDK's own transport it kills the whole process group, splits lines
 * in linear time, keeps all digits of numbers, and survives what servers print to stdout by mistake.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The SDK takes a transport with this and `pid` for stdio; see `connect-stdio.ts` for why that matters. */
  readonly stderr = null;
  /** Resolves when the process is gone, or was never there and will not be. */
  readonly ended: Promise<void>;
  readonly #ended = Promise.withResolvers<void>();
  /** Resolves after `ended`, when nothing is left of what it started either, as far as that is of its group. */
  readonly gone: Promise<void>;
  readonly #gone = Promise.withResolvers<void>();
  readonly #options: TransportOptions;
  readonly #splitter = new LineSplitter(MAX_MESSAGE_BYTES);
  readonly #decoder = new TextDecoder();
  #process: Child | undefined;
  #exit: ChildExit | undefined;
  #fault: BridgeError | undefined;
  readonly #unasked = new UnaskedLimit();
  readonly #origins = new RequestOrigins();
  /** Answers that are still to come. */
  #owed = 0;
  #unreadBytes = 0;
  #badLines = 0;
  #lastBadLine: string | undefined;
  #closed = false;
  /** Nothing that comes is of use any more. */
  readonly #over = new AbortController();

  constructor(options: TransportOptions) {
    this.#options = options;
    this.ended = this.#ended.promise;
    this.gone = this.#gone.promise;
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /** How the process ended, once it has. */
  get exit(): ChildExit | undefined {
    return this.#exit;
  }

  /** Why the transport itself ended the connection, if it did. */
  get fault(): BridgeError | undefined {
    return this.#fault;
  }

  /** The last line on stdout that was no message, masked. */
  get lastBadLine(): string | undefined {
    return this.#lastBadLine;
  }

  stderrText(): string {
    return this.#process?.stderrText() ?? "";
  }

  async start(): Promise<void> {
    const started = await startChild({ ...this.#options, ownGroup: true });
    this.#process = started;
    if (this.#closed) await started.stop(0);
    const pumped = this.#pump(started);
    // Answers that were written before the end still count.
    void started.exited.then((exit) => pumped.then(() => this.#end(exit)));
    void pumped.then(() => this.#expectExit(started));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#process === undefined || this.#closed) throw new ServerGone("the server is not running");
    if (this.#unreadBytes > MAX_UNREAD_BYTES) {
      const what = `has not read the last ${Math.floor(this.#unreadBytes / 1024 ** 2)} MiB that it was sent`;
      // Answers are as many as it asks for: one that asks without end and reads none would fill the memory.
      if (!("method" in message)) this.#fail(what, "LIMIT_EXCEEDED");
      throw new BridgeError("LIMIT_EXCEEDED", `the server ${what}`, {
        hint: "Wait until it is done with earlier requests.",
      });
    }
    const line = `${JSON.stringify(withTrace(message))}\n`;
    const cost = Buffer.byteLength(line) + MESSAGE_COST_BYTES;
    if ("method" in message && "id" in message) this.#owed += 1;
    this.#origins.sent(message as RawMessage);
    this.#unreadBytes += cost;
    try {
      await this.#process.write(line);
    } catch (cause) {
      throw new ServerGone("the server has closed its stdin", { cause });
    } finally {
      this.#unreadBytes -= cost;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#over.abort();
    await this.#process?.stop(this.#options.stopGraceMs);
    if (this.#process === undefined) this.#end({ code: null, signal: null });
  }

  /** Ends everything at once, for an exit of the bridge that waits for nothing. */
  kill(): void {
    this.#process?.kill("SIGKILL");
  }

  #end(exit: ChildExit): void {
    if (this.#exit !== undefined) return;
    this.#exit = exit;
    this.#closed = true;
    // What a dead wrapper left behind has no use any more.
    void Promise.resolve(this.#process?.stop(0)).then(() => this.#gone.resolve());
    this.#ended.resolve();
    this.onclose?.();
  }

  /** A server that closed its stdout answers nothing any more, whether it lives or not. */
  async #expectExit(source: Child): Promise<void> {
    await withDeadline(source.exited, EXIT_AFTER_EOF_MS, "the exit").catch(() => {
      if (!this.#closed) this.#fail("closed its stdout");
    });
  }

  async #pump(source: Child): Promise<void> {
    let place: Place | undefined;
    const { signal } = this.#over;
    try {
      for await (const chunk of source.stdout) {
        place?.move();
        for (const line of this.#splitter.push(chunk)) {
          if (line.kind === "overflow") {
            this.#fail(
              `wrote a line of more than ${MAX_MESSAGE_BYTES} bytes on its stdout`,
              "LIMIT_EXCEEDED",
            );
          } else {
            const { length } = line.bytes;
            if (length > SMALL_BYTES) place ??= this.#openPlace();
            if (place !== undefined) await place.grow(length, signal); // to wait for nothing costs a short line much
            const isAsked = this.#receive(this.#decoder.decode(line.bytes), length, place);
            if (!isAsked) await this.#unasked.take(length);
            if (signal.aborted) return; // what is left of a chunk may be half a million lines
          }
          place?.leave();
          place = undefined;
        }
        if (this.#splitter.heldBytes > SMALL_BYTES) place ??= this.#openPlace();
        if (place !== undefined) await place.grow(this.#splitter.heldBytes, signal);
        if (this.#fault !== undefined) return;
      }
    } catch {
      // the stream was destroyed, and the exit says why; or it is over
    } finally {
      place?.leave();
    }
  }

  /** For a message that is longer than what others need not wait for; nobody knows yet whom it answers. */
  #openPlace(): Place {
    const place = (this.#options.room ?? answerRoom).open(this);
    place.onStalled(() => this.#fail("stopped in the middle of a long line, while others waited to be read"));
    return place;
  }

  /** Whether it was an answer to a request of ours. */
  #receive(text: string, bytes: number, place: Place | undefined): boolean {
    const trimmed = text.trim(); // trims a byte order mark and CR too
    if (trimmed === "") return false;
    const parsed = parseLine(trimmed);
    if (parsed === undefined && isTooCostly(trimmed)) {
      this.#fail("wrote a message of more values than are read on its stdout", "LIMIT_EXCEEDED");
      return false;
    }
    if (parsed === undefined) {
      this.#badLines += 1;
      const isFirst = this.#lastBadLine === undefined;
      this.#lastBadLine = excerpt(trimmed, this.#options.mask, MAX_QUOTE);
      if (isFirst) this.#options.onBadLine(this.#lastBadLine);
      if (this.#badLines > MAX_BAD_LINES) {
        const quote = JSON.stringify(this.#lastBadLine);
        this.#fail(
          `wrote more than ${MAX_BAD_LINES} lines on its stdout that are no messages, the last was ${quote}`,
        );
      }
      return false;
    }
    const messages: readonly RawMessage[] = Array.isArray(parsed) ? parsed : [parsed];
    for (const message of messages) {
      const checked = refuseBadResult(message, bytes);
      this.#origins.pass(checked, place, (each) => this.onmessage?.(each as JSONRPCMessage));
    }
    const answers = messages.filter((message) => !("method" in message)).length;
    const isAsked = answers > 0 && this.#owed > 0;
    this.#owed = Math.max(0, this.#owed - answers);
    if (isAsked) this.#badLines = 0;
    return isAsked;
  }

  #fail(what: string, code: "LIMIT_EXCEEDED" | "UPSTREAM_FAILED" = "UPSTREAM_FAILED"): void {
    if (this.#fault !== undefined) return;
    this.#fault = new BridgeError(code, what);
    this.#closed = true;
    this.#over.abort();
    void this.#process?.stop(0);
  }
}

/** A message, or what stands behind a text that was printed without a newline; `undefined` for anything else. */
function parseLine(line: string): unknown {
  const whole = tryParse(line);
  if (isMessage(whole) || (Array.isArray(whole) && whole.length > 0 && whole.every(isMessage))) return whole;
  // Only answers: a log line may well quote a request, and nobody must act on that.
  const start = line.indexOf('{"');
  const rest = whole === undefined && start > 0 ? tryParse(line.slice(start)) : undefined;
  return isMessage(rest) && !("method" in rest) ? rest : undefined;
}
