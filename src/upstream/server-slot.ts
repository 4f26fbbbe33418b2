import { BridgeError, toBridgeError } from "../core/errors.ts";
import { IdleWatch } from "../core/idle-watch.ts";
import type { Log } from "../core/log.ts";
import { outsideRuns } from "../core/run-context.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import type { ServerSummary } from "../kernel/host-tools.ts";
import { waitFor } from "./abort.ts";
import { Callers, workFor } from "./callers.ts";
import type { ClientPeer } from "./client-peer.ts";
import type { Clock } from "./clock.ts";
import type { LiveServer } from "./live-server.ts";
import { describePause, pauseAfter } from "./restart-policy.ts";

/** A shorter pause is waited out; during a longer one the last failure is given again at once. */
const PATIENCE_MS = 1000;

/** Who uses a server, and for how long it is worth to wait. */
export interface Use {
  readonly signal: AbortSignal;
  /** The client that requests and messages of the server are for meanwhile. */
  readonly peer?: ClientPeer | undefined;
  /** Nobody wants the server to stay for it. */
  readonly isPassing?: boolean;
}

export interface SlotOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds after its last use until the server is stopped. */
  readonly idleMs: number;
  /** Starts the server, in its turn. */
  readonly start: (slot: ServerSlot) => Promise<LiveServer>;
  /** Aborts when the bridge shuts down. */
  readonly closed: AbortSignal;
}

/** One server from use to use: its process where there is one, its failures in a row, and who uses it now. */
export class ServerSlot {
  readonly callers = new Callers();
  /** As it was given last; what is started or contacted is the same in all of them. */
  definition: ServerDefinition;
  readonly #options: SlotOptions;
  #live: LiveServer | undefined;
  #starting: Promise<LiveServer> | undefined;
  /** The end of a process that was stopped for being idle: two of one server at once may be in each other's way. */
  #stopping: Promise<void> | undefined;
  /** Since its process was started, or was to be, somebody used it who may use it again. */
  #isWanted = false;
  #isDropped = false;
  readonly #idle: IdleWatch;
  #failures = 0;
  #lastFailure: { readonly error: BridgeError; readonly at: number } | undefined;

  constructor(definition: ServerDefinition, options: SlotOptions) {
    this.definition = definition;
    this.#options = options;
    this.#idle = new IdleWatch({
      idleMs: options.idleMs,
      isIdle: () => this.#isIdle,
      onIdle: () => {
        options.log.info("stopping server, which is idle", { server: this.definition.name });
        void this.#stopIdle();
      },
    });
  }

  get live(): LiveServer | undefined {
    return this.#live;
  }

  get isDropped(): boolean {
    return this.#isDropped;
  }

  get status(): ServerSummary["status"] {
    if (this.#live !== undefined) return "connected";
    return this.#lastFailure === undefined ? "idle" : "failed";
  }

  /** Why there is no process, where it failed. */
  get fault(): BridgeError | undefined {
    return this.#live === undefined ? this.#lastFailure?.error : undefined;
  }

  /** Does `work` with the server, started if need be; it is not stopped for being idle meanwhile. */
  async use<T>(
    { signal, peer, isPassing = false }: Use,
    work: (server: LiveServer) => Promise<T>,
  ): Promise<T> {
    if (!isPassing) this.#isWanted = true;
    const caller = this.callers.enter(peer);
    try {
      const live = this.#live ?? (await this.#started(signal));
      return await workFor(caller, () => work(live));
    } finally {
      this.callers.leave(caller);
      this.#watchIdle();
    }
  }

  /** Stops the server if it had none but passing uses. */
  async stopUnwanted(): Promise<void> {
    if (!this.#isWanted) await this.#stopIdle();
  }

  /** The server did its work: earlier failures count no more. */
  forgive(): void {
    this.#failures = 0;
  }

  /** Lets go of the server at once: it is not used any more. */
  drop(): void {
    this.#isDropped = true;
    this.#idle.stop();
    const live = this.#live;
    this.#live = undefined;
    void live?.connection.close().catch(() => undefined); // it is not ours any more
  }

  /** Resolves when no start is under way, nor a stop. The connection is for the pool to close. */
  async settle(): Promise<void> {
    this.#idle.stop();
    await this.#starting?.catch(() => undefined); // who wanted it hears of it
    await this.#stopping;
  }

  #started(signal: AbortSignal): Promise<LiveServer> {
    // It goes on when whoever wanted it first has had enough, and what it says later is not of that run.
    this.#starting ??= outsideRuns(() => workFor(undefined, () => this.#start())).finally(() => {
      this.#starting = undefined;
      this.#watchIdle(); // whoever wanted it may have given up
    });
    return waitFor(this.#starting, signal, `starting server ${JSON.stringify(this.definition.name)}`);
  }

  async #start(): Promise<LiveServer> {
    await this.#pauseAfterFailure();
    await this.#stopping;
    try {
      const live = await this.#options.start(this);
      this.#lastFailure = undefined;
      void live.connection.ended.then(() => this.#onEnd(live));
      // Nobody else would close it.
      if (this.#isDropped || this.#options.closed.aborted) await live.connection.close();
      else this.#live = live;
      return live;
    } catch (error) {
      const fault = toBridgeError(error, "UPSTREAM_UNREACHABLE");
      this.#recordFailure(fault);
      throw fault;
    }
  }

  async #pauseAfterFailure(): Promise<void> {
    if (this.#lastFailure === undefined) return;
    const { clock, closed } = this.#options;
    const left = this.#lastFailure.at + pauseAfter(this.#failures) - clock.now();
    if (left <= 0) return;
    if (left <= PATIENCE_MS) {
      await clock.sleep(left, closed).catch(() => closed.throwIfAborted());
      return;
    }
    const { code, message, hint, data } = this.#lastFailure.error;
    const when = describePause(this.#failures, left);
    throw new BridgeError(code, message, {
      hint: hint === undefined ? when : `${hint} ${when}`,
      ...(data === undefined ? {} : { data }),
    });
  }

  #recordFailure(error: BridgeError): void {
    if (this.#options.closed.aborted || this.#isDropped) return;
    this.#failures += 1;
    this.#lastFailure = { error, at: this.#options.clock.now() };
    this.#options.log.warning(error.message, { server: this.definition.name });
  }

  #onEnd(live: LiveServer): void {
    if (this.#live !== live) return;
    this.#live = undefined;
    this.#isWanted = this.callers.count > 0;
    this.#recordFailure(live.connection.endError());
  }

  #watchIdle(): void {
    if (this.#isIdle) this.#idle.touch();
  }

  get #isIdle(): boolean {
    return this.callers.count === 0 && this.#live !== undefined;
  }

  async #stopIdle(): Promise<void> {
    const live = this.#live;
    if (this.callers.count > 0 || live === undefined) return;
    this.#idle.cancel();
    this.#live = undefined;
    this.#isWanted = false;
    const stopping = live.connection.close().catch(() => undefined); // it is not used again in any case
    this.#stopping = stopping;
    await stopping;
    if (this.#stopping === stopping) this.#stopping = undefined;
  }
}
