/** So many are held as they came: in memory a piece of a few bytes takes hundreds. */
const MAX_LOOSE = 1024;

/** Holds what comes in pieces, however small they are, in little more memory than the whole takes. */
export class Pieces<T> {
  readonly #join: (pieces: readonly T[]) => T;
  #pieces: T[] = [];
  /** The last so many are as they came. */
  #loose = 0;

  /** `join` makes one piece of several; of what it made it is asked to make one again. */
  constructor(join: (pieces: readonly T[]) => T) {
    this.#join = join;
  }

  add(piece: T): void {
    this.#pieces.push(piece);
    this.#loose += 1;
    if (this.#loose < MAX_LOOSE) return;
    this.#pieces.push(this.#join(this.#pieces.splice(-MAX_LOOSE)));
    this.#loose = 0;
  }

  /** The whole, which is not held any more; `undefined` where nothing came. */
  take(): T | undefined {
    const pieces = this.#pieces;
    this.clear();
    return pieces.length > 1 ? this.#join(pieces) : pieces[0];
  }

  clear(): void {
    this.#pieces = [];
    this.#loose = 0;
  }
}
