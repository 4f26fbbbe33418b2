import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { BridgeError, toBridgeError } from "../core/errors.ts";
import type { Closable } from "../core/lifecycle.ts";
import { Reaper } from "../core/reaper.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import type { ServerSummary } from "../kernel/host-tools.ts";
import { waitFor } from "./abort.ts";
import { Callers } from "./callers.ts";
import type { Catalogue } from "./catalogue/catalogue.ts";
import { parseServerInfo, type ServerInfo } from "./catalogue/stored-server.ts";
import type { ClientPeer } from "./client-peer.ts";
import type { Connection, ConnectOptions, Killable } from "./connect.ts";
import type { Relay } from "./relay.ts";
import { describePause, pauseAfter } from "./restart-policy.ts";
import { StartQueue } from "./start-queue.ts";
import type { ToolList } from "./tool-list.ts";

/** Changes of roots within this time are one. */
const SETTLE_MS = 200;
/** A shorter pause is waited out; during a longer one the last failure is given again at once. */
const PATIENCE_MS = 1000;

/** The time, so that tests need not wait for it. */
export interface Clock {
  /** Milliseconds of a clock that only goes forward. */
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};

/** A server that is up. */
export interface LiveServer {
  readonly definition: ServerDefinition;
  readonly connection: Connection;
  readonly toolList: ToolList;
  readonly relay: Relay;
  /** Tells the pool that the server did its work: its earlier failures are forgotten. */
  succeeded(): void;
}

export interface PoolOptions extends Omit<ConnectOptions, "onStart" | "onSpawn" | "prepare"> {
  readonly clock: Clock;
  /** Learns the tools of every server that lists them. */
  readonly catalogue: Catalogue;
  /** Milliseconds for one page of a list of tools. */
  readonly listMs: number;
  /** Milliseconds after its last use until a server is stopped. */
  readonly idleMs: number;
  /** The clients of all sessions. */
  readonly peers: ReadonlySet<ClientPeer>;
}

/** Who uses a server, and for how long it is worth to wait. */
export interface Use {
  readonly signal: AbortSignal;
  /** The client that requests and messages of the server are for meanwhile. */
  readonly peer?: ClientPeer | undefined;
  /** Nobody wants the server to stay for it. */
  readonly isPassing?: boolean;
}

/** The state of one server: at most one of `live` and `starting` is set. */
interface Slot {
  readonly definition: ServerDefinition;
  live: LiveServer | undefined;
  starting: Promise<LiveServer> | undefined;
  /** The end of a process that was stopped for being idle: two of one server at once may be in each other's way. */
  stopping: Promise<void> | undefined;
  /** Uses under way, those included that wait for the start. */
  readonly callers: Callers;
  /** Since its process was started, or was to be, somebody used it who may use it again. */
  isWanted: boolean;
  idleTimer: ReturnType<typeof setTimeout> | undefined;
  /** Failed starts and crashes in a row. */
  failures: number;
  lastFailure: { readonly error: BridgeError; readonly at: number } | undefined;
}

/**
 * One connection to each server, shared by all who use it. A server is started on its first use, and again on the next
 * use after it has ended: the first time nearly at once, then after pauses that double up to 30 s, and after ten failures
 * in a row not for ten minutes. One that nobody uses is stopped.
 */
