import type { RemoteServer, ServerDefinition, StdioServer } from "./server-definition.ts";

const MASK = "***";
const MIN_SECRET_CHARS = 6;
const SECRET_NAME =
  /key|token|secret|passw|passphrase|credential|auth|bearer|cookie|session|signature|\bsig\b|\bpat\b|dsn|database_url|connection/i;
/** How well-known tokens begin, and anything long that mixes letters and digits without a word in it. */
const SECRET_VALUE =
  /^(sk-|pk-|rk_|gh[pousr]_|github_pat_|glpat-|xox[abposr]-|AKIA|ASIA|AIza|ya29\.|eyJ|npm_|pypi-|hf_|shpat_|SG\.)\S{6,}$|^(?=[^\d]*\d)(?=[^a-z]*[a-z])[\w+=-]{24,}$/i;

/** Puts back the names of variables where their values were filled in, for those that hold secrets by their names. */
export function hideVariables(text: string, env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .filter(([name, value]) => value.length >= MIN_SECRET_CHARS && SECRET_NAME.test(name))
    .sort(([, one], [, other]) => other.length - one.length) // a value may contain another
    .reduce((hidden, [name, value]) => hidden.replaceAll(value, `\${${name}}`), text);
}

/** The words of what a server is, as its file says: the command and its arguments, or the URL. */
export function wordsOf(transport: StdioServer | RemoteServer): readonly string[] {
  return transport.kind === "stdio" ? [transport.command, ...transport.args] : [transport.url];
}

/** The same without what looks like a secret: for lists that are pasted into reports. */
export function safeWordsOf(
  { transport }: ServerDefinition,
  env: Readonly<Record<string, string>>,
): string[] {
  const hide = (word: string) => hideVariables(word, env);
  if (transport.kind === "remote") return [maskUrl(hide(transport.url))];
  return [hide(transport.command), ...maskArguments(transport.args.map(hide))];
}

/** The names of the variables or headers that a server is given, sorted; never their values. */
export function variableNamesOf(transport: StdioServer | RemoteServer): readonly string[] {
  return Object.keys(transport.kind === "stdio" ? transport.env : transport.headers).sort();
}

function maskArguments(args: readonly string[]): string[] {
  return args.map((word, index) => {
    const before = args[index - 1] ?? "";
    if (/^--?[\w-]+$/.test(before) && SECRET_NAME.test(before) && !word.startsWith("-")) return MASK;
    return maskWord(word);
  });
}

function maskWord(word: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(word)) return maskUrl(word);
  const [, name, separator, value] = /^([^=:\s]+)(=|:\s*)(.+)$/s.exec(word) ?? [];
  if (name !== undefined && value !== undefined) {
    return SECRET_NAME.test(name) || SECRET_VALUE.test(value) ? `${name}${separator}${MASK}` : word;
  }
  return SECRET_VALUE.test(word) ? MASK : word;
}

/** A URL without the password and without what its query holds under a telling name. */
function maskUrl(text: string): string {
  const hidden = text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#@]*@/i, `$1${MASK}@`);
  return hidden
    .replace(/([?&#;])([^=&#;]*)=([^&#;]*)/g, (pair, before: string, name: string, value: string) =>
      SECRET_NAME.test(name) || SECRET_VALUE.test(value) ? `${before}${name}=${MASK}` : pair,
    )
    .replace(/(?<=\/)[^/?#]+/g, (part) => (SECRET_VALUE.test(part) ? MASK : part));
}
