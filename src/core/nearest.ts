import { editDistance } from "./edit-distance.ts";

/** No name of ours is longer, and nothing much longer is like one. */
const MAX_COMPARED = 64;

/** The name that a mistyped one was most likely meant to be; `undefined` where none is close. */
export function findNearest(typed: string, names: readonly string[]): string | undefined {
  const word = typed.slice(0, MAX_COMPARED).toLowerCase();
  const ranked = names
    .map((name) => ({ name, distance: editDistance(word, name.toLowerCase()) }))
    // Of two as close, the one whose end is missing: `server` is a `servers` cut short, and no long `serve`.
    .sort(
      (a, b) => a.distance - b.distance || Number(b.name.startsWith(word)) - Number(a.name.startsWith(word)),
    );
  const best = ranked[0];
  if (best === undefined || best.distance >= best.name.length) return undefined; // not a letter in common
  return best.distance <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : undefined;
}
