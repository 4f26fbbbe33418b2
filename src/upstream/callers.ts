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

  /** The client of all uses under way, with a signal that aborts when the last of them is over; else `undefined`. */
  only(): { readonly peer: ClientPeer; readonly signal: AbortSignal } | undefined {
    const callers = [...this.#callers];
    const peer = callers[0]?.peer;
    if (peer === undefined || callers.some((caller) => caller.peer !== peer)) return undefined;
    return { peer, signal: lastOf(callers.map(signalOf)) };
  }
}

function signalOf(caller: Caller): AbortSignal {
  caller.left ??= new AbortController();
  return caller.left.signal;
}

function lastOf(signals: readonly AbortSignal[]): AbortSignal {
  const all = new AbortController();
  let left = signals.length;
  for (const signal of signals) {
    signal.addEventListener(
      "abort",
      () => {
        left -= 1;
        if (left === 0) all.abort();
      },
      { once: true },
    );
  }
  return all.signal;
}
