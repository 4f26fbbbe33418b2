import { isDeepStrictEqual } from "node:util";
import { BridgeError } from "../core/errors.ts";
import type { Closable } from "../core/lifecycle.ts";
import { Reaper } from "../core/reaper.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import type { ServerSummary } from "../kernel/host-tools.ts";
import type { Connection, Killable } from "./connect.ts";
import { type LiveServer, type StartOptions, startServer } from "./live-server.ts";
import { ServerSlot, type SlotOptions, type Use } from "./server-slot.ts";
import { StartQueue } from "./start-queue.ts";

/** Changes of roots within this time are one. */
const SETTLE_MS = 200;

export interface PoolOptions
  extends Omit<StartOptions, "onStart" | "onSpawn" | "onSucceeded">,
    Pick<SlotOptions, "clock" | "idleMs"> {}

/**
 * One connection to each server, shared by all who use it. A server is started on its first use, and again on the next
 * use after it has ended: the first time nearly at once, then after pauses that double up to 30 s, and after ten failures
 * in a row not for ten minutes. One that nobody uses is stopped.
 */
export class Pool implements Closable {
  readonly #options: PoolOptions;
  readonly #slots = new Map<string, ServerSlot>();
  readonly #queue = new StartQueue();
  readonly #connections = new Set<Connection>();
  readonly #processes = new Set<Killable>();
  readonly #closed = new AbortController();
  readonly #reaper = new Reaper();
  readonly #onProcessExit = () => this.#killAll();
  #rootsTimer: ReturnType<typeof setTimeout> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    // They lead groups of their own: neither a closed terminal nor our exit would end them.
    process.once("exit", this.#onProcessExit);
  }

  /**
   * Does `work` with the server, started if need be; it is not stopped for being idle meanwhile. When the use's signal
   * aborts, the wait for the start ends, but not the start.
   */
  async use<T>(definition: ServerDefinition, use: Use, work: (server: LiveServer) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new BridgeError("CANCELLED", "the bridge is shutting down");
    // Whoever asks has said so with a reason: here it only must not happen.
    if (definition.availability.kind !== "usable") throw takenAway(definition.name);
    return this.#slotOf(definition).use(use, work);
  }

  /** Stops a server that had none but passing uses. */
  async stopUnwanted({ name }: ServerDefinition): Promise<void> {
    await this.#slots.get(name)?.stopUnwanted();
  }

  /** Tells the servers that run of changed roots; once for all changes that come together. */
  rootsChanged(): void {
    this.#rootsTimer ??= setTimeout(() => {
      this.#rootsTimer = undefined;
      for (const { live } of this.#slots.values()) live?.relay.rootsChanged(live.connection.client);
    }, SETTLE_MS).unref();
  }

  status({ name }: ServerDefinition): ServerSummary["status"] {
    return this.#slots.get(name)?.status ?? "idle";
  }

  /** Why a server whose status is `failed` is that. */
  fault({ name }: ServerDefinition): BridgeError | undefined {
    return this.#slots.get(name)?.fault;
  }

  /** Closes what is none of these usable servers any more. */
  retain(definitions: readonly ServerDefinition[]): void {
    const wanted = new Map(definitions.map((definition) => [definition.name, definition]));
    for (const [name, slot] of this.#slots) {
      if (isSameStart(slot.definition, wanted.get(name))) continue;
      this.#slots.delete(name);
      slot.drop();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #slotOf(definition: ServerDefinition): ServerSlot {
    const known = this.#slots.get(definition.name);
    if (known !== undefined && isSameStart(known.definition, definition)) {
      known.definition = definition;
      return known;
    }
    known?.drop();
    const slot = new ServerSlot(definition, {
      ...this.#options,
      closed: this.#closed.signal,
      start: (which) => this.#queue.run(() => this.#start(which)),
    });
    this.#slots.set(definition.name, slot);
    return slot;
  }

  async #start(slot: ServerSlot): Promise<LiveServer> {
    this.#closed.signal.throwIfAborted();
    const { definition, callers } = slot;
    if (slot.isDropped) throw takenAway(definition.name);
    const { log, clock } = this.#options;
    const startedAt = clock.now();
    let ended = Promise.resolve();
    const live = await startServer(
      definition,
      callers,
      {
        ...this.#options,
        onStart: (process) => {
          ended = process.ended;
          this.#track(process);
        },
        onSpawn: (pid) => {
          this.#reaper.watch(pid);
          void ended.then(() => this.#reaper.forget(pid));
        },
        onSucceeded: () => slot.forgive(),
      },
      this.#closed.signal,
    );
    const { connection } = live;
    this.#connections.add(connection);
    void connection.ended.then(() => this.#connections.delete(connection));
    const ms = Math.round(clock.now() - startedAt);
    log.info("started server", { server: definition.name, pid: connection.pid ?? undefined, ms });
    return live;
  }

  async #closeAll(): Promise<void> {
    this.#closed.abort(new BridgeError("CANCELLED", "the bridge is shutting down"));
    clearTimeout(this.#rootsTimer);
    const closing = [...this.#connections].map((connection) => connection.close());
    await Promise.all([...closing, ...[...this.#slots.values()].map((slot) => slot.settle())]);
    await Promise.all([...this.#processes].map(({ ended }) => ended)); // servers that died have left children
    process.off("exit", this.#onProcessExit);
    await this.#reaper.close();
  }

  #track(process: Killable): void {
    this.#processes.add(process);
    void process.ended.then(() => this.#processes.delete(process));
  }

  #killAll(): void {
    for (const process of this.#processes) process.kill();
  }
}

function takenAway(name: string): BridgeError {
  return new BridgeError("UPSTREAM_NOT_USABLE", `server ${JSON.stringify(name)} may not be used any more`);
}

function isSameStart(one: ServerDefinition, other: ServerDefinition | undefined): boolean {
  return other !== undefined && isDeepStrictEqual(one.transport, other.transport);
}
