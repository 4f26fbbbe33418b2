import { setImmediate as nextTurn } from "node:timers/promises";

/** What was held makes garbage several times its size, which Bun is slow to take for a reason to collect. */
const COLLECT_BYTES = 4 * 1024 ** 2;
const LOOK_MS = 10_000;

export interface RoomOptions {
  readonly totalBytes: number;
  /** Whether one owner may have half of what the others leave, and so never all; the oldest of its messages may be more. */
  readonly isShared?: boolean;
  /** Milliseconds between two looks at whether the place that others wait for has moved. */
  readonly lookMs?: number;
}

/** Where the bytes of one message are counted. */
export interface Place {
  /** What is counted. */
  readonly bytes: number;
  /**
   * Counts the message as one of at least so many bytes, before they are held; a promise where that has to wait. It rejects
   * with the reason of `signal` when that aborts, and nothing more is counted.
   */
  grow(toBytes: number, signal?: AbortSignal): Promise<void> | undefined;
  /** Some of the message has come, or was taken. */
  move(): void;
  /** From now on this is what happens when the message does not move while others wait; by default they go on waiting. */
  onStalled(act: (() => void) | undefined): void;
  /** There is one more that is to call `leave`. */
  share(): void;
  /** When all have left, what was counted is free. */
  leave(): void;
}

/**
 * Bounds the bytes that peers send and others have not taken. Who has to wait reads no further, so that the rest stays
 * with its sender, and goes on in turn: one message of each owner after the other. The next in turn goes on in any case,
 * beyond the bound, but it is alone in that. So neither slow messages nor owners with many can keep others waiting,
 * and there is an end to all waiting but that for a message which itself does not move: it is told when it was seen
 * twice in the same state, so a slow machine is no reason.
 */
export class Room {
  readonly #totalBytes: number;
  readonly #isShared: boolean;
  readonly #lookMs: number;
  /** By owner, oldest first. */
  readonly #places = new Map<unknown, Set<RoomPlace>>();
  /** By owner, the one first whose turn is next. */
  readonly #waiting = new Map<unknown, Waiting[]>();
  #usedBytes = 0;
  /** The one that goes on in any case. */
  #first: RoomPlace | undefined;
  #look: ReturnType<typeof setTimeout> | undefined;
  #uncollectedBytes = 0;

  constructor({ totalBytes, isShared = false, lookMs = LOOK_MS }: RoomOptions) {
    this.#totalBytes = totalBytes;
    this.#isShared = isShared;
    this.#lookMs = lookMs;
  }

  /** What is counted now. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** How many places there are: in all, and those of one owner. */
  count(owner?: unknown): number {
    if (owner !== undefined) return this.#places.get(owner)?.size ?? 0;
    return [...this.#places.values()].reduce((sum, places) => sum + places.size, 0);
  }

  /** A place for one message; `owner` is who it is for, as far as that is known. To be left by whoever opens it. */
  open(owner: unknown): Place {
    let holders = 1;
    const place: RoomPlace = { owner, bytes: 0, hasMoved: true, stalled: undefined };
    const own = this.#places.get(owner);
    if (own === undefined) this.#places.set(owner, new Set([place]));
    else own.add(place);
    return {
      get bytes() {
        return place.bytes;
      },
      grow: (toBytes, signal) => this.#take(place, toBytes - place.bytes, signal),
      move: () => {
        place.hasMoved = true;
      },
      onStalled: (act) => {
        place.stalled = act;
      },
      share: () => {
        holders += 1;
      },
      leave: () => {
        holders -= 1;
        if (holders === 0) this.#leave(place);
      },
    };
  }

  #take(place: RoomPlace, bytes: number, signal?: AbortSignal): Promise<void> | undefined {
    place.hasMoved = true;
    if (bytes <= 0) return undefined;
    if (place === this.#first || (this.#waiting.size === 0 && this.#fits(place, bytes))) {
      this.#count(place, bytes);
      return undefined;
    }
    return this.#wait(place, bytes, signal);
  }