export class Pool implements Closable {
  readonly #options: PoolOptions;
  readonly #slots = new Map<string, Slot>();
  readonly #queue = new StartQueue();
  readonly #live = new Set<Connection>();
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
  async use<T>(
    definition: ServerDefinition,
    { signal, peer, isPassing = false }: Use,
    work: (server: LiveServer) => Promise<T>,
  ): Promise<T> {
    if (this.#closing !== undefined) throw new BridgeError("CANCELLED", "the bridge is shutting down");
    // Whoever asks has said so with a reason: here it only must not happen.
    if (definition.availability.kind !== "usable") throw takenAway(definition.name);
    const slot = this.#slotOf(definition);
    if (!isPassing) slot.isWanted = true;
    const leave = slot.callers.enter(peer);
    try {
      return await work(slot.live ?? (await this.#started(slot, signal)));
    } finally {
      leave();
      this.#watchIdle(slot);
    }
  }

  /** Stops a server that had none but passing uses. */
  async stopUnwanted(definition: ServerDefinition): Promise<void> {
    const slot = this.#slots.get(definition.name);
    if (slot !== undefined && !slot.isWanted) await this.#stopIdle(slot);
  }

  /** Tells the servers that run of changed roots; once for all changes that come together. */
  rootsChanged(): void {
    this.#rootsTimer ??= setTimeout(() => {
      this.#rootsTimer = undefined;
      for (const { live } of this.#slots.values()) live?.relay.rootsChanged(live.connection.client);
    }, SETTLE_MS).unref();
  }

  status(definition: ServerDefinition): ServerSummary["status"] {
    const slot = this.#slots.get(definition.name);
    if (slot?.live !== undefined) return "connected";
    return slot?.lastFailure === undefined ? "idle" : "failed";
  }

  /** Closes what is none of these usable servers any more. */
  retain(definitions: readonly ServerDefinition[]): void {
    const wanted = new Map(definitions.map((definition) => [definition.name, definition]));
    for (const [name, slot] of this.#slots) {
      if (!isSameStart(slot.definition, wanted.get(name))) this.#drop(name, slot);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #slotOf(definition: ServerDefinition): Slot {
    const known = this.#slots.get(definition.name);
    if (known !== undefined && isSameStart(known.definition, definition)) return known;
    if (known !== undefined) this.#drop(definition.name, known);
    const slot: Slot = {
      definition,
      live: undefined,
      starting: undefined,
      stopping: undefined,
      callers: new Callers(),
      isWanted: false,
      idleTimer: undefined,
      failures: 0,
      lastFailure: undefined,
    };
    this.#slots.set(definition.name, slot);
    return slot;
  }

  #started(slot: Slot, signal: AbortSignal): Promise<LiveServer> {
    slot.starting ??= this.#pauseAfterFailure(slot)
      .then(() => this.#queue.run(() => this.#start(slot)))
      .finally(() => {
        slot.starting = undefined;
        this.#watchIdle(slot); // whoever wanted it may have given up
      });
    return waitFor(slot.starting, signal, `starting server ${JSON.stringify(slot.definition.name)}`);
  }

  async #start(slot: Slot): Promise<LiveServer> {
    await slot.stopping;
    this.#closed.signal.throwIfAborted();
    const { definition } = slot;
    if (this.#slots.get(definition.name) !== slot) throw takenAway(definition.name);
    const { log, listMs, clock, catalogue, peers } = this.#options;
    const startedAt = clock.now();
    let ended = Promise.resolve();
    try {
      // The SDK's client costs 15 ms to load: only those who use a server pay for it.
      const [{ connectServer }, { createToolList }, { Relay }] = await Promise.all([
        import("./connect.ts"),
        import("./tool-list.ts"),
        import("./relay.ts"),
      ]);
      const relay = new Relay({ server: definition.name, callers: slot.callers, peers, log });
      const connection = await connectServer(
        definition,
        {
          ...this.#options,
          connectMs: definition.startMs ?? this.#options.connectMs,
          onStart: (process) => {
            ended = process.ended;
            this.#track(process);
          },
          prepare: (client) => relay.attach(client),
          onSpawn: (pid) => {
            this.#reaper.watch(pid);
            void ended.then(() => this.#reaper.forget(pid));
          },
        },
        this.#closed.signal,
      );
      this.#live.add(connection);
      const live: LiveServer = {
        definition,
        connection,
        relay,
        toolList: createToolList(connection, {
          name: definition.name,
          log,
          listMs,
          onFetched: (tools) => catalogue.store(definition, infoOf(connection), tools),
        }),
        succeeded: () => {
          slot.failures = 0;
        },
      };
      slot.live = live;
      slot.lastFailure = undefined;
      void connection.ended.then(() => this.#onEnd(slot, live));
      // What is known of its tools may be old, or from another client; who needs them hears of a failure.
      live.toolList.tools().catch(() => undefined);
      // Dropped or closed while it started: nobody else will close it.
      if (this.#slots.get(definition.name) !== slot) await connection.close();
      const ms = Math.round(clock.now() - startedAt);
      log.info("started server", { server: definition.name, pid: connection.pid ?? undefined, ms });
      return live;
    } catch (error) {
      const fault = toBridgeError(error, "UPSTREAM_UNREACHABLE");
      this.#recordFailure(slot, fault);
      throw fault;
    }
  }

  async #pauseAfterFailure({ failures, lastFailure }: Slot): Promise<void> {
    if (lastFailure === undefined) return;
    const left = lastFailure.at + pauseAfter(failures) - this.#options.clock.now();
    if (left <= 0) return;
    if (left <= PATIENCE_MS) return this.#options.clock.sleep(left, this.#closed.signal);
    const { code, message, hint, data } = lastFailure.error;
    const when = describePause(failures, left);
    throw new BackingOff(code, message, {
      hint: hint === undefined ? when : `${hint} ${when}`,
      ...(data === undefined ? {} : { data }),
    });
  }

  #recordFailure(slot: Slot, error: BridgeError): void {
    if (error instanceof BackingOff || this.#closing !== undefined) return;
    slot.failures += 1;
    slot.lastFailure = { error, at: this.#options.clock.now() };
    this.#options.log.warning(error.message, { server: slot.definition.name });
  }

  #onEnd(slot: Slot, live: LiveServer): void {
    this.#live.delete(live.connection);
    if (slot.live !== live) return;
    slot.live = undefined;
    this.#recordFailure(slot, live.connection.endError());
  }

  #watchIdle(slot: Slot): void {
    clearTimeout(slot.idleTimer);
    if (slot.callers.count > 0 || slot.live === undefined) return;
    slot.idleTimer = setTimeout(() => {
      this.#options.log.info("stopping server, which is idle", { server: slot.definition.name });
      void this.#stopIdle(slot);
    }, this.#options.idleMs);
    slot.idleTimer.unref();
  }

  async #stopIdle(slot: Slot): Promise<void> {
    const { live } = slot;
    if (slot.callers.count > 0 || live === undefined) return;
    clearTimeout(slot.idleTimer);
    slot.live = undefined;
    slot.isWanted = false;
    const stopping = live.connection.close().catch(() => undefined); // it is not used again in any case
    slot.stopping = stopping;
    await stopping;
    if (slot.stopping === stopping) slot.stopping = undefined;
  }

  #drop(name: string, slot: Slot): void {
    this.#slots.delete(name);
    clearTimeout(slot.idleTimer);
    const { live } = slot;
    slot.live = undefined;
    void live?.connection.close().catch(() => undefined); // it is not ours any more
  }

  async #closeAll(): Promise<void> {
    this.#closed.abort(new BridgeError("CANCELLED", "the bridge is shutting down"));
    clearTimeout(this.#rootsTimer);
    const slots = [...this.#slots.values()];
    for (const { idleTimer } of slots) clearTimeout(idleTimer);
    const starting = slots.map((slot) => slot.starting?.catch(() => undefined));
    await Promise.all([...[...this.#live].map((connection) => connection.close()), ...starting]);
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

/** The last failure again, because it is too early for another try: not a failure of its own. */
class BackingOff extends BridgeError {}

function infoOf({ client }: Connection): ServerInfo {
  return parseServerInfo({ ...client.getServerVersion(), instructions: client.getInstructions() });
}

function isSameStart(one: ServerDefinition, other: ServerDefinition | undefined): boolean {
  return other !== undefined && isDeepStrictEqual(one.transport, other.transport);
}
