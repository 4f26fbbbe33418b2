import type { Sandbox, SandboxExit } from "../container/engine.ts";
import { BridgeError } from "../core/errors.ts";
import { type Closable, untilAborted, withDeadline } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import type { Place } from "../core/room.ts";
import { outsideRuns } from "../core/run-context.ts";
import { type Answer, Asks } from "./asks.ts";
import { readFrames } from "./channel.ts";
import type { ServerName } from "./host-tools.ts";
import { Outbox } from "./outbox.ts";
import {
  type DiedFrame,
  type DisplayFrame,
  type DoneFrame,
  type ExecuteFrame,
  type IncomingLine,
  isTooLong,
  MAX_FRAME_BYTES,
  type OutgoingLine,
  PROTOCOL,
  type RpcFrame,
  renderLine,
  type SandboxSettings,
  type SpilledFrame,
  type SupervisorFrame,
} from "./protocol.ts";
import { describeExit, startFailure } from "./sandbox-exit.ts";
import { BUNDLE_HASH, renderPayload } from "./source.ts";
import { StreamTexts } from "./stream-text.ts";
import { WorkspaceFiles } from "./workspace-files.ts";

/** How an execution ended on the wire: the kernel's word, or the news that it is gone. */
export type ExecutionEnd =
  | { readonly kind: "done"; readonly frame: DoneFrame }
  | { readonly kind: "died"; readonly frame: DiedFrame }
  | { readonly kind: "ended"; readonly reason: string };

/** What a kernel reports by itself. None may throw. */
export interface KernelEvents {
  /**
   * `skipped` characters that came before the text were not sent. `bytes` are what was written where the text is not just
   * that. A promise holds back the sandbox until it settles.
   */
  onStream(
    name: "stdout" | "stderr",
    text: string,
    skipped: number,
    bytes?: Uint8Array,
  ): void | Promise<void>;
  /** The code showed an image; it may also be a forged one. */
  onDisplay(frame: DisplayFrame): void;
  /** The whole of a stream of the running execution is in a file of the sandbox. */
  onSpilled(frame: SpilledFrame): void;
  /** `cost` is about what the frame takes in memory, in bytes; `place` is where it is counted, where it is not small. */
  onRpc(frame: RpcFrame, cost: number, place: Place | undefined): void;
  /** The Python process is gone and its state with it; the sandbox has a fresh one, in which an execution goes on. */
  onDied(frame: DiedFrame, isDuringExecution: boolean): void;
  /** What the sandbox sent was no frame, and was dropped; `say` writes that to the log, as long as it is worth it. */
  onRejected(reason: string, say: () => void): void;
  /** The sandbox is gone for good. Called once. `cause`: we stopped it, it broke the protocol, or it ended by itself. */
  onEnded(reason: string, cause: "stopped" | "protocol" | "ended"): void;
}

export interface KernelOptions {
  readonly sandbox: Sandbox;
  readonly settings: SandboxSettings;
  readonly events: KernelEvents;
  readonly log: Log;
  readonly helloDeadlineMs: number;
  /** How often a sandbox is looked at that does not take an answer: see `Outbox`. 20 s by default. */
  readonly answerLookMs?: number;
  readonly signal: AbortSignal;
}

/** What to run; all servers are named each time, and the state of `/projects` too. */
export interface Cell extends Omit<ExecuteFrame, "type" | "servers" | "projects"> {
  readonly servers: readonly ServerName[];
  readonly projects: string;
}

