import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { type ConfigDocument, FormatError, repeated } from "./document.ts";

/** Beyond this nobody looks for keys that come twice: it takes ten times as long as reading the values. */
const MAX_CHECKED_CHARS = 1024 ** 2;

/** JSON as people write it: comments, trailing commas, any line ends. */
export function parseJson(file: string, written: string): ConfigDocument {
  const text = /^\s*"(?:[^"\\\n]|\\.)*"\s*:/.test(written) ? `{${written}}` : written; // Warp's users leave the braces out
  let tree: Node | undefined;
  const getTree = () => {
    tree ??= parseTree(text, [], { allowTrailingComma: true });
    return tree;
  };
  const findNode = (path: readonly (string | number)[]) => {
    const root = getTree();
    return root === undefined ? undefined : findNodeAtLocation(root, [...path]);
  };
  const position = createPositions(text);
  return {
    file,
    value: parseValue(text, position),
    place: (path) => {
      for (let length = path.length; length >= 0; length--) {
        const node = findNode(path.slice(0, length));
        if (node === undefined) continue;
        const { line, column } = position(node.offset);
        return `${file}:${line}:${column}`;
      }
      return file;
    },
    duplicateKeys: (path) => {
      if (text.length > MAX_CHECKED_CHARS) return [];
      const node = findNode(path);
      if (node?.type !== "object") return [];
      return repeated((node.children ?? []).map((pair) => String(pair.children?.[0]?.value)));
    },
  };
}

/** Most files are plain JSON, which the engine reads far faster than a parser that keeps every place. */
function parseValue(text: string, position: Positions): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const errors: ParseError[] = [];
    const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
    const [first] = errors;
    if (first !== undefined) throw new FormatError(describeError(first, text), position(first.offset));
    return root === undefined ? undefined : toValue(root);
  }
}

/** jsonc-parser's own conversion would let a key `__proto__` become the prototype. */
function toValue(node: Node): unknown {
  const children = node.children ?? [];
  if (node.type === "array") return children.map(toValue);
  if (node.type !== "object") return node.value;
  return Object.fromEntries(
    children.flatMap(({ children: [key, value] = [] }) =>
      key === undefined || value === undefined ? [] : [[String(key.value), toValue(value)]],
    ),
  );
}

type Positions = (offset: number) => { readonly line: number; readonly column: number };

function createPositions(text: string): Positions {
  let lineStarts: readonly number[] | undefined;
  return (offset) => {
    lineStarts ??= [
      0,
      ...Array.from(text.matchAll(/\r\n|\r|\n/g), ({ index, 0: end }) => index + end.length),
    ];
    const next = lineStarts.findIndex((start) => start > offset);
    const line = next === -1 ? lineStarts.length : next;
    return { line, column: offset - (lineStarts[line - 1] ?? 0) + 1 };
  };
}

const EXPECTED: Readonly<Record<string, string>> = {
  InvalidSymbol: "expected a string, number, object, array, true, false or null",
  InvalidNumberFormat: "expected a number",
  PropertyNameExpected: "expected a key in double quotes",
  ValueExpected: "expected a value",
  ColonExpected: "expected a colon",
  CommaExpected: "expected a comma",
  CloseBraceExpected: "expected a comma or }",
  CloseBracketExpected: "expected a comma or ]",
  EndOfFileExpected: "expected the end of the file",
  InvalidCommentToken: "expected JSON, // or /* */",
  UnexpectedEndOfComment: "expected */",
  UnexpectedEndOfString: 'expected a closing "',
  UnexpectedEndOfNumber: "expected a digit",
  InvalidUnicode: "expected four hexadecimal digits",
  InvalidEscapeCharacter: "expected a valid escape after \\",
  InvalidCharacter: "expected no control character",
};

function describeError({ error, offset, length }: ParseError, text: string): string {
  const found = text.slice(offset, offset + Math.min(Math.max(length, 1), 30));
  const expected = EXPECTED[printParseErrorCode(error)] ?? "expected JSON";
  if (found === "") return `${expected}, found the end of the file`;
  // What is no key may be a token: its beginning is enough to find it.
  const isKey = /^\s*:/.test(text.slice(offset + length, offset + length + 20));
  const shown = isKey || found.length <= 4 ? found : `${found.slice(0, 4)}…`;
  return `${expected}, found ${JSON.stringify(shown)}`;
}
