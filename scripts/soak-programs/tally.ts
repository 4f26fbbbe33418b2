import { findUnclear, kindOf } from "./reasons.ts";

const MAX_FAULTS = 20;
const MAX_KINDS = 60;

/** What came of all calls. */
export class Tally {
  readonly done: Record<string, number> = {};
  readonly kills: Record<string, number> = {};
  /** Calls that failed, or lost their variables, and said why: how many of each kind. */
  readonly reasons: Record<string, number> = {};
  /** Results that are not what they should be, and failures without a reason: none may be. */
  readonly wrong: string[] = [];

  count(kind: string): void {
    add(this.done, kind);
  }

  killed(what: string): void {
    add(this.kills, what);
  }

  /** A call that failed, or lost something: that it says why is looked at. */
  failed(kind: string, text: string): void {
    const unclear = findUnclear(text);
    if (unclear !== undefined) {
      this.fault(`${kind}, no clear reason (${unclear})`, text);
      return;
    }
    const name = kindOf(text);
    add(this.reasons, name in this.reasons || Object.keys(this.reasons).length < MAX_KINDS ? name : "others");
  }

  fault(kind: string, text: string): void {
    if (this.wrong.length < MAX_FAULTS) this.wrong.push(`${kind}: ${text.slice(0, 400)}`);
  }
}

function add(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
