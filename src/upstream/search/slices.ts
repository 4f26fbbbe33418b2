/** Work that takes longer is done in slices of this length, so that nothing else of the bridge waits for it. */
const SLICE_MS = 10;

/** Cuts long work into slices: `if (slices.isOver()) await slices.rest();` at each step of it. */
export class Slices {
  #endsAt = performance.now() + SLICE_MS;

  isOver(): boolean {
    return performance.now() >= this.#endsAt;
  }

  /** Lets everything else run that is due, and begins the next slice. */
  async rest(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#endsAt = performance.now() + SLICE_MS;
  }
}
