/** How many requests may be open at once; a stream is one until it ends. */
export interface AdmissionLimits {
  readonly total: number;
  readonly perCaller: number;
}

/** Counts the requests that are open, of each caller and in all. */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #open = new Map<string, number>();
  #total = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  get open(): number {
    return this.#total;
  }

  /** Lets one more in and returns how it leaves, or says whose limit is reached. */
  enter(callerId: string): (() => void) | "caller" | "total" {
    const own = this.#open.get(callerId) ?? 0;
    if (own >= this.#limits.perCaller) return "caller";
    if (this.#total >= this.#limits.total) return "total";
    this.#open.set(callerId, own + 1);
    this.#total += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#total -= 1;
      const left = (this.#open.get(callerId) ?? 1) - 1;
      if (left === 0) this.#open.delete(callerId);
      else this.#open.set(callerId, left);
    };
  }
}
