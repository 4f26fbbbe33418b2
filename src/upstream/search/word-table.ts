import { readFileSync } from "node:fs";
import { parseWordVectors, type WordVectors } from "./word-vectors.ts";
import table from "./words.bin" with { type: "file" };

/** Reads the table that lies beside this file, or in the binary: some milliseconds, so nobody calls it before it is needed. */
export function loadWordVectors(): WordVectors {
  return parseWordVectors(readFileSync(table));
}