/** One running sandbox that speaks the frame protocol. Closing it closes the sandbox. */
export interface Kernel extends Closable {
  /** The Python version inside, such as `3.14.0`. */
  readonly python: string;
  readonly files: WorkspaceFiles;
  /** Runs one cell; only one at a time. Never rejects. */
  execute(cell: Cell): Promise<ExecutionEnd>;
  /** Interrupts the execution `id`; one that has ended is not harmed. */
  interrupt(id: number): void;
  /** Replaces the Python process by a fresh one; resolves when that is ready, rejects after `deadlineMs`. */
  reset(deadlineMs: number): Promise<void>;
  /** Bytes of memory that the sandbox holds; `undefined` where it does not say so before `deadlineMs`. */
  measure(deadlineMs: number): Promise<number | undefined>;
  /**
   * Has the files of `/projects` kept that were written since the last cell; none may run. False where that was not done before
   * `deadlineMs`; never rejects. A sandbox that is gone has none.
   */
  sync(deadlineMs: number): Promise<boolean>;
  /** Sends a piece of at most 64 KiB to the standard input, an empty one for its end. False when nobody reads any more. */
  sendInput(piece: Uint8Array): Promise<boolean>;
  /** Asks the Python process for something; no cell may run. Never rejects. */
  ask(method: string, params: Readonly<Record<string, unknown>>, deadlineMs: number): Promise<Answer>;
  /** Answers an rpc. Resolves when the pipe has taken it, also when the sandbox is gone. */
  reply(line: Extract<OutgoingLine, readonly ["k", unknown]>): Promise<void>;
}

/**
 * Sends the Python program into a started sandbox and waits for its greeting. Rejects with `KERNEL_START_FAILED`
 * (with the engine's exit code and words in `data`) when the sandbox ends or stays silent; it is closed then.
 */
export async function startKernel(options: KernelOptions): Promise<Kernel> {
  const kernel = new FrameKernel(options);
  try {
    await kernel.greet();
    return kernel;
  } catch (error) {
    await kernel.close().catch(() => undefined); // the first failure is the one to tell
    throw error;
  }
}

