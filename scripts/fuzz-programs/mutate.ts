import type { Random } from "./random.ts";

const MAX_LINE_CHARS = 64 * 1024;
const MAX_CHANGES = 4;
const DEEP = 5000;

/** What readers of JSON and of frames stumble over. */
const TOKENS = [
  "\n",
  "\r",
  "\0",
  "\\u0000",
  "\\ud800",
  "\u2028",
  "\ufeff",
  "é",
  "[",
  "]",
  "{",
  "}",
  ",",
  ":",
  '"',
  "\\",
  "null",
  "1e999",
  "-0",
  "1.5",
  "9007199254740993",
  "NaN",
  '"__proto__":{"type":"done"},',
  '"type":"died",',
  '"type":"done",',
  '["k",',
  '["s",',
  "[".repeat(DEEP),
  '{"a":'.repeat(DEEP),
] as const;

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1,
  1.5,
  2 ** 31,
  2 ** 53,
  1e308,
  "",
  "s",
  "k",
  "rpc",
  "done",
  "died",
  "ready",
  "hello",
  "stdout",
  "__proto__",
  "constructor",
  "toString",
  "call_tool",
  "memory_save",
  "project_write",
  "../../etc/passwd",
  "\u0000",
  "\u{1f600}",
  "x".repeat(300),
  [],
  {},
  [[]],
  { type: "done" },
];

/** One line made from another by one to four changes of its bytes or of its JSON; `others` lend pieces. */
export function mutate(line: string, others: readonly string[], random: Random): string {
  let changed = line;
  for (let left = 1 + random.below(MAX_CHANGES); left > 0; left -= 1) {
    changed = random.once(2) ? changeText(changed, others, random) : changeJson(changed, random);
  }
  return changed.slice(0, MAX_LINE_CHARS);
}

function changeText(line: string, others: readonly string[], random: Random): string {
  const at = random.below(line.length + 1);
  const to = Math.min(line.length, at + 1 + random.below(8));
  switch (random.below(6)) {
    case 0:
      return line.slice(0, at) + line.slice(to);
    case 1:
      return line.slice(0, at) + random.pick(TOKENS) + line.slice(at);
    case 2:
      return line.slice(0, to) + line.slice(at);
    case 3:
      return line.slice(0, at) + String.fromCharCode(random.below(256)) + line.slice(at + 1);
    case 4: {
      const other = random.pick(others);
      return line.slice(0, at) + other.slice(random.below(other.length + 1));
    }
    default:
      return line.slice(0, at);
  }
}

function changeJson(line: string, random: Random): string {
  let root: unknown;
  try {
    root = JSON.parse(line);
  } catch {
    return line;
  }
  let holder = root;
  for (;;) {
    if (typeof holder !== "object" || holder === null) return JSON.stringify(random.pick(VALUES));
    const keys = Object.keys(holder);
    if (keys.length === 0) return line;
    const record = holder as Record<string, unknown>;
    const key = random.pick(keys);
    const child = record[key];
    if (typeof child === "object" && child !== null && !random.once(4)) {
      holder = child;
      continue;
    }
    switch (random.below(4)) {
      case 0:
        delete record[key];
        break;
      case 1:
        record[random.pick(["id", "type", "extra", "params", "__proto__x"])] = child;
        break;
      default:
        record[key] = random.pick(VALUES);
    }
    return JSON.stringify(root);
  }
}
