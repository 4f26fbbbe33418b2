import { randomInt } from "node:crypto";
import { type BridgeEvents, createSessionRef, type SessionRef } from "../core/bridge-events.ts";
import { BridgeError } from "../core/errors.ts";
import { IdleWatch } from "../core/idle-watch.ts";
import { untilAborted } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import { type RunContext, withinRun } from "../core/run-context.ts";
import type { Tracing } from "../core/tracing.ts";
import type { HostMemory } from "../kernel/host-memory.ts";
import type { HostSessions } from "../kernel/host-sessions.ts";
import type { HostTools } from "../kernel/host-tools.ts";
import type { Kernel, KernelEvents } from "../kernel/kernel.ts";
import type { WorkspaceFiles } from "../kernel/workspace-files.ts";
import type { CallLimit } from "./call-group.ts";
import { RESET_DEADLINE_MS, runCell } from "./execution.ts";
import { feedInput } from "./feed-input.ts";
import type { KernelSource } from "./kernel-source.ts";
import { interrupted, notConnected, notRun } from "./not-run.ts";
import { cutNote, deathNote, endedNote, idleNote } from "./notes.ts";
import type { ExecuteRequest, Outcome } from "./outcome.ts";
import { CapturedOutput } from "./output.ts";
import { toCell } from "./program-cell.ts";
import { JobQueue } from "./queue.ts";
import { type ExecutionReporter, type SandboxReporter, SessionReporter } from "./reporter.ts";
import { RpcDesk, type RpcDeskOptions, type UnderWay } from "./rpc-desk.ts";
import { RunningCell } from "./running-cell.ts";
import type { Session } from "./session.ts";
import { TimeLimit } from "./time-limit.ts";

const QUEUE_LIMITS = { jobs: 64, bytes: 64 * 1024 * 1024 };
const MAX_ID_STEP = 2 ** 20;
const MEASURE_DEADLINE_MS = 1000;
const SYNC_DEADLINE_MS = 3000;

export interface SessionOptions {
  readonly kernels: KernelSource;
  readonly tools: HostTools;
  readonly memory: HostMemory;
  /** The sessions of its caller. */
  readonly sessions: HostSessions;
  readonly parseRpc: RpcDeskOptions["parse"];
  readonly log: Log;
  /** Which session it is, and whose; absent: a new one of the local caller. */
  readonly ref?: SessionRef;
  /** Who is told what happens; absent: nobody. */
  readonly events?: BridgeEvents;
  /** Where executions are traced; absent: nowhere. */
  readonly tracing?: Tracing | undefined;
  /** Characters kept of each stream of an execution. */
  readonly maxOutputChars: number;
  /** The sandbox stops after this long without an execution. */
  readonly idleTimeoutMs: number;
  /** Every execution gets a fresh Python: nothing is carried over, and nothing is said of it. */
  readonly stateless: boolean;
  /** The memory limit of the sandbox, for messages. */
  readonly memoryBytes: number;
  /** What an upstream call that is made between executions may take. */
  readonly backgroundBudgetMs: number;
}

/** Creates a session; its sandbox starts with the first execution. The caller closes it. */
export function createSession(options: SessionOptions): Session {
  return new PythonSession(options);
}

