/** One member of a JSON object: its name, and its value as it was written. */
export type Member = readonly [name: string, text: string];

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /[^,\]}\s]+/y;

/**
 * The members of a JSON object, each value as exactly the text that stood there: what is read and written back keeps its
 * digits, its order and what this program does not know. Throws `SyntaxError` where it is not JSON, or no object.
 */
export function readMembers(text: string): readonly Member[] {
  const whole: unknown = JSON.parse(text); // what follows relies on it being well-formed
  if (typeof whole !== "object" || whole === null || Array.isArray(whole)) {
    throw new SyntaxError("expected an object");
  }
  const members: Member[] = [];
  walk(text, (at) => {
    const nameEnd = endOfString(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1); // the colon
    const end = endOfValue(text, start);
    members.push([name, text.slice(start, end)]);
    return end;
  });
  return members;
}

/** One element of a JSON array: as it was written, and how many characters into the text it stands. */
export interface JsonElement {
  readonly text: string;
  readonly offset: number;
}

/** The elements of a JSON array, each as it stood there. Throws `SyntaxError` where it is not JSON, or no array. */
export function readElements(text: string): readonly JsonElement[] {
  if (!Array.isArray(JSON.parse(text))) throw new SyntaxError("expected an array");
  const elements: JsonElement[] = [];
  walk(text, (offset) => {
    const end = endOfValue(text, offset);
    elements.push({ text: text.slice(offset, end), offset });
    return end;
  });
  return elements;
}

/** Has each item of a well-formed object or array read from where it begins; `read` returns where it ends. */
function walk(text: string, read: (start: number) => number): void {
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text[at] !== "}" && text[at] !== "]") {
    if (text[at] === ",") at = skipSpace(text, at + 1);
    at = skipSpace(text, read(at));
  }
}

function skipSpace(text: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.test(text);
  return SPACE.lastIndex;
}

function endOfValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return endOfString(text, start);
  if (first !== "{" && first !== "[") {
    SCALAR.lastIndex = start;
    SCALAR.test(text);
    return SCALAR.lastIndex;
  }
  const marks = /["{}[\]]/g;
  let depth = 0;
  marks.lastIndex = start;
  for (;;) {
    const mark = marks.exec(text)?.[0];
    if (mark === '"') marks.lastIndex = endOfString(text, marks.lastIndex - 1);
    else if (mark === "{" || mark === "[") depth += 1;
    else depth -= 1;
    if (depth === 0) return marks.lastIndex;
  }
}

function endOfString(text: string, start: number): number {
  let end = start;
  for (;;) {
    end = text.indexOf('"', end + 1);
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
}
