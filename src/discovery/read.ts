import { constants } from "node:fs";
import { open } from "node:fs/promises";
import {
  findNodeAtLocation,
  getNodeValue,
  type JSONPath,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import type { DiscoveryProblem } from "./server-definition.ts";

const MAX_FILE_BYTES = 4 * 1024 ** 2;
const NONBLOCKING_READ = constants.O_RDONLY | constants.O_NONBLOCK;

/** A parsed configuration file. */
export interface ConfigDocument {
  readonly file: string;
  readonly value: unknown;
  /** `file:line:column` of the value at `path`, or of what encloses it; both count from 1. */
  place(path: JSONPath): string;
  /** Keys that the mapping at `path` has more than once; the last of them counts. */
  duplicateKeys(path: JSONPath): readonly string[];
}

/** What reading a file gives; `missing` and `empty` ones hold no servers and are no fault in themselves. */
export type ReadOutcome =
  | { readonly kind: "document"; readonly document: ConfigDocument }
  | { readonly kind: "missing" | "empty" }
  | { readonly kind: "problem"; readonly problem: DiscoveryProblem };

/** Reads one JSON file as people write them: comments, trailing commas, a byte order mark, any line ends. */
export async function readConfigFile(file: string): Promise<ReadOutcome> {
  let text: string | undefined;
  try {
    text = await readText(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { kind: "missing" };
    return problem(file, `cannot be read: ${code === "EACCES" ? "permission denied" : message}`);
  }
  if (text.trim() === "") return { kind: "empty" };
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const [first] = errors;
  if (first !== undefined) {
    return problem(placeOf(file, text, first.offset), `is not valid JSON: ${describeError(first, text)}`);
  }
  return root === undefined
    ? { kind: "empty" }
    : { kind: "document", document: createDocument(file, text, root) };
}

async function readText(file: string): Promise<string> {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const handle = await open(file, NONBLOCKING_READ);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error("it is not a file");
    if (stats.size > MAX_FILE_BYTES) {
      throw new Error(
        `it has ${stats.size} bytes, more than the ${MAX_FILE_BYTES} that a configuration may have`,
      );
    }
    const bytes = await handle.readFile();
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw error instanceof TypeError ? new Error("it is not UTF-8 text") : error;
  } finally {
    await handle.close();
  }
}

function createDocument(file: string, text: string, root: Node): ConfigDocument {
  return {
    file,
    value: getNodeValue(root),
    place: (path) => {
      for (let length = path.length; length >= 0; length--) {
        const node = findNodeAtLocation(root, path.slice(0, length));
        if (node !== undefined) return placeOf(file, text, node.offset);
      }
      return file;
    },
    duplicateKeys: (path) => {
      const keys = (findNodeAtLocation(root, path)?.children ?? []).map((pair) =>
        String(pair.children?.[0]?.value),
      );
      return [...new Set(keys.filter((key, index) => keys.indexOf(key) !== index))];
    },
  };
}

function placeOf(file: string, text: string, offset: number): string {
  const before = text.slice(0, offset);
  const line = before.split(/\r\n|\r|\n/);
  return `${file}:${line.length}:${(line.at(-1) ?? "").length + 1}`;
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
  return found === ""
    ? `${expected}, found the end of the file`
    : `${expected}, found ${JSON.stringify(found)}`;
}

function problem(where: string, message: string): ReadOutcome {
  return { kind: "problem", problem: { where, message } };
}
