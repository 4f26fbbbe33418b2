import type { ClientPeer } from "./client-peer.ts";

/** One use of a server under way; `peer` is the client it is for, if there is one. */
interface Caller {
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

  /** Registers a use; returns how to say that it is over. */
  enter(peer: ClientPeer | undefined): () => void {
    const caller: Caller = { peer };
    this.#callers.add(caller);
    return () => {
      this.#callers.delete(caller);
      caller.left?.abort();
    };
  }

  /** The client of all uses under way; `undefined` where they are for several, or for none. */
  onlyPeer(): ClientPeer | undefined {
    let only: ClientPeer | undefined;
    for (const { peer } of this.#callers) {
      if (peer === undefined || (only !== undefined && peer !== only)) return undefined;
      only = peer;
    }
    return only;
  }

  /** A signal that aborts when the last of the uses under way now is over; `release` when nobody listens any more. */
  untilOver(): { readonly signal: AbortSignal; release(): void } {
    const over = new AbortController();
    const signals = [...this.#callers].map(signalOf);
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

function signalOf(caller: Caller): AbortSignal {
  caller.left ??= new AbortController();
  return caller.left.signal;
}
