/** A body is several times as large while it is read, which Bun is slow to take for a reason to collect. */
const COLLECT_BYTES = 16 * 1024 * 1024;

/** What bodies may take together while they are read: in all, and those of one caller. */
export interface BodyLimits {
  readonly total: number;
  readonly perCaller: number;
  /** How many large bodies may be open at once, those that wait included: some of each is in memory in any case. */
  readonly open: number;
  readonly openPerCaller: number;
}

interface Reader {
  readonly callerId: string;
  bytes: number;
  /** Goes on reading; `wanted` are the bytes that it waits with. */
  goOn: (() => void) | undefined;
  wanted: number;
}

/** The share of one body. */
export interface BodyShare {
  /** Resolves when there is room for so many bytes more. */
  take(bytes: number): Promise<void>;
  /** Gives all of it back, once. */
  end(): void;
}

/**
 * Counts the bytes of bodies while they are read. Where there is no room, readers wait, and what they do not read stays
 * with its sender. The one that came first goes on in any case, so that there is an end to the waiting; and so does the
 * first of each caller where others left room.
 */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #readers = new Set<Reader>();
  #total = 0;
  #uncollected = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** `undefined` where there are too many already. */
  open(callerId: string): BodyShare | undefined {
    const { open, openPerCaller } = this.#limits;
    const own = [...this.#readers].filter((reader) => reader.callerId === callerId).length;
    if (this.#readers.size >= open || own >= openPerCaller) return undefined;
    const reader: Reader = { callerId, bytes: 0, goOn: undefined, wanted: 0 };
    this.#readers.add(reader);
    return {
      take: (bytes) => this.#take(reader, bytes),
      end: () => this.#end(reader),
    };
  }

  async #take(reader: Reader, bytes: number): Promise<void> {
    if (!this.#hasRoom(reader, bytes)) {
      await new Promise<void>((resolve) => {
        reader.wanted = bytes;
        reader.goOn = resolve;
      });
      return; // it was counted by whoever let it go on
    }
    this.#count(reader, bytes);
  }

  #end(reader: Reader): void {
    if (!this.#readers.delete(reader)) return;
    this.#total -= reader.bytes;
    reader.goOn?.();
    this.#collect(reader.bytes);
    for (const other of this.#readers) {
      if (other.goOn === undefined || !this.#hasRoom(other, other.wanted)) continue;
      this.#count(other, other.wanted);
      other.goOn();
      other.goOn = undefined;
    }
  }

  #hasRoom(reader: Reader, bytes: number): boolean {
    const [oldest] = this.#readers;
    if (reader === oldest) return true;
    if (this.#total + bytes > this.#limits.total) return false;
    const others = [...this.#readers].filter(({ callerId }) => callerId === reader.callerId);
    const own = others.reduce((sum, other) => sum + other.bytes, 0);
    return others[0] === reader || own + bytes <= this.#limits.perCaller;
  }

  #count(reader: Reader, bytes: number): void {
    if (!this.#readers.has(reader)) return;
    reader.bytes += bytes;
    this.#total += bytes;
  }

  #collect(bytes: number): void {
    this.#uncollected += bytes;
    if (this.#uncollected < COLLECT_BYTES) return;
    this.#uncollected = 0;
    Bun.gc(true);
  }
}
