import type { CliIo } from "./context.ts";
import { TypedLines } from "./typed-lines.ts";

/** Asks whoever sits at the terminal; anything but yes, and the end of stdin, is no. */
export async function confirm(io: CliIo, question: string): Promise<boolean> {
  const lines = new TypedLines(io);
  try {
    return /^y(es)?$/i.test(((await lines.ask(`${question} [y/N] `)) ?? "").trim());
  } finally {
    lines.close();
  }
}
