import { isMap, isNode, isScalar, LineCounter, type Pair, parseDocument } from "yaml";
import { type ConfigDocument, FormatError, repeated } from "./document.ts";

/** The parser takes a second and a half for so much. */
const MAX_CHARS = 1024 ** 2;
/** Aliases that repeat one another can make gigabytes of a few lines. */
const MAX_ALIASES = 100;

/** YAML 1.2 with merge keys; only what plain data can hold, so no tag runs anything. */
export function parseYaml(file: string, text: string): ConfigDocument {
  if (text.length > MAX_CHARS) {
    throw new FormatError(`it has ${text.length} characters: expected at most ${MAX_CHARS}`, undefined);
  }
  const lines = new LineCounter();
  const positionOf = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    merge: true,
    logLevel: "silent",
  });
  const [error] = document.errors;
  if (error !== undefined) {
    // Some messages end with the text at fault, which may be a token.
    throw new FormatError(error.message.replace(/: ".*$/s, ""), positionOf(error.pos[0]));
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (fault) {
    throw new FormatError(fault instanceof Error ? fault.message : String(fault), undefined);
  }
  return {
    file,
    value,
    place: (path) => {
      for (let length = path.length; length >= 0; length--) {
        const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
        if (!isNode(node) || node.range === null || node.range === undefined) continue;
        const { line, column } = positionOf(node.range[0]);
        return `${file}:${line}:${column}`;
      }
      return file;
    },
    duplicateKeys: (path) => {
      const node = path.length === 0 ? document.contents : document.getIn(path, true);
      return isMap(node) ? repeated(node.items.flatMap(keyOf)) : [];
    },
  };
}

function keyOf({ key }: Pair): string[] {
  return isScalar(key) ? [String(key.value)] : [];
}
