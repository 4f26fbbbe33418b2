import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseLine } from "../../src/kernel/protocol.ts";
import { parseRpc } from "../../src/kernel/rpc.ts";
import { mutate } from "./mutate.ts";
import type { Random } from "./random.ts";

const MAX_LINES = 5000;
/** Long lines are made anew by mutations; kept, they would be most of the memory that is measured. */
const MAX_KEPT_CHARS = 2000;
const CONTRACT = join(import.meta.dir, "../../test/contract/frames.jsonl");

interface Row {
  readonly dir: "in" | "out";
  readonly line: string;
}

/**
 * The lines that mutations start from: those of the contract, and each mutation to which the readers answered as to none
 * before. That is the guidance that stands in for coverage, which Bun does not tell at run time.
 */
export class Corpus {
  readonly #lines: string[];
  readonly #answers = new Set<string>();
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
    const rows = readFileSync(CONTRACT, "utf8")
      .split("\n")
      .filter((text) => text !== "")
      .map((text) => JSON.parse(text) as Row);
    this.#lines = rows.filter(({ dir }) => dir === "out").map(({ line }) => line);
    for (const line of this.#lines) this.#answers.add(answerTo(line));
  }

  /** How many different answers of the readers were met. */
  get answers(): number {
    return this.#answers.size;
  }

  /** A mutated line; about half of those with an id have `id`, which is the one that the host waits for. */
  next(id: number): string {
    const random = this.#random;
    const line = mutate(random.pick(this.#lines), this.#lines, random);
    const answer = answerTo(line);
    if (!this.#answers.has(answer)) {
      this.#answers.add(answer);
      if (this.#lines.length < MAX_LINES && line.length <= MAX_KEPT_CHARS) this.#lines.push(line);
    }
    return random.once(2) ? line.replace(/"(id|execution)":\d+/, `"$1":${id}`) : line;
  }
}

/** What the readers make of a line, without its values. */
function answerTo(line: string): string {
  const parsed = parseLine(Buffer.from(line));
  if ("invalid" in parsed) return parsed.invalid;
  const [speaker, frame] = parsed.line;
  const fields = Object.entries(frame).map(
    ([name, value]) => `${name}:${value === null ? null : typeof value}`,
  );
  if (frame.type !== "rpc") return `${speaker} ${frame.type} ${fields.join(" ")}`;
  const request = parseRpc(frame);
  if (!("invalid" in request)) return `request ${request.method}`;
  return `no request ${request.invalid.replace(/"(?:[^"\\]|\\.)*"/g, "").slice(0, 200)}`;
}
