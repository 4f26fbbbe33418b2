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
  /** Told when something is left out that is no secret: `…` stands for it. */
  readonly onCut?: () => void;
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
  if (depth === MAX_DEPTH || state.left < 0) {
    state.onCut?.();
    return "…";
  }
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_ITEMS).map((item) => maskValue(item, state, depth + 1));
    if (value.length <= MAX_ITEMS) return shown;
    state.onCut?.();
    return [...shown, `… ${value.length - MAX_ITEMS} more`];
  }
  const entries = Object.entries(value);
  const shown = new Map<string, unknown>();
  const show = (key: string, inner: unknown) => {
    let name = key;
    while (shown.has(name)) name += "…"; // names that were cut to the same one must not hide each other's value
    shown.set(name, inner);
  };
  for (const [key, inner] of entries.slice(0, MAX_ITEMS)) {
    const name = maskText(key, state);
    show(name, state.secretName.test(key) ? MASK : maskValue(inner, state, depth + 1));
  }
  if (entries.length > MAX_ITEMS) {
    state.onCut?.();
    show("…", `${entries.length - MAX_ITEMS} more`);
  }
  return Object.fromEntries(shown);
}

function maskText(text: string, { mask, maxTextChars, onCut }: State): string {
  // Cut after hiding, or the beginning of a secret would stay.
  const masked = mask(text);
  const hidden = masked
    .slice(0, maxTextChars * 10)
    .replace(/\b(bearer|basic|token)\s+\S+/gi, `$1 ${MASK}`)
    .split(/(\s+)/)
    .map((word) => maskWord(word))
    .join("");
  if (hidden.length <= maxTextChars && masked.length <= maxTextChars * 10) return hidden;
  onCut?.();
  return `${hidden.slice(0, maxTextChars).toWellFormed()}…`;
}
