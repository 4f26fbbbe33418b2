import { editDistance } from "../core/edit-distance.ts";

const MAX_NEAREST = 5;
const MAX_COMPARED = 64;

/** Up to five of `names` that look most like `wanted`, the most alike first; nothing that is not alike at all. */
export function nearestNames(wanted: string, names: readonly string[], max = MAX_NEAREST): string[] {
  const target = fold(wanted);
  return names
    .map((name) => ({ name, distance: distance(target, fold(name)) }))
    .filter(({ distance: value }) => value <= 0.6)
    .sort((one, other) => one.distance - other.distance)
    .slice(0, max)
    .map(({ name }) => name);
}

/** A list for a sentence: the names in quotes, and how many were left out. */
export function listNames(names: readonly string[], max: number): string {
  const shown = names.slice(0, max).map((name) => JSON.stringify(name));
  const rest = names.length - shown.length;
  return rest > 0 ? `${shown.join(", ")} and ${rest} more` : shown.join(", ");
}

function fold(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .slice(0, MAX_COMPARED);
}

/** 0 for equal to 1 for nothing in common: edits over length, and less where one contains the other. */
function distance(one: string, other: string): number {
  if (one === other) return 0;
  const longest = Math.max(one.length, other.length);
  const edits = editDistance(one, other) / longest;
  const contains = one !== "" && other !== "" && (one.includes(other) || other.includes(one));
  return contains ? Math.min(edits, 0.5) : edits;
}
