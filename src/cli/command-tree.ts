import type { ArgDef, ArgsDef, CommandDef, CommandMeta, Resolvable } from "citty";
import { EXAMPLES, type Example } from "./examples.ts";

/** A command as its help, the documents and the shells' completions show it. */
export interface CommandNode {
  /** The words that call it, such as `sandpy memory list`. */
  readonly path: string;
  /** Its first line can stand alone. */
  readonly description: string;
  readonly examples: readonly Example[];
  readonly args: ArgsDef;
  readonly commands: readonly CommandNode[];
}

/** Commands for scripts of ours: whoever types never sees them. */
const HIDDEN = /^__/;

/**
 * Loads what a command declares of itself, and `depth` levels of its commands. Those further down are left out.
 */
export async function loadNode(
  command: CommandDef,
  path: string,
  depth = Number.POSITIVE_INFINITY,
): Promise<CommandNode> {
  const { description = "" } = (await resolvePart<CommandMeta>(command.meta)) ?? {};
  const args = (await resolvePart<ArgsDef>(command.args)) ?? {};
  const commands: CommandNode[] = [];
  if (depth > 0) {
    for (const [name, lazy] of Object.entries(await loadCommands(command))) {
      const loaded = await resolvePart<CommandDef>(lazy);
      if (loaded !== undefined && !HIDDEN.test(name))
        commands.push(await loadNode(loaded, `${path} ${name}`, depth - 1));
    }
  }
  return { path, description, examples: EXAMPLES[path] ?? [], args, commands };
}

/** All commands of a tree, each before those below it. */
export function flatten(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.commands.flatMap(flatten)];
}

/** The commands right below one, by name; the hidden ones too. */
export async function loadCommands(command: CommandDef): Promise<Record<string, Resolvable<CommandDef>>> {
  return (await resolvePart<Record<string, Resolvable<CommandDef>>>(command.subCommands)) ?? {};
}

/** Those of some names that whoever types may be told of. */
export function visible(names: readonly string[]): readonly string[] {
  return names.filter((name) => !HIDDEN.test(name));
}

/** citty lets each part of a declaration be a value, a promise, or a function that makes one. */
export async function resolvePart<T>(part: Resolvable<T> | undefined): Promise<T | undefined> {
  return typeof part === "function" ? (part as () => T | Promise<T>)() : part;
}

/** The last of the words that call a command. */
export function nameOf({ path }: CommandNode): string {
  return path.slice(path.lastIndexOf(" ") + 1);
}

/** The first line of its description, which says it all in short. */
export function summaryOf({ description }: CommandNode): string {
  return description.split("\n", 1)[0] ?? "";
}

/** The one-letter names of a flag, without their dash. */
export function aliasesOf(arg: ArgDef): readonly string[] {
  const alias = "alias" in arg ? arg.alias : undefined;
  if (alias === undefined) return [];
  return typeof alias === "string" ? [alias] : alias;
}

/** The values of an enumeration: an `enum`'s, or those of a hint such as `bash|zsh|fish`; else none. */
export function choicesOf(arg: ArgDef | undefined): readonly string[] {
  if (arg !== undefined && "options" in arg && arg.options !== undefined) return arg.options;
  const { valueHint = "" } = arg ?? {};
  return /^[\w-]+(\|[\w-]+)+$/.test(valueHint) ? valueHint.split("|") : [];
}
