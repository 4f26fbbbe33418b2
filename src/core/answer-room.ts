import { sizeOfJson } from "./json-size.ts";
import { type Place, Room } from "./room.ts";

/** What is no longer is never kept waiting: of one sandbox, 256 such answers can be open. */
export const SMALL_BYTES = 32 * 1024;

/** Of one answer. */
const MAX_COUNTED = 32 * 1024 ** 2;

/** For all answers that no sandbox has taken yet. What one of them takes in memory is several times its size for a moment. */
export const answerRoom = new Room({ totalBytes: 8 * 1024 ** 2 });

/** What is held for one request of a sandbox until its answer was taken. */
export class Claim {
  /** Who takes turns with others. */
  readonly owner: object;
  readonly #room: Room;
  readonly #places: Place[] = [];
  #isOver = false;

  constructor(owner: object, room = answerRoom) {
    this.owner = owner;
    this.#room = room;
  }

  /** Keeps the place in which a message came that answers the request. */
  hold(place: Place): void {
    if (this.#isOver) return;
    place.share();
    this.#keep(place); // it has come, and its sender is not to blame any more
  }

  /** Has an answer counted that did not come in a place of its own: a promise where that has to wait, rejected when `signal` aborts. */
  cover(answer: unknown, signal: AbortSignal): Promise<void> | undefined {
    if (this.#places.length > 0 || this.#isOver) return undefined;
    const bytes = sizeOfJson(answer, MAX_COUNTED);
    if (bytes <= SMALL_BYTES) return undefined;
    const place = this.#room.open(this.owner);
    this.#keep(place);
    return place.grow(bytes, signal);
  }

  /** The answer was taken, or nobody wants it. */
  release(): void {
    this.#isOver = true;
    for (const place of this.#places.splice(0)) place.leave();
  }

  /** A sandbox that takes nothing holds up the others for two looks alone. */
  #keep(place: Place): void {
    place.onStalled(() => undefined);
    this.#places.push(place);
  }
}
