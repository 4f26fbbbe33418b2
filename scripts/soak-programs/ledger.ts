/** What is known of a memory that all add to: additions that were answered, and those of calls that failed. */
export class Ledger {
  readonly key = "soak-total";
  readonly #totals = new Set<number>();
  #sure = 0;
  #unsure = 0;
  #doubled: number | undefined;

  /** An addition was answered with the new total, which nobody else can have got. */
  surely(total: number): void {
    this.#sure += 1;
    if (this.#totals.has(total)) this.#doubled = total;
    this.#totals.add(total);
  }

  /** A call failed, before its addition or after it. */
  perhaps(): void {
    this.#unsure += 1;
  }

  /** What is wrong with the memory, whose value is `total` in the end. */
  judge(total: number): string[] {
    const doubled =
      this.#doubled === undefined ? [] : [`two additions were both answered with ${this.#doubled}`];
    const isWithin = total >= this.#sure && total <= this.#sure + this.#unsure;
    const lost = isWithin
      ? []
      : [`the memory is ${total} after ${this.#sure} additions and ${this.#unsure} that may have failed`];
    return [...doubled, ...lost];
  }
}