class FrameKernel implements Kernel {
  python = "";
  readonly files = new WorkspaceFiles(this);
  readonly #options: KernelOptions;
  readonly #hello = Promise.withResolvers<Extract<SupervisorFrame, { type: "hello" }>>();
  #execution: { readonly id: number; readonly settle: (end: ExecutionEnd) => void } | undefined;
  readonly #firstReady = Promise.withResolvers<void>();
  #onReady: () => void = this.#firstReady.resolve;
  #onReset: () => void = () => undefined;
  /** What the Python process knows: a thousand servers are not sent with every cell. */
  #servers: readonly ServerName[] | undefined;
  #projects: string | undefined;
  /** One answer is for all who asked meanwhile. */
  #measuring: PromiseWithResolvers<number | undefined> | undefined;
  #syncing: { readonly id: number; readonly settle: () => void } | undefined;
  #syncs = 0;
  readonly #outbox: Outbox;
  /** We read nothing of it, since what it said is not taken. */
  #isHeldBack = false;
  readonly #asks = new Asks();
  readonly #texts: StreamTexts;
  #inputTaken: PromiseWithResolvers<boolean> | undefined;
  #gone: string | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: KernelOptions) {
    this.#options = options;
    this.#texts = new StreamTexts((...output) => options.events.onStream(...output));
    this.#outbox = new Outbox({
      write: (line) => this.#send(line),
      onStuck: () => void this.#giveUp("it did not take an answer for a minute or longer"),
      isHeldBack: () => this.#isHeldBack,
      lookMs: options.answerLookMs,
    });
    this.#hello.promise.catch(() => undefined); // awaited in greet(), or too late to matter
    void outsideRuns(() => this.#read()); // it outlives the execution that started it
  }

  async greet(): Promise<void> {
    const { sandbox, settings, helloDeadlineMs, signal } = this.#options;
    // A failed write means that the sandbox has ended, and #read says so with the reason.
    sandbox.write(renderPayload(settings)).catch(() => undefined);
    const greeting = withDeadline(
      Promise.all([this.#hello.promise, this.#firstReady.promise]).then(([frame]) => frame),
      helloDeadlineMs,
      "starting Python in the sandbox",
      "KERNEL_START_FAILED",
      'Try again. If that fails too, the container engine hangs or the machine has too much to do: "sandpy doctor" tells which.',
    );
    const hello = await untilAborted(greeting, signal);
    if (hello === undefined) throw cancelledStart();
    if (hello.protocol !== PROTOCOL || hello.bundle !== BUNDLE_HASH) {
      throw new BridgeError(
        "KERNEL_START_FAILED",
        `the sandbox answered for another program (protocol ${hello.protocol}, expected ${PROTOCOL})`,
      );
    }
    this.python = hello.python;
  }

  execute(cell: Cell): Promise<ExecutionEnd> {
    if (this.#gone !== undefined) return Promise.resolve({ kind: "ended", reason: this.#gone });
    if (this.#execution !== undefined) throw new BridgeError("INTERNAL", "a kernel runs one cell at a time");
    const { id, code, ...rest } = cell;
    const isNews = this.#servers === undefined || !isSameList(cell.servers, this.#servers);
    const servers = isNews ? cell.servers : null;
    const projects = cell.projects === this.#projects ? null : cell.projects;
    const line = renderLine(["k", { type: "execute", id, code, ...rest, servers, projects }]);
    if (isTooLong(line)) return Promise.resolve({ kind: "done", frame: refusedCell(id) });
    this.#servers = cell.servers;
    this.#projects = cell.projects;
    return new Promise((resolve) => {
      this.#execution = { id, settle: resolve };
      void this.#send(line);
    });
  }

  interrupt(id: number): void {
    void this.#send(renderLine(["s", { type: "interrupt", id }]));
  }

  async reset(deadlineMs: number): Promise<void> {
    // Another process may be on its way already: only what comes after our reset is fresh.
    const ready = new Promise<void>((resolve) => {
      this.#onReset = () => {
        this.#onReady = resolve;
      };
    });
    void this.#send(renderLine(["s", { type: "reset" }]));
    await withDeadline(ready, deadlineMs, "replacing the Python process");
  }

  async measure(deadlineMs: number): Promise<number | undefined> {
    if (this.#gone !== undefined) return undefined;
    if (this.#measuring === undefined) {
      this.#measuring = Promise.withResolvers();
      void this.#send(renderLine(["s", { type: "measure" }]));
    }
    return withDeadline(this.#measuring.promise, deadlineMs, "measuring").catch(() => undefined);
  }

  async sync(deadlineMs: number): Promise<boolean> {
    if (this.#gone !== undefined || this.#syncing !== undefined) return true;
    this.#syncs += 1;
    const id = this.#syncs;
    const synced = new Promise<void>((settle) => {
      this.#syncing = { id, settle };
    });
    void this.#send(renderLine(["k", { type: "sync", id }]));
    const isInTime = await withDeadline(synced, deadlineMs, "keeping the files of /projects").then(
      () => true,
      () => false,
    );
    this.#synced(id);
    return isInTime;
  }

  sendInput(piece: Uint8Array): Promise<boolean> {
    if (this.#gone !== undefined) return Promise.resolve(false);
    this.#inputTaken = Promise.withResolvers();
    void this.#send(renderLine(["s", { type: "stdin", data: Buffer.from(piece).toString("base64") }]));
    return this.#inputTaken.promise;
  }

  async ask(method: string, params: Readonly<Record<string, unknown>>, deadlineMs: number): Promise<Answer> {
    if (this.#gone !== undefined) return { error: this.#gone };
    return this.#asks.ask(method, params, deadlineMs, (line) => void this.#send(line));
  }

  reply(line: Extract<OutgoingLine, readonly ["k", unknown]>): Promise<void> {
    return this.#outbox.send(line);
  }

  close(): Promise<void> {
    this.#closing ??= this.#options.sandbox.close().finally(() => this.#end("it was stopped", undefined));
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #send(line: string): Promise<void> {
    return this.#options.sandbox.write(line).catch(() => undefined); // gone: #read reports it
  }

  async #read(): Promise<void> {
    const { sandbox, events, log } = this.#options;
    const stop = await readFrames(sandbox.stdout, {
      onLine: (line, cost, place) => this.#dispatch(line, cost, place),
      onInvalid: (reason, say) => events.onRejected(reason, say),
      holdBack: (wait) => this.#holdBack(wait),
      log,
    }).catch(() => "ended" as const);
    if (stop === "overflow") {
      events.onRejected("a line longer than the protocol allows", () => undefined); // its end says it
      await this.#giveUp("it sent a line longer than the protocol allows");
    } else {
      const exit = await sandbox.ended;
      this.#end(describeExit(exit), exit);
    }
  }

  /** It is of no use any more. */
  async #giveUp(reason: string): Promise<void> {
    const { log } = this.#options;
    this.#end(reason, undefined, "protocol");
    await this.close().catch((error) => log.error("could not stop a sandbox", { error: String(error) }));
  }

  #holdBack(wait: Promise<void>): Promise<void> {
    this.#isHeldBack = true;
    return wait.finally(() => {
      this.#isHeldBack = false;
    });
  }

  #dispatch([speaker, frame]: IncomingLine, cost: number, place: Place | undefined): void | Promise<void> {
    if (speaker === "k") {
      if (frame.type === "rpc") this.#options.events.onRpc(frame, cost, place);
      else if (frame.type === "display") this.#options.events.onDisplay(frame);
      else if (frame.type === "synced") this.#synced(frame.id);
      else if (frame.type === "answer") this.#asks.settle(frame);
      else if (frame.id === this.#execution?.id) this.#settle({ kind: "done", frame });
      return;
    }
    switch (frame.type) {
      case "hello":
        this.#hello.resolve(frame);
        return;
      case "stream":
        return this.#texts.take(frame);
      case "spilled":
        this.#options.events.onSpilled(frame);
        return;
      case "ready":
        this.#onReady();
        return;
      case "stdin_taken":
        this.#inputTaken?.resolve(frame.open);
        return;
      case "measured":
        this.#measured(frame.memory_bytes ?? undefined);
        return;
      case "died": {
        this.#texts.end();
        // A cell may have been on its way when the process died: it runs in the next one. A reset ends whatever was sent.
        const isDuringExecution =
          this.#execution !== undefined &&
          (frame.execution === this.#execution.id || frame.reason === "reset");
        if (frame.reason === "reset") this.#onReset();
        this.#synced();
        this.#asks.fail("Python was restarted");
        this.#servers = undefined;
        this.#projects = undefined;
        this.#options.events.onDied(frame, isDuringExecution);
        if (isDuringExecution) this.#settle({ kind: "died", frame });
        return;
      }
    }
  }

  #synced(id?: number): void {
    if (id !== undefined && id !== this.#syncing?.id) return;
    this.#syncing?.settle();
    this.#syncing = undefined;
  }

  #settle(end: ExecutionEnd): void {
    this.#texts.end();
    const execution = this.#execution;
    this.#execution = undefined;
    execution?.settle(end);
  }

  #measured(memoryBytes: number | undefined): void {
    this.#measuring?.resolve(memoryBytes);
    this.#measuring = undefined;
  }

  #end(
    reason: string,
    exit: SandboxExit | undefined,
    cause: "stopped" | "protocol" | "ended" = this.#closing === undefined ? "ended" : "stopped",
  ): void {
    if (this.#gone !== undefined) return;
    this.#gone = reason;
    this.#outbox.close();
    this.#measured(undefined);
    this.#synced();
    this.#inputTaken?.resolve(false);
    this.#asks.fail(reason);
    this.#hello.reject(startFailure(reason, exit));
    this.#settle({ kind: "ended", reason });
    this.#options.events.onEnded(reason, cause);
  }
}

function isSameList(some: readonly ServerName[], others: readonly ServerName[]): boolean {
  return (
    some === others ||
    (some.length === others.length &&
      some.every((one, at) => {
        const other = others[at];
        return one.name === other?.name && one.alias === other.alias && one.description === other.description;
      }))
  );
}

function refusedCell(id: number): DoneFrame {
  const evalue = `the code takes more than the ${MAX_FRAME_BYTES} bytes of JSON that can be sent at once`;
  const error = { ename: "SandboxError", evalue, traceback: `SandboxError: ${evalue}` };
  return { type: "done", id, status: "error", result: null, error, exit_code: null };
}

function cancelledStart(): BridgeError {
  return new BridgeError("CANCELLED", "the call was cancelled while the sandbox was starting");
}
