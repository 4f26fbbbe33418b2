/** Insertions, deletions, replacements and swaps of neighbours that turn one word of at most 255 characters into the other. */
export function editDistance(one: string, other: string): number {
  const width = other.length + 1;
  const rows = new Uint8Array(width * (one.length + 1));
  for (let j = 0; j < width; j++) rows[j] = j;
  const at = (i: number, j: number) => rows[i * width + j] ?? 0;
  for (let i = 1; i <= one.length; i++) {
    rows[i * width] = i;
    for (let j = 1; j < width; j++) {
      const same = one.charCodeAt(i - 1) === other.charCodeAt(j - 1);
      let best = Math.min(at(i - 1, j - 1) + (same ? 0 : 1), at(i - 1, j) + 1, at(i, j - 1) + 1);
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (swapped) best = Math.min(best, at(i - 2, j - 2) + 1);
      rows[i * width + j] = best;
    }
  }
  return at(one.length, other.length);
}
