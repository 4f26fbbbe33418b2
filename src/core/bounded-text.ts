/**
 * Keeps the head and the tail of an endless text within `maxChars` UTF-16 units and counts what fell out between
 * them. Memory stays at about twice `maxChars` however much is appended.
 */
export class BoundedText {
  #headMax: number;
  readonly #tailMax: number;
  #head = "";
  #tail = "";
  #dropped = 0;

  constructor(maxChars: number) {
    this.#headMax = Math.ceil(maxChars / 2);
    this.#tailMax = Math.floor(maxChars / 2);
  }

  append(text: string): void {
    const room = this.#headMax - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    if (text.length <= room) return;
    this.#tail += text.slice(Math.max(room, 0));
    // Trimmed lazily: cutting on every append would copy the tail for each small write.
    if (this.#tail.length > 2 * this.#tailMax + 4096) this.#trim();
  }

  /** Counts text that was left out before it came here: what follows is not joined to what there is. */
  skip(units: number): void {
    this.#headMax = this.#head.length;
    this.#dropped += this.#tail.length + units;
    this.#tail = "";
  }

  /** Units left out so far. */
  get dropped(): number {
    this.#trim();
    return this.#dropped;
  }

  get isEmpty(): boolean {
    return this.#head === "" && this.#tail === "";
  }

  /** The text; where some was left out, `marker(count)` stands between head and tail. Never splits a pair in two. */
  toString(marker: (dropped: number) => string = (count) => `\n… ${count} characters left out …\n`): string {
    this.#trim();
    if (this.#dropped === 0) return this.#head + this.#tail;
    return (this.#head.toWellFormed() + marker(this.#dropped) + this.#tail.toWellFormed()).toWellFormed();
  }

  #trim(): void {
    const excess = this.#tail.length - this.#tailMax;
    if (excess <= 0) return;
    this.#dropped += excess;
    this.#tail = this.#tail.slice(excess);
  }
}
