import { BridgeError } from "../core/errors.ts";
import { isHashed, loadTokenTexts, type NamedText, splitTokenList } from "./http-tokens.ts";

const MAX_NAMED = 10;

export interface OwnTokenOptions {
  /** As in `MCP_BRIDGE_HTTP_TOKEN`, checked already. */
  readonly list: string | undefined;
  /** A file of tokens, which counts where there is no list. */
  readonly file: string | undefined;
  /** Whose token is wanted; needed where there are several. */
  readonly name: string | undefined;
}

/**
 * The token that the user of a server sends to it, from where the server has its own: whoever runs one on this machine need
 * not write it down again. `undefined`: there is none. Throws `CONFIG_INVALID`; no message has a token in it.
 */
export async function loadOwnToken({ list, file, name }: OwnTokenOptions): Promise<string | undefined> {
  const where = list !== undefined ? "MCP_BRIDGE_HTTP_TOKEN" : (file ?? "");
  const all =
    list !== undefined ? splitTokenList(list) : file === undefined ? [] : await loadTokenTexts(file);
  const names = [...new Set(all.map((each) => each.name))];
  if (name === undefined && names.length > 1) {
    throw refuse(`${where} has tokens of ${shown(names)}`, "Say whose to use with --as NAME.");
  }
  if (name !== undefined && !names.includes(name)) {
    const there = names.length === 0 ? "no token is set" : `${where} has tokens of ${shown(names)}`;
    throw refuse(`there is no token of ${JSON.stringify(name)}: ${there}`);
  }
  return all.length === 0 ? undefined : plainest(all, name ?? names[0] ?? "", where);
}

/** Somebody may have several tokens, and of some only the hash is known. */
function plainest(all: readonly NamedText[], name: string, where: string): string {
  const plain = all.find((each) => each.name === name && !isHashed(each.token));
  if (plain !== undefined) return plain.token;
  const message = `${where} has only the hash of the token of ${JSON.stringify(name)}, which lets nobody in`;
  throw refuse(message, "Set MCP_BRIDGE_HTTP_TOKEN to the token itself.");
}

function shown(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : "";
  return `${names.slice(0, MAX_NAMED).join(", ")}${more}`;
}

function refuse(message: string, hint?: string): BridgeError {
  return new BridgeError("CONFIG_INVALID", message, hint === undefined ? {} : { hint });
}
