/** What all of `tools/list` may cost a model, in tokens of o200k; a test holds the answer to it. */
export const MAX_LIST_TOKENS = 200;
/** Of those, what names of servers may take: the rest is said in every case. */
const MAX_NAMES_TOKENS = 24;
/** Longer names are left out: what is in a file must not become a text for the model. */
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,31}$/;

/** What a model must know to succeed at its first try. Each word is paid for in every conversation. */
const BASE = `Run Python in a sandbox without network. Variables persist, top-level await works, the last expression's value is shown. It can call the user's MCP servers:
await runtime.query_tool_docs(server[, tool])  # signatures
r = await mcp_<server>.<tool>(**kwargs)  # r.text, r.data; errors raise`;

const SEARCH = "await runtime.search_tool_docs('words')";

/**
 * The description of `run_python`. `aliases` are those of the usable servers, in order of precedence; as many are named
 * as fit. `undefined`: nobody knows yet.
 */
export function describeRunPython(aliases: readonly string[] | undefined): string {
  if (aliases === undefined) return `${BASE}\nFind tools: ${SEARCH}`;
  if (aliases.length === 0) return `${BASE}\nNo server is configured yet; see runtime.find_servers()`;
  const named = chooseNames(aliases);
  const rest = aliases.length - named.length;
  if (named.length === 0) return `${BASE}\n${rest} servers: ${SEARCH}`;
  const more = rest === 0 ? "" : `, ${rest} more: ${SEARCH}`;
  return `${BASE}\nServers: ${named.join(", ")}${more}`;
}

function chooseNames(aliases: readonly string[]): readonly string[] {
  const named: string[] = [];
  let left = MAX_NAMES_TOKENS;
  for (const alias of aliases) {
    if (!NAME.test(alias)) continue;
    left -= estimateTokens(alias) + 1; // the comma
    if (left < 0) break;
    named.push(alias);
  }
  return named;
}

/**
 * At least as many tokens as o200k makes of a name, or nearly, found by trying: of what can be spoken two letters and a
 * half are a token, of anything else each character may be one. A tokenizer would cost more to load than all else here.
 */
function estimateTokens(name: string): number {
  const runs = name.match(/[A-Z]?[a-z]+|[A-Z]+|\d+|_+/g) ?? [];
  return runs.reduce((sum, run) => sum + Math.ceil(run.length / (isSpeakable(run) ? 2.5 : 1)), 0);
}

function isSpeakable(run: string): boolean {
  return run.length > 2 && /^[A-Z]?[a-z]+$/.test(run) && !/[^aeiouy]{4}|[aeiouy]{4}|[jqxz]{2}/i.test(run);
}
