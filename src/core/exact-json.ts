import { costOfJson } from "./json-cost.ts";

declare global {
  interface JSON {
    /** ECMAScript 2026: an object that `JSON.stringify` writes as exactly this text. */
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Numbers that a double may not hold: sixteen digits in a row, or an exponent of three. */
const MAY_BE_INEXACT = /\d{16}|[eE][+-]?\d{3}/;

/** What {@link costOfExactJson} says of a text that is parsed with every digit. */
export function costOfExactJson(text: string): number {
  return costOfJson(text, MAY_BE_INEXACT.test(text));
}

/**
 * `JSON.parse` that keeps every digit: an integer beyond 2^53 and a number beyond the doubles become `JSON.rawJSON`
 * objects, which `JSON.stringify` writes back as they were read. For values that are passed on and not computed with.
 * Throws `SyntaxError`.
 */
export function parseExactJson(text: string): unknown {
  // A reviver makes parsing several times slower, and very few texts need it.
  if (!MAY_BE_INEXACT.test(text)) return JSON.parse(text);
  return JSON.parse(text, keepDigits as (this: unknown, key: string, value: unknown) => unknown);
}

const keepDigits: Reviver = (_key, value, { source }) => {
  if (typeof value !== "number" || source === undefined) return value;
  const isExact = /^-?\d+$/.test(source) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isExact ? value : JSON.rawJSON(source);
};
