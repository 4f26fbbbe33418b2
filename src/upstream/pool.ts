import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { BridgeError, toBridgeError } from "../core/errors.ts";
import type { Closable } from "../core/lifecycle.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import type { ServerSummary } from "../kernel/host-tools.ts";
import { waitFor } from "./abort.ts";
import type { Catalogue } from "./catalogue/catalogue.ts";
import { parseServerInfo, type ServerInfo } from "./catalogue/stored-server.ts";
import type { Connection, ConnectOptions, Killable } from "./connect.ts";
import type { ToolList } from "./tool-list.ts";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
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
  /** Tells the pool that the server did its work: its earlier failures are forgotten. */
  succeeded(): void;
}

export interface PoolOptions extends Omit<ConnectOptions, "onStart"> {
  readonly clock: Clock;
  /** Learns the tools of every server that lists them. */
  readonly catalogue: Catalogue;
  /** Milliseconds for one page of a list of tools. */
  readonly listMs: number;
}

/** The state of one server: at most one of `live` and `starting` is set. */
interface Slot {
  readonly definition: ServerDefinition;
  live: LiveServer | undefined;
  starting: Promise<LiveServer> | undefined;
  /** Failed starts and crashes in a row. */
  failures: number;
  lastFailure: { readonly error: BridgeError; readonly at: number } | undefined;
}

/**
 * One connection to each server, shared by all who use it. A server is started on its first use, and again on the next
 * use after it has ended: the first time nearly at once, then after pauses that double up to 30 s.
 */
export class Pool implements Closable {
  readonly #options: PoolOptions;
  readonly #slots = new Map<string, Slot>();
  readonly #live = new Set<Connection>();
  readonly #processes = new Set<Killable>();
  readonly #closed = new AbortController();
  readonly #onProcessExit = () => this.#killAll();
  #closing: Promise<void> | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    // They lead groups of their own: neither a closed terminal nor our exit would end them.
    process.once("exit", this.#onProcessExit);
  }

  /** The server, started if need be. Stops waiting, but not the start, when `signal` aborts. */
  async acquire(definition: ServerDefinition, signal: AbortSignal): Promise<LiveServer> {
    if (this.#closing !== undefined) throw new BridgeError("CANCELLED", "the bridge is shutting down");
    const slot = this.#slotOf(definition);
    if (slot.live !== undefined) return slot.live;
    slot.starting ??= this.#start(slot).finally(() => {
      slot.starting = undefined;
    });
    return waitFor(slot.starting, signal, `starting server ${JSON.stringify(definition.name)}`);
  }

  status(definition: ServerDefinition): ServerSummary["status"] {
    const slot = this.#slots.get(definition.name);
    if (slot?.live !== undefined) return "connected";
    return slot?.lastFailure === undefined ? "idle" : "failed";
  }

  /** Closes what is no longer defined, or defined otherwise. */
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
      failures: 0,
      lastFailure: undefined,
    };
    this.#slots.set(definition.name, slot);
    return slot;
  }

  async #start(slot: Slot): Promise<LiveServer> {
    await this.#pauseAfterFailure(slot);
    const { definition } = slot;
    const { log, listMs, clock, catalogue } = this.#options;
    const startedAt = clock.now();
    try {
      // The SDK's client costs 15 ms to load: only those who use a server pay for it.
      const [{ connectServer }, { createToolList }] = await Promise.all([
        import("./connect.ts"),
        import("./tool-list.ts"),
      ]);
      const connection = await connectServer(
        definition,
        { ...this.#options, onStart: (process) => this.#track(process) },
        this.#closed.signal,
      );
      this.#live.add(connection);
      const live: LiveServer = {
        definition,
        connection,
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
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
    const left = lastFailure.at + pause - this.#options.clock.now();
    if (left <= 0) return;
    if (left <= PATIENCE_MS) return this.#options.clock.sleep(left, this.#closed.signal);
    const { code, message, hint, data } = lastFailure.error;
    const when = `It failed ${failures} times in a row and is started again at the earliest in ${Math.ceil(left / 1000)} s.`;
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

  #drop(name: string, slot: Slot): void {
    this.#slots.delete(name);
    const { live } = slot;
    slot.live = undefined;
    void live?.connection.close().catch(() => undefined); // it is not ours any more
  }

  async #closeAll(): Promise<void> {
    this.#closed.abort(new BridgeError("CANCELLED", "the bridge is shutting down"));
    const starting = [...this.#slots.values()].map((slot) => slot.starting?.catch(() => undefined));
    await Promise.all([...[...this.#live].map((connection) => connection.close()), ...starting]);
    process.off("exit", this.#onProcessExit);
  }

  #track(process: Killable): void {
    this.#processes.add(process);
    void process.ended.then(() => this.#processes.delete(process));
  }

  #killAll(): void {
    for (const process of this.#processes) process.kill();
  }
}

/** The last failure again, because it is too early for another try: not a failure of its own. */
class BackingOff extends BridgeError {}

function infoOf({ client }: Connection): ServerInfo {
  return parseServerInfo({ ...client.getServerVersion(), instructions: client.getInstructions() });
}

function isSameStart(one: ServerDefinition, other: ServerDefinition | undefined): boolean {
  return other !== undefined && isDeepStrictEqual(one.transport, other.transport);
}
