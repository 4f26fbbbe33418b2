import { MASK, maskUrl, maskWord, SECRET_NAME } from "../core/secrets.ts";
import type { RemoteServer, ServerDefinition, StdioServer } from "./server-definition.ts";

const MIN_SECRET_CHARS = 6;

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
