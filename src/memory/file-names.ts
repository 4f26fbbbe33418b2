import { createHash } from "node:crypto";

/** Names that the original system gives too, and that mean the same everywhere. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;
/** Devices of Windows, whatever the ending. */
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
const MAX_HINT_CHARS = 40;
/** 160 bits: nobody finds two texts that have the same. */
const HASH_CHARS = 40;

/**
 * The names that a memory's file may have, the preferred one first. A plain key's is the key itself, as in the original
 * system; where another key has that already (`Notes` where a file system takes it for `notes`, `a_b` where an old file
 * of that name holds `a/b`) and for all other keys it is one with a hash. The `key` inside says whose a file is.
 */
export function memoryFileNames(key: string): readonly string[] {
  const hashed = `${hashedName(key)}.json`;
  const isPlain = PLAIN.test(key) && !key.endsWith(".") && !RESERVED.test(key);
  return isPlain ? [`${key}.json`, hashed] : [hashed];
}

/** A name for any text that no other text has, also where case and Unicode forms are not told apart. */
export function hashedName(text: string): string {
  const hint = text
    .slice(0, MAX_HINT_CHARS)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_");
  const hash = createHash("sha256").update(text, "utf16le").digest("hex").slice(0, HASH_CHARS);
  return `${hint}~${hash}`;
}
