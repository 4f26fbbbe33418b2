/** About how many bytes a value takes as JSON, or somewhat more than `max` where it is more. */
export function sizeOfJson(value: unknown, max: number): number {
  const open: object[] = [];
  let size = 0;
  const add = (next: unknown) => {
    if (typeof next === "string") size += next.length + 2;
    else if (typeof next === "object" && next !== null) open.push(next);
    else size += 8;
  };
  add(value);
  for (let next = open.pop(); next !== undefined && size <= max; next = open.pop()) {
    if (Array.isArray(next)) for (const item of next as unknown[]) add(item);
    else
      for (const name of Object.keys(next)) {
        size += name.length + 2;
        add((next as Readonly<Record<string, unknown>>)[name]);
      }
  }
  return size;
}
