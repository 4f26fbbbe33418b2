/** `doubted`: the last start with descriptors of the client failed, and went well without. */
export type Trust = "trusted" | "doubted" | "lost";

/** A start with descriptors of the client: what became of it is to be said, unless nobody knows. */
export interface HandedStart {
  worked(): Promise<void>;
  /** It failed where one without them went well. Returns whether there are to be no more. */
  failed(): Promise<boolean>;
}

/**
 * Whether containers get descriptors of the engine's client. One failure may be a moment's, in which the machine had too
 * much to do: it takes one more, of a start that began after the first was known, and none between the two that went well.
 */
export class HandingDown {
  readonly #keep: (trust: Trust) => Promise<void>;
  #trust: Trust;
  /** Grows with each change: two failures of the same moment are one. */
  #changes = 0;

  /** `keep` is told of each change, for later bridges; `kept` is what an earlier one was told, in whatever form. */
  constructor(kept: unknown, keep: (trust: Trust) => Promise<void>) {
    this.#trust = kept === "doubted" || kept === "lost" ? kept : "trusted";
    this.#keep = keep;
  }

  /** Begins a start; `undefined`: without descriptors. */
  begin(): HandedStart | undefined {
    if (this.#trust === "lost") return undefined;
    const since = this.#changes;
    return {
      worked: () => this.#change("doubted", "trusted"),
      failed: async () => {
        if (since === this.#changes)
          await this.#change(this.#trust, this.#trust === "doubted" ? "lost" : "doubted");
        return this.#trust === "lost";
      },
    };
  }

  async #change(from: Trust, to: Trust): Promise<void> {
    if (this.#trust !== from) return;
    this.#trust = to;
    this.#changes += 1;
    await this.#keep(to);
  }
}

/** For an engine that cannot do it. */
export function createNoHandingDown(): HandingDown {
  return new HandingDown("lost", async () => undefined);
}
