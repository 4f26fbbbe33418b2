import type { Writable } from "node:stream";
import type { CliIo } from "./context.ts";

/** Makes words stand out. Each leaves its text as it is where no colours are wanted. */
export type Style = Readonly<Record<keyof typeof CODES, (text: string) => string>>;

/** SGR of ECMA-48: how each begins and ends. */
const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
} as const;

const COLOURED = createStyle(
  ([begin, end]) =>
    (text) =>
      text === "" ? text : `\u001b[${begin}m${text}\u001b[${end}m`,
);
export const PLAIN = createStyle(() => (text) => text);

/** The style for what is written to `stream`. */
export function styleFor({ env }: Pick<CliIo, "env">, stream: Writable): Style {
  return wantsColours(env, (stream as Writable & { isTTY?: boolean }).isTTY === true) ? COLOURED : PLAIN;
}

/**
 * `FORCE_COLOR` decides where it is set, then `NO_COLOR`, then `CLICOLOR_FORCE`; else there are colours on a terminal that
 * is not dumb, unless `CLICOLOR` is 0. Variables that are empty are not set.
 */
function wantsColours(env: CliIo["env"], isTerminal: boolean): boolean {
  const { FORCE_COLOR, NO_COLOR, CLICOLOR_FORCE, CLICOLOR, TERM } = env;
  if (FORCE_COLOR) return FORCE_COLOR !== "0" && FORCE_COLOR.toLowerCase() !== "false";
  if (NO_COLOR) return false;
  if (CLICOLOR_FORCE && CLICOLOR_FORCE !== "0") return true;
  return isTerminal && TERM !== "dumb" && CLICOLOR !== "0";
}

function createStyle(
  paint: (codes: readonly [begin: number, end: number]) => (text: string) => string,
): Style {
  const { bold, dim, red, green, yellow } = CODES;
  return {
    bold: paint(bold),
    dim: paint(dim),
    red: paint(red),
    green: paint(green),
    yellow: paint(yellow),
  };
}