class PythonSession implements Session {
  readonly ref: SessionRef;
  readonly #options: SessionOptions;
  readonly #queue = new JobQueue(QUEUE_LIMITS);
  /** Of the executions that run or wait. */
  readonly #stops = new Set<AbortController>();
  #isClosed = false;
  readonly #desk: RpcDesk;
  readonly #reporter: SessionReporter;
  #kernel: Kernel | undefined;
  #cell: RunningCell | undefined;
  #late: CapturedOutput;
  #notes: string[] = [];
  /** What was said of the sandbox: once is enough. */
  readonly #said = new Set<string>();
  #hasState = false;
  /** Settles when the sandboxes that are not used any more are gone. */
  #discarded: Promise<unknown> = Promise.resolve();
  #lastId = 0;
  /** Of the execution whose turn it is. */
  #interruptor: AbortController | undefined;
  readonly #idle: IdleWatch;
  #closing: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.ref = options.ref ?? createSessionRef();
    this.#reporter = new SessionReporter(this.ref, options);
    this.#desk = new RpcDesk({
      host: options,
      parse: (frame) => {
        const request = options.parseRpc(frame);
        if ("invalid" in request) this.#reporter.emit({ kind: "frame-rejected", reason: request.invalid });
        return request;
      },
      limit: () => this.#callLimit(),
    });
    this.#late = new CapturedOutput(options.maxOutputChars);
    this.#idle = new IdleWatch({
      idleMs: options.idleTimeoutMs,
      isIdle: () => this.#kernel !== undefined && this.#interruptor === undefined,
      onIdle: () => void this.#stopIdle(),
    });
    this.#reporter.emit({ kind: "session-opened" });
  }

  async execute(request: ExecuteRequest, signal: AbortSignal): Promise<Outcome> {
    if (this.#isClosed) throw new BridgeError("SESSION_CLOSED", "the session was closed");
    // By hand: `AbortSignal.any` costs several times as much.
    const stop = new AbortController();
    const forward = () => stop.abort(signal.reason);
    if (signal.aborted) forward();
    signal.addEventListener("abort", forward, { once: true });
    this.#stops.add(stop);
    try {
      return await this.#reporter.execution(request.code, (report) =>
        this.#queue.run(() => this.#take(request, report, stop), request.code.length, stop.signal),
      );
    } finally {
      this.#stops.delete(stop);
      signal.removeEventListener("abort", forward);
    }
  }

  async measure(): Promise<number | undefined> {
    return this.#kernel?.measure(MEASURE_DEADLINE_MS);
  }

  async filesBefore(signal: AbortSignal): Promise<WorkspaceFiles> {
    return (this.#kernel ?? (await this.#startKernel(signal))).files;
  }

  async filesAfter(): Promise<WorkspaceFiles | undefined> {
    await this.reset();
    return this.#kernel?.files;
  }

  get hasSandbox(): boolean {
    return this.#kernel !== undefined;
  }

  interrupt(): boolean {
    this.#interruptor?.abort(interrupted());
    return this.#interruptor !== undefined;
  }

  async reset(): Promise<void> {
    try {
      await this.#kernel?.reset(RESET_DEADLINE_MS);
    } catch {
      this.#discard(); // the supervisor does not answer: the container goes
    }
  }

  close(reason = "ended"): Promise<void> {
    this.#closing ??= this.#stop().finally(() => this.#reporter.emit({ kind: "session-closed", reason }));
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #stop(): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#stops) stop.abort();
    this.#idle.stop();
    // Also where a process died in the last execution: what it wrote is still there.
    if (this.#cell === undefined) await this.#keepFiles();
    await this.#kernel?.close();
    await this.#discarded;
    await this.#options.memory.releaseAll();
  }

  /** It is the request's turn. */
  async #take(
    request: ExecuteRequest,
    report: ExecutionReporter,
    interruptor: AbortController,
  ): Promise<Outcome> {
    const { signal } = interruptor;
    this.#interruptor = interruptor; // also while it waits: nothing ends the sandbox meanwhile
    try {
      if (request.ready !== undefined) await request.ready(signal);
      if (signal.aborted) throw notRun(signal);
      report.started();
      request.onStart?.();
      const outcome = await this.#run(request, report, signal);
      if (this.#options.stateless && !outcome.stateLost) await this.#startAfresh();
      return outcome;
    } finally {
      this.#interruptor = undefined;
      this.#idle.touch();
    }
  }

  async #run(request: ExecuteRequest, report: ExecutionReporter, signal: AbortSignal): Promise<Outcome> {
    const { kernel, servers, projects } = await this.#prepare(request, signal);
    const { maxOutputChars, memoryBytes } = this.#options;
    const cell = new RunningCell(request, report, maxOutputChars);
    const over = request.script === undefined ? undefined : new AbortController();
    const late = this.#late;
    this.#late = new CapturedOutput(maxOutputChars);
    this.#cell = cell;
    this.#hasState = true;
    try {
      const frame = toCell(request, { id: this.#newId(), servers, projects });
      const startedAt = performance.now();
      this.#options.tools.beginRun();
      let waits: readonly UnderWay[] = [];
      const onCut = () => {
        waits = this.#desk.underWay();
        cell.live.release();
        this.#desk.abandon("the execution was stopped");
      };
      const { timeoutMs } = request;
      const running = runCell(kernel, frame, { time: cell.time, signal, onCut });
      if (over !== undefined) void feedInput(kernel, request.script?.stdin, over.signal);
      const { end, cut } = await running;
      // It may have ended before it was ours, and does not say so twice.
      if (end.kind === "ended" && this.#kernel === kernel) this.#kernel = undefined;
      const now = performance.now();
      const told = waits.map(({ label, startedAt: since }) => ({ label, ms: now - since }));
      const cutReason = cut === undefined ? undefined : cutNote(cut, timeoutMs, end.kind !== "done", told);
      const notes = this.#notes.splice(0);
      const durationMs = now - startedAt;
      return cell.conclude({ end, cut, cutReason, notes, late, durationMs, memoryBytes });
    } catch (error) {
      this.#kernel = undefined; // a sandbox that could not be stopped is not used again
      throw error;
    } finally {
      over?.abort();
      this.#cell = undefined;
    }
  }

  /** Gets all ready that a cell needs. What was begun for it has ended before it rejects, but reading files. */
  async #prepare(request: ExecuteRequest, signal: AbortSignal) {
    const { tools, memory } = this.#options;
    try {
      // A folder that cannot be read keeps no code from running: what asks for its files is told.
      const state = memory.projectState().catch(() => "");
      const kernel =
        this.#kernel !== undefined && request.servers.length === 0
          ? this.#kernel
          : await this.#connect(request.servers, signal);
      const read = await untilAborted(Promise.all([tools.servers(), state]), signal);
      if (read === undefined) throw notRun(signal);
      return { kernel, servers: read[0], projects: read[1] };
    } catch (error) {
      throw signal.aborted ? notRun(signal, error) : error;
    }
  }

  /** Starts the sandbox, where there is none, and the servers, side by side. */
  async #connect(wanted: readonly string[], signal: AbortSignal): Promise<Kernel> {
    const { tools } = this.#options;
    const [kernel, , ...connected] = await Promise.allSettled([
      this.#kernel ?? this.#startKernel(signal),
      untilAborted(tools.servers(), signal), // reads the configuration, the first time
      ...wanted.map((server) => tools.connect(server, signal)),
    ]);
    const faults = connected.flatMap((step, at) =>
      step.status === "rejected" ? [[wanted[at] ?? "", step.reason] as const] : [],
    );
    if (faults.length > 0) throw notConnected(faults);
    if (kernel.status === "rejected") throw kernel.reason;
    return kernel.value;
  }

  /** Replaces the Python process, so that the next execution finds nothing of this one. */
  async #startAfresh(): Promise<void> {
    this.#hasState = false;
    await this.reset();
  }

  async #startKernel(signal: AbortSignal): Promise<Kernel> {
    const sandbox = this.#reporter.sandbox();
    const started = await this.#options.kernels.start(this.#events(sandbox), signal);
    sandbox.started(started.fromPool === true);
    this.#kernel = started.kernel;
    for (const note of started.notes) {
      if (!this.#said.has(note)) this.#notes.push(note);
      this.#said.add(note);
    }
    if (this.#isClosed) await this.#kernel.close();
    return started.kernel;
  }

  #events(sandbox: SandboxReporter): KernelEvents {
    return {
      onStream: (name, text, skipped, bytes) => {
        (this.#cell?.output ?? this.#late).append(name, text, skipped);
        this.#cell?.report.output(name, text);
        return this.#cell?.live.show(name, text, skipped, bytes);
      },
      onDisplay: (frame) => this.#cell?.images.add(frame),
      onSpilled: (frame) => this.#cell?.output.noteFile(frame),
      onRpc: (frame, cost, place) => {
        const kernel = this.#kernel;
        if (kernel === undefined) return;
        const reply = kernel.reply.bind(kernel);
        void withinRun(this.#context, () => this.#desk.serve(frame, cost, reply, place));
      },
      onRejected: (reason, say) => {
        this.#reporter.emit({ kind: "frame-rejected", reason });
        withinRun(this.#context, say);
      },
      onDied: (frame, isDuringExecution) => {
        this.#forget("Python was restarted");
        // A reset between executions is what a session without state has after each: nothing went wrong.
        if (isDuringExecution || frame.reason !== "reset")
          this.#reporter.emit({ kind: "kernel-died", cause: frame.reason });
        if (!isDuringExecution && this.#hasState)
          this.#notes.push(deathNote(frame, this.#options.memoryBytes));
        this.#hasState = this.#cell !== undefined && !isDuringExecution;
      },
      onEnded: (reason, cause) => {
        this.#forget("the sandbox ended");
        if (cause !== "stopped") this.#reporter.emit({ kind: "kernel-died", cause });
        sandbox.stopped();
        if (this.#cell === undefined && this.#hasState) this.#notes.push(endedNote(reason));
        this.#discard();
      },
    };
  }

  /** Nobody is there any more who could use an answer, or give back what is held. */
  #forget(reason: string): void {
    this.#desk.forget(reason);
    const { memory, log } = this.#options;
    memory
      .releaseAll()
      .catch((error: unknown) => log.error("could not release what was held", { error: String(error) }));
  }

  /** What requests of Python are made for. */
  get #context(): RunContext {
    return this.#cell?.report.context ?? this.#reporter.context;
  }

  /** Growing, as the protocol asks, and not to be guessed: code must not end an execution that has yet to come. */
  #newId(): number {
    this.#lastId += randomInt(1, MAX_ID_STEP);
    return this.#lastId;
  }

  /** What is left of the running execution's time; a background task gets the default instead. */
  #callLimit(): CallLimit {
    return this.#cell?.callLimit ?? new TimeLimit(this.#options.backgroundBudgetMs);
  }

  /** Has the files of `/projects` kept that nobody has been told about yet. */
  async #keepFiles(): Promise<void> {
    if ((await this.#kernel?.sync(SYNC_DEADLINE_MS)) !== false) return;
    this.#options.log.warning(
      "files of /projects that were written last may not have been kept: the sandbox took too long",
      {
        waited_ms: SYNC_DEADLINE_MS,
      },
    );
  }

  async #stopIdle(): Promise<void> {
    const kernel = this.#kernel;
    const { usedAt } = this.#idle;
    await this.#keepFiles();
    // An execution may have come meanwhile.
    if (this.#kernel !== kernel || this.#interruptor !== undefined || this.#idle.usedAt !== usedAt) return;
    if (this.#hasState) this.#notes.push(idleNote(this.#options.idleTimeoutMs));
    this.#discard();
  }

  /** Removes the sandbox, also one that ended: an engine whose monitor was killed does not do it. `close` waits for it. */
  #discard(): void {
    const kernel = this.#kernel;
    this.#hasState = false;
    this.#kernel = undefined;
    if (kernel === undefined) return;
    const { log } = this.#options;
    const closing = kernel
      .close()
      .catch((error: unknown) => log.error("could not stop a sandbox", { error: String(error) }));
    this.#discarded = Promise.all([this.#discarded, closing]);
  }
}
