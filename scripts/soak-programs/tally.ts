/** What came of all calls. */
export class Tally {
  readonly done: Record<string, number> = {};
  readonly kills: Record<string, number> = {};
  /** Calls that failed, or lost their variables, and said why. */
  said = 0;
  /** Results that are not what they should be, and failures without a reason: none may be. */
  readonly wrong: string[] = [];

  count(kind: string): void {
    this.done[kind] = (this.done[kind] ?? 0) + 1;
  }

  killed(what: string): void {
    this.kills[what] = (this.kills[what] ?? 0) + 1;
  }

  fault(kind: string, text: string): void {
    if (this.wrong.length < 20) this.wrong.push(`${kind}: ${text.slice(0, 400)}`);
  }
}
