/** Something that keeps an engine from working, or from working well: found on the machine, not read out of messages. */
export interface Trouble {
  readonly gravity: "warning" | "problem";
  /** What was found. */
  readonly found: string;
  /** What to do, in a sentence. */
  readonly remedy: string;
  /** What to type for it. */
  readonly command: string | undefined;
}
