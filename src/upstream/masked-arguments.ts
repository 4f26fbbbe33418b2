import { MASK, maskWord } from "../core/secrets.ts";
import type { Mask } from "./mask.ts";

const MAX_ITEMS = 50;
const MAX_DEPTH = 8;
/** Of all arguments of one call together. */
const MAX_VALUES = 500;

export interface Masking {
  /** Characters kept of one text. */
  readonly maxTextChars: number;
  /** Whatever is called like this is hidden. */
  readonly secretName: RegExp;
}

/** The arguments of a call without what looks like a secret or is one of its server's, and not without end. */
export function maskArguments(args: unknown, mask: Mask, masking: Masking): unknown {
  return maskValue(args, { ...masking, mask, left: MAX_VALUES }, 0);
}

interface State extends Masking {
  readonly mask: Mask;
  /** Values that may still be looked at. */
  left: number;
}

/** A number with more digits than a double has is an object that only `JSON.stringify` understands. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype === Object.prototype || (prototype === null && !JSON.isRawJSON(value));
}

function maskValue(value: unknown, state: State, depth: number): unknown {
  state.left -= 1;
  if (typeof value === "string") return maskText(value, state);
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value) && !isPlainObject(value)) return value;
  if (depth === MAX_DEPTH || state.left < 0) return "…";
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_ITEMS).map((item) => maskValue(item, state, depth + 1));
    return value.length > MAX_ITEMS ? [...shown, `… ${value.length - MAX_ITEMS} more`] : shown;
  }
  const entries = Object.entries(value);
  const shown = entries
    .slice(0, MAX_ITEMS)
    .map(([key, inner]) => [
      maskText(key, state),
      state.secretName.test(key) ? MASK : maskValue(inner, state, depth + 1),
    ]);
  if (entries.length > MAX_ITEMS) shown.push(["…", `${entries.length - MAX_ITEMS} more`]);
  return Object.fromEntries(shown);
}

function maskText(text: string, { mask, maxTextChars }: State): string {
  // Cut after hiding, or the beginning of a secret would stay.
  const masked = mask(text);
  const hidden = masked
    .slice(0, maxTextChars * 10)
    .replace(/\b(bearer|basic|token)\s+\S+/gi, `$1 ${MASK}`)
    .split(/(\s+)/)
    .map((word) => maskWord(word))
    .join("");
  return hidden.length > maxTextChars || masked.length > maxTextChars * 10
    ? `${hidden.slice(0, maxTextChars).toWellFormed()}…`
    : hidden;
}
