import { createInterface } from "node:readline/promises";
import type { CliIo } from "./context.ts";

/** Asks whoever sits at the terminal; anything but yes, and the end of stdin, is no. */
export async function confirm(io: CliIo, question: string): Promise<boolean> {
  const lines = createInterface({ input: io.stdin, output: io.stderr, terminal: false });
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `), ended]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
