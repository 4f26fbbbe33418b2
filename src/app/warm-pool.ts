import { BridgeError, type ErrorCode, toBridgeError } from "../core/errors.ts";
import { type Closable, untilAborted } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import { outsideRuns } from "../core/run-context.ts";
import type { KernelEvents } from "../kernel/kernel.ts";
import type { KernelSource, StartedKernel } from "../session/kernel-source.ts";

const REFILL_DELAY_MS = 500;

export interface WarmPoolOptions {
  readonly kernels: KernelSource;
  readonly log: Log;
  /** A spare that nobody took for this long is stopped; the next use of the bridge makes another. */
  readonly idleTimeoutMs: number;
  /** How long the next spare waits, so that the call that took the last one has the machine to itself; 500 by default. */
  readonly refillDelayMs?: number;
}

/** How things stand with the pool. */
export interface PoolState {
  readonly spare: "ready" | "starting" | "none";
  /** Why the last start failed; `undefined`: it did not. */
  readonly failure: ErrorCode | undefined;
}

/** A kernel that runs for nobody yet, and the events that its taker will get. */
interface Spare {
  readonly started: Promise<StartedKernel>;
  readonly events: AttachableEvents;
  isReady: boolean;
}

/**
 * Keeps one sandbox ready, so that who needs one finds it. A start that fails is not tried again by itself: the next
 * taker starts its own and hears why that fails.
 */
export class WarmPool implements KernelSource, Closable {
  readonly #options: WarmPoolOptions;
  readonly #closed = new AbortController();
  #spare: Spare | undefined;
  #failure: ErrorCode | undefined;
  #refill: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
  }

  /** Makes sure that a sandbox is ready or on its way. Returns at once; failures are only logged. */
  warm(): void {
    if (this.#closed.signal.aborted || this.#spare !== undefined) return;
    const events = new AttachableEvents();
    // It will be somebody else's, if the run that asks is over when it is taken.
    const started = outsideRuns(() => this.#options.kernels.start(events, this.#closed.signal));
    const spare: Spare = { events, started, isReady: false };
    this.#spare = spare;
    events.onEarlyEnd = () => this.#forget(spare);
    this.#note(started).then(
      () => {
        spare.isReady = true;
      },
      (error: unknown) => {
        this.#forget(spare);
        this.#options.log.debug("could not make a sandbox ready", { error: String(error) });
      },
    );
    this.#startIdleTimer();
  }

  get state(): PoolState {
    const spare = this.#spare === undefined ? "none" : this.#spare.isReady ? "ready" : "starting";
    return { spare, failure: this.#failure };
  }

  async start(events: KernelEvents, signal: AbortSignal): Promise<StartedKernel> {
    clearTimeout(this.#refill);
    try {
      return await this.#take(events, signal);
    } finally {
      this.#refillSoon(); // not before: two starts at once would both take longer
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#stop();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #take(events: KernelEvents, signal: AbortSignal): Promise<StartedKernel> {
    const spare = this.#spare;
    this.#spare = undefined;
    clearTimeout(this.#idle);
    const startAnew = () => this.#note(this.#options.kernels.start(events, signal));
    if (spare === undefined) return startAnew();
    const started = await untilAborted(spare.started, signal);
    if (started === undefined) {
      this.#giveBack(spare);
      throw new BridgeError("CANCELLED", "the call was cancelled while the sandbox was starting");
    }
    // It may have ended since: the taker must not get one that is gone.
    return spare.events.attach(events) ? { ...started, fromPool: true } : startAnew();
  }

  /** Remembers how a start ended; one that was called off says nothing. */
  async #note(start: Promise<StartedKernel>): Promise<StartedKernel> {
    try {
      const started = await start;
      this.#failure = undefined;
      return started;
    } catch (error) {
      const { code } = toBridgeError(error);
      if (code !== "CANCELLED") this.#failure = code;
      throw error;
    }
  }

  async #stop(): Promise<void> {
    this.#closed.abort();
    clearTimeout(this.#refill);
    await this.#discard();
  }

  async #discard(): Promise<void> {
    clearTimeout(this.#idle);
    const spare = this.#spare;
    this.#spare = undefined;
    const started = await spare?.started.catch(() => undefined); // a failed start left nothing behind
    await started?.kernel.close();
  }

  #giveBack(spare: Spare): void {
    if (this.#spare === undefined && !this.#closed.signal.aborted) this.#spare = spare;
    else void spare.started.then(({ kernel }) => kernel.close()).catch(() => undefined); // it is nobody's any more
  }

  #forget(spare: Spare): void {
    if (this.#spare === spare) this.#spare = undefined;
  }

  #refillSoon(): void {
    clearTimeout(this.#refill);
    if (this.#closed.signal.aborted) return;
    this.#refill = setTimeout(() => this.warm(), this.#options.refillDelayMs ?? REFILL_DELAY_MS);
    this.#refill.unref();
  }

  #startIdleTimer(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      this.#discard().catch((error) =>
        this.#options.log.error("could not stop a sandbox", { error: String(error) }),
      );
    }, this.#options.idleTimeoutMs);
    this.#idle.unref();
  }
}

/** Events of a kernel that has no taker yet: user code has not run, so only its end is of interest. */
class AttachableEvents implements KernelEvents {
  onEarlyEnd: () => void = () => undefined;
  #taker: KernelEvents | undefined;
  #ended = false;

  /** From now on `taker` gets the events; false when the kernel has already ended. */
  attach(taker: KernelEvents): boolean {
    this.#taker = taker;
    return !this.#ended;
  }

  onStream(...output: Parameters<KernelEvents["onStream"]>): void | Promise<void> {
    return this.#taker?.onStream(...output);
  }

  onDisplay(...shown: Parameters<KernelEvents["onDisplay"]>): void {
    this.#taker?.onDisplay(...shown);
  }

  onSpilled(...spilled: Parameters<KernelEvents["onSpilled"]>): void {
    this.#taker?.onSpilled(...spilled);
  }

  onRpc(...request: Parameters<KernelEvents["onRpc"]>): void {
    this.#taker?.onRpc(...request);
  }

  onDied(...death: Parameters<KernelEvents["onDied"]>): void {
    this.#taker?.onDied(...death);
  }

  onRejected(...[reason, say]: Parameters<KernelEvents["onRejected"]>): void {
    if (this.#taker === undefined) say();
    else this.#taker.onRejected(reason, say);
  }

  onEnded(...end: Parameters<KernelEvents["onEnded"]>): void {
    this.#ended = true;
    if (this.#taker === undefined) this.onEarlyEnd();
    else this.#taker.onEnded(...end);
  }
}
