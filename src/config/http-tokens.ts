import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { BridgeError } from "../core/errors.ts";
import { explainFileFault } from "../core/file-faults.ts";

/** A token that lets in over HTTP, by its SHA-256 alone, and whose it is. */
export interface HttpToken {
  readonly name: string;
  readonly digest: Uint8Array;
}

/** A token as it is written, or `sha256:` and its hash, and whose it is. */
export interface NamedText {
  readonly name: string;
  readonly token: string;
}

const NAME = /^[\w.@+-]{1,64}$/;
/** What may stand in a header, RFC 6750, section 2.1; as long as an access token of an issuer may be. */
const TOKEN = /^[\w.~+/-]{16,16384}=*$/;
const HASHED = /^sha256:([0-9a-f]{64})$/i;
/** Of the one token that is given without a name. */
const DEFAULT_NAME = "default";
const MAX_FILE_BYTES = 1024 * 1024;
/** Others may not read it, and nobody but its owner may write it. */
const FORBIDDEN_MODE = 0o027;
const HINT = 'Each line is "name token"; `openssl rand -hex 32` makes a token.';

/** Reads `token`, or `name:token` with commas between; `undefined` where it is neither. */
export function parseTokenList(text: string): readonly HttpToken[] | undefined {
  const tokens = splitTokenList(text).map(({ name, token }) => toToken(name, token));
  return tokens.every((token) => token !== undefined) ? tokens : undefined;
}

/** The parts of such a list, as they are. */
export function splitTokenList(text: string): readonly NamedText[] {
  return text.split(",").map((part) => {
    if (HASHED.test(part.trim())) return { name: DEFAULT_NAME, token: part.trim() };
    const [, name = DEFAULT_NAME, token = ""] = /^(?:([^:]*):)?(.*)$/.exec(part.trim()) ?? [];
    return { name, token };
  });
}

/**
 * Reads a file of tokens: a line `name token` for each, with `#` before remarks, or JSON `{"name": "token"}`. In place of a
 * token may stand `sha256:` and its hash. Throws `CONFIG_INVALID`; what the file says is in no message but names.
 */
export async function loadTokenFile(path: string): Promise<readonly HttpToken[]> {
  return (await loadTokenTexts(path)).map(({ made }) => made);
}

/** The same with what the file itself says, for whoever shows a token instead of checking it. */
export async function loadTokenTexts(
  path: string,
): Promise<readonly (NamedText & { readonly made: HttpToken })[]> {
  const text = await readPrivate(path);
  const lines = text.trimStart().startsWith("{") ? await linesOfJson(path, text) : linesOf(text);
  const tokens = lines.map(({ place, name, token }) => {
    const made = toToken(name, token);
    if (made !== undefined) return { name, token, made };
    const message = `${path}: ${place} is not a name of at most 64 letters and a token of 16 to 16384 characters`;
    throw new BridgeError("CONFIG_INVALID", message, { hint: HINT });
  });
  if (tokens.length > 0) return tokens;
  throw new BridgeError("CONFIG_INVALID", `${path}: there is no token in it`, { hint: HINT });
}

/** Whether only the hash of a token stands there. */
export function isHashed(token: string): boolean {
  return HASHED.test(token);
}

function toToken(name: string, token: string): HttpToken | undefined {
  if (!NAME.test(name)) return undefined;
  const hex = HASHED.exec(token)?.[1];
  if (hex !== undefined) return { name, digest: Buffer.from(hex, "hex") };
  return TOKEN.test(token) ? { name, digest: createHash("sha256").update(token).digest() } : undefined;
}

interface TokenLine extends NamedText {
  readonly place: string;
}

function linesOf(text: string): readonly TokenLine[] {
  return text.split(/\r\n|\r|\n/).flatMap((line, at) => {
    const [name = "", token = "", ...rest] = line
      .replace(/^\s*#.*/, "")
      .trim()
      .split(/\s+/);
    if (name === "") return [];
    return [{ place: `line ${at + 1}`, name, token: rest.length === 0 ? token : "" }];
  });
}

async function linesOfJson(path: string, text: string): Promise<readonly TokenLine[]> {
  const { parseTokenObject } = await import("./token-object.ts"); // few have such a file, and start without zod
  const tokens = parseTokenObject(text);
  if (tokens === undefined) {
    throw new BridgeError("CONFIG_INVALID", `${path}: expected JSON such as {"name": "token"}`, {
      hint: HINT,
    });
  }
  return Object.entries(tokens).map(([name, token]) => ({
    place: `the entry ${JSON.stringify(name)}`,
    name,
    token,
  }));
}

async function readPrivate(path: string): Promise<string> {
  let file: FileHandle;
  try {
    // A pipe in its place must not make the program wait for a writer.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { what, hint = HINT } = explainFileFault(error);
    throw new BridgeError(
      "CONFIG_INVALID",
      `the file of tokens ${JSON.stringify(path)} cannot be read: ${what}`,
      { hint: `Correct --token-file or MCP_BRIDGE_HTTP_TOKEN_FILE, or leave it out. ${hint}` },
    );
  }
  try {
    const facts = await file.stat();
    if (!facts.isFile() || facts.size > MAX_FILE_BYTES) {
      throw new BridgeError("CONFIG_INVALID", `${path}: expected a file of at most ${MAX_FILE_BYTES} bytes`);
    }
    if (process.platform !== "win32" && (facts.mode & FORBIDDEN_MODE) !== 0) {
      const mode = (facts.mode & 0o777).toString(8).padStart(3, "0");
      throw new BridgeError(
        "CONFIG_INVALID",
        `${path}: its mode is ${mode}, so that others can read or change it`,
        {
          hint: `Type chmod 600 ${path}`,
        },
      );
    }
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