  async #wait(place: RoomPlace, bytes: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { place, bytes, goOn: resolve };
    const give = () => {
      this.#remove(waiting);
      reject(signal?.reason);
      this.#admit(); // others may have waited for their turn alone
    };
    signal?.addEventListener("abort", give, { once: true });
    const queue = this.#waiting.get(place.owner);
    if (queue === undefined) this.#waiting.set(place.owner, [waiting]);
    else queue.push(waiting);
    this.#admit();
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", give);
    }
  }

  #remove(waiting: Waiting): void {
    const { owner } = waiting.place;
    const rest = (this.#waiting.get(owner) ?? []).filter((other) => other !== waiting);
    if (rest.length > 0) this.#waiting.set(owner, rest);
    else this.#waiting.delete(owner);
  }

  #admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { place, bytes } = next;
      if (!this.#fits(place, bytes)) {
        if (this.#first !== undefined) break;
        this.#first = place;
        place.hasMoved = true;
      }
      const { owner } = place;
      this.#remove(next);
      const rest = this.#waiting.get(owner);
      if (rest !== undefined && this.#waiting.delete(owner)) this.#waiting.set(owner, rest); // the others come first
      this.#count(place, bytes);
      next.goOn();
    }
    this.#watch();
  }

  /** Whose turn it is; not one that waits for messages of its own. */
  #next(): Waiting | undefined {
    if (!this.#isShared) return this.#find(() => true);
    const fitting = this.#find(({ place, bytes }) => this.#fits(place, bytes));
    if (fitting !== undefined || this.#first !== undefined) return fitting;
    return this.#find(({ place }) => this.#isOldest(place)); // so that there is an end to the waiting
  }

  #find(isIt: (waiting: Waiting) => boolean): Waiting | undefined {
    for (const queue of this.#waiting.values()) {
      const found = queue.find(isIt);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #isOldest(place: RoomPlace): boolean {
    const [oldest] = this.#places.get(place.owner) ?? [];
    return place === oldest;
  }

  #fits(place: RoomPlace, bytes: number): boolean {
    if (!this.#isShared) return this.#usedBytes + bytes <= this.#totalBytes;
    let ownBytes = 0;
    for (const own of this.#places.get(place.owner) ?? []) ownBytes += own.bytes;
    const first = this.#first; // what is beyond counts for its owner's share, and leaves the others theirs
    const beyondBytes = first === undefined || first.owner === place.owner ? 0 : first.bytes;
    return ownBytes + bytes <= (this.#totalBytes - (this.#usedBytes - beyondBytes - ownBytes)) / 2;
  }

  #count(place: RoomPlace, bytes: number): void {
    place.bytes += bytes;
    this.#usedBytes += bytes;
  }

  #leave(place: RoomPlace): void {
    this.#usedBytes -= place.bytes;
    const own = this.#places.get(place.owner);
    own?.delete(place);
    if (own?.size === 0) this.#places.delete(place.owner);
    if (this.#first === place) this.#first = undefined;
    this.#collect(place.bytes);
    this.#admit();
  }

  /** While others wait, the first is to move. */
  #watch(): void {
    if (this.#waiting.size === 0) {
      clearTimeout(this.#look);
      this.#look = undefined;
      return;
    }
    this.#look ??= setTimeout(() => void this.#check(), this.#lookMs);
    this.#look.unref();
  }

  async #check(): Promise<void> {
    await nextTurn(); // where the processor was busy, what has come meanwhile is read now
    this.#look = undefined;
    const first = this.#first;
    if (first?.stalled !== undefined && !first.hasMoved) {
      this.#first = undefined; // what it holds stays counted
      first.stalled();
      this.#admit();
    } else {
      if (first !== undefined) first.hasMoved = false;
      this.#watch();
    }
  }

  #collect(bytes: number): void {
    this.#uncollectedBytes += bytes;
    if (this.#uncollectedBytes < COLLECT_BYTES) return;
    this.#uncollectedBytes = 0;
    Bun.gc(true);
  }
}

interface RoomPlace {
  readonly owner: unknown;
  bytes: number;
  hasMoved: boolean;
  stalled: (() => void) | undefined;
}

interface Waiting {
  readonly place: RoomPlace;
  readonly bytes: number;
  readonly goOn: () => void;
}
