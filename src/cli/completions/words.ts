import type { ArgDef } from "citty";
import { MANY, REST } from "../arguments.ts";
import { aliasesOf, type CommandNode, choicesOf, flatten, nameOf, summaryOf } from "../command-tree.ts";
import type { Asked } from "./answers.ts";

/** What can stand in a place of the command line. */
export type Candidates =
  | { readonly kind: "nothing" | "files" | "folders" }
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "asked"; readonly what: Asked };

export interface FlagWords {
  /** With their dashes, the longest first. */
  readonly names: readonly string[];
  readonly description: string;
  /** `undefined`: it takes no value. */
  readonly value: Candidates | undefined;
  readonly isRepeated: boolean;
}

export interface ArgumentWords {
  readonly name: string;
  readonly candidates: Candidates;
  readonly isRequired: boolean;
  readonly isMany: boolean;
}

/** One command as the shells' scripts need it. */
export interface CommandWords {
  readonly path: string;
  readonly flags: readonly FlagWords[];
  readonly arguments: readonly ArgumentWords[];
  readonly commands: readonly { readonly name: string; readonly description: string }[];
}

/** What is asked of the program while somebody types, by path and argument. */
const ASKED: Readonly<Record<string, Asked>> = {
  "sandpy servers name": "servers",
  "sandpy tools server": "servers",
  "sandpy call server": "servers",
  "sandpy call tool": "tools",
  "sandpy auth server": "servers",
  "sandpy memory show key": "memories",
  "sandpy memory set key": "memories",
  "sandpy memory delete key": "memories",
  "sandpy config get key": "settings",
};
const ASKED_BY_FLAG: Readonly<Record<string, Asked>> = {
  servers: "servers",
  "allow-server": "servers",
  "deny-server": "servers",
};
const HELP: FlagWords = {
  names: ["--help", "-h"],
  description: "show this help",
  value: undefined,
  isRepeated: false,
};

/** All commands of the tree. */
export function collectWords(tree: CommandNode): readonly CommandWords[] {
  return flatten(tree).map((node) => {
    const entries = Object.entries(node.args);
    return {
      path: node.path,
      flags: [
        ...entries
          .filter(([, arg]) => arg.type !== "positional")
          .map(([name, arg]) => ({
            names: [`--${name}`, ...aliasesOf(arg).map((alias) => `-${alias}`)],
            description: arg.description ?? "",
            value: arg.type === "boolean" ? undefined : flagCandidates(name, arg),
            isRepeated: arg.valueHint?.endsWith(MANY) === true,
          })),
        HELP,
      ],
      arguments: entries
        .filter(([, arg]) => arg.type === "positional")
        .map(([name, arg]) => ({
          name,
          candidates: argumentCandidates(node.path, name, arg),
          isRequired: arg.required !== false,
          isMany: arg.valueHint === MANY || name === REST,
        })),
      commands: node.commands.map((command) => ({
        name: nameOf(command),
        description: summaryOf(command),
      })),
    };
  });
}

function flagCandidates(name: string, arg: ArgDef): Candidates {
  const what = ASKED_BY_FLAG[name];
  if (what !== undefined) return { kind: "asked", what };
  return byHint(arg.valueHint?.replace(MANY, ""), arg);
}

function argumentCandidates(path: string, name: string, arg: ArgDef): Candidates {
  const what = ASKED[`${path} ${name}`];
  if (what !== undefined) return { kind: "asked", what };
  return byHint(name === REST ? "file" : name, arg);
}

function byHint(hint: string | undefined, arg: ArgDef): Candidates {
  const words = choicesOf(arg);
  if (words.length > 0) return { kind: "words", words };
  if (hint === "file") return { kind: "files" };
  return { kind: hint === "folder" || hint === "dir" ? "folders" : "nothing" };
}
