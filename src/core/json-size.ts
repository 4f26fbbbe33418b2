/** About how many bytes a value takes as JSON, or somewhat more than `max` where it is more. */
export function sizeOfJson(value: unknown, max: number): number {
  const open = [[value].values()];
  let size = 0;
  for (let last = open.at(-1); last !== undefined && size <= max; last = open.at(-1)) {
    const { done, value: next } = last.next();
    if (done === true) open.pop();
    else if (typeof next === "string") size += next.length + 2;
    else if (typeof next !== "object" || next === null) size += 8;
    else if (Array.isArray(next)) open.push((next as unknown[]).values());
    else open.push(Object.entries(next).flat().values());
  }
  return size;
}
