import { AsyncLocalStorage } from "node:async_hooks";
import type { ClientPeer } from "./client-peer.ts";

/** What is done for one use of a server, however often it waits meanwhile. */
const current = new AsyncLocalStorage<Caller | undefined>();

/** One use of a server under way; `peer` is the client it is for, if there is one. */
export interface Caller {
  readonly peer: ClientPeer | undefined;
  /** Aborts when it is over; made for whoever wants to know. */
  left?: AbortController;
}

/** Who uses one server now: what a shared server asks of its client is for them. */
export class Callers {
  readonly #callers = new Set<Caller>();

  get count(): number {
    return this.#callers.size;
  }

  /** Registers a use. */
  enter(peer: ClientPeer | undefined): Caller {
    const caller: Caller = { peer };
    this.#callers.add(caller);
    return caller;
  }

  /** The use is over. */
  leave(caller: Caller): void {
    this.#callers.delete(caller);
    caller.left?.abort();
  }

  /** Whose work the code is that asks, where it is of one of the uses under way. */
  current(): Caller | undefined {
    const caller = currentCaller();
    return caller !== undefined && this.#callers.has(caller) ? caller : undefined;
  }

  /** The client of all uses under way, as the newest of them reaches it; `undefined` where they are for several, or for none. */
  onlyPeer(): ClientPeer | undefined {
    let only: ClientPeer | undefined;
    for (const { peer } of this.#callers) {
      if (peer === undefined || (only !== undefined && peer.client !== only.client)) return undefined;
      only = peer;
    }
    return only;
  }

  /**
   * A signal that aborts when the use is over, or without one the last of those under way now; `release` when nobody
   * listens any more.
   */
  untilOver(caller?: Caller): { readonly signal: AbortSignal; release(): void } {
    const over = new AbortController();
    const signals = (caller === undefined ? [...this.#callers] : [caller]).map(signalOf);
    let left = signals.length;
    const leave = () => {
      left -= 1;
      if (left === 0) over.abort();
    };
    for (const signal of signals) signal.addEventListener("abort", leave, { once: true });
    return {
      signal: over.signal,
      release: () => {
        for (const signal of signals) signal.removeEventListener("abort", leave);
      },
    };
  }
}

/** The use of whatever server that the code works for which asks. */
export function currentCaller(): Caller | undefined {
  return current.getStore();
}

/** Does `work`, and all that it begins, for one use of a server; `undefined`: for none, since it outlives the use. */
export function workFor<T>(caller: Caller | undefined, work: () => T): T {
  return current.run(caller, work);
}

function signalOf(caller: Caller): AbortSignal {
  caller.left ??= new AbortController();
  return caller.left.signal;
}
