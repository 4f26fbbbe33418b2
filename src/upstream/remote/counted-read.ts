import { SMALL_BYTES } from "../../core/answer-room.ts";
import type { Place, Room } from "../../core/room.ts";

/** Who waits for what comes in, until when, and what is counted where. */
export interface Reader {
  readonly room: Room;
  readonly owner: unknown;
  readonly signal: AbortSignal;
}

/** What is read of one message, counted in a place of its own as soon as it is not small. */
export class CountedRead {
  readonly #reader: Reader;
  readonly #stop: () => void;
  #place: Place | undefined;
  #isStalled = false;

  /** `stop` is called where nothing more comes, while others wait for the room. */
  constructor(reader: Reader, stop: () => void) {
    this.#reader = reader;
    this.#stop = stop;
  }

  /** Where it is counted; `undefined` for what is small. */
  get place(): Place | undefined {
    return this.#place;
  }

  get isStalled(): boolean {
    return this.#isStalled;
  }

  /** A promise where that has to wait; it rejects with the reason of the reader's signal. */
  grow(toBytes: number): Promise<void> | undefined {
    if (toBytes <= SMALL_BYTES) return undefined;
    this.#place ??= this.#open();
    return this.#place.grow(toBytes, this.#reader.signal);
  }

  /** Nothing of it is held here any more; the next message begins. */
  leave(): void {
    this.#place?.leave();
    this.#place = undefined;
  }

  #open(): Place {
    const { room, owner } = this.#reader;
    const place = room.open(owner);
    place.onStalled(() => {
      this.#isStalled = true;
      this.#stop();
    });
    return place;
  }
}
