import type { ArgsDef, CommandDef, ParsedArgs } from "citty";
import { type BridgeError, toBridgeError } from "../core/errors.ts";
import { COMMIT, VERSION } from "../core/version.ts";
import { didYouMean, parseArguments, usage } from "./arguments.ts";
import { loadCommands, loadNode, resolvePart, visible } from "./command-tree.ts";
import type { CliContext, CliIo } from "./context.ts";
import { hintForGuess } from "./guessed-commands.ts";
import { print } from "./output.ts";
import { addressed, printable } from "./printable.ts";
import { renderHelp } from "./render-help.ts";
import { root } from "./root.ts";
import { type Style, styleFor } from "./style.ts";
import { screenOf } from "./table.ts";

const NAME = "sandpy";

/** What an MCP client does: it starts us without arguments and talks to stdin. */
const DEFAULT_COMMAND = "serve";

/**
 * Runs the command that `argv` (without the interpreter's own words) asks for and returns the exit code; never
 * rejects. Stdout gets the answer, and help that was asked for; errors go to stderr, with their code in the table.
 */
export async function runCli(
  argv: readonly string[],
  io: CliIo,
  createBridge: CliContext["createBridge"] = bridgeLoader(io.selfPath),
): Promise<number> {
  const context = { io, createBridge };
  let path = NAME;
  try {
    const [first] = argv;
    if (first === undefined && !io.stdinIsTerminal) return await runCli([DEFAULT_COMMAND], io, createBridge);
    if (first === undefined) return await print(io, await helpPage(root, NAME, io));
    if (first.startsWith("-")) return await callRoot(argv, io);
    if (first === "help") return await runCli([...argv.slice(1), "--help"], io, createBridge);
    let command: CommandDef = root;
    let words = argv;
    // `sandpy memory tools list`: each word that names a command leads one further down.
    for (;;) {
      const [word] = words;
      const commands = await loadCommands(command);
      const names = Object.keys(commands);
      if (names.length === 0 || word === undefined || word.startsWith("-")) break;
      if (!names.includes(word)) throw unknownCommand(word, visible(names), path);
      command = (await resolvePart<CommandDef>(commands[word])) ?? {};
      path = `${path} ${word}`;
      words = words.slice(1);
    }
    return await call(command, path, words, context);
  } catch (error) {
    const failure = toBridgeError(error);
    io.stderr.write(renderFailure(failure, path, styleFor(io, io.stderr)));
    return failure.exitCode;
  }
}

/** The composition root brings the whole program with it, so only the commands that need it load it. */
function bridgeLoader(selfPath: string | undefined): CliContext["createBridge"] {
  return async (config, options) => {
    const { createBridge } = await import("../app/bridge.ts");
    return createBridge(config, selfPath === undefined ? options : { ...options, selfPath });
  };
}

/** Flags without a command. */
async function callRoot(words: readonly string[], io: CliIo): Promise<number> {
  const { values, helpAsked } = parseArguments(words, (await resolvePart<ArgsDef>(root.args)) ?? {});
  if (helpAsked || values["version"] !== true) return print(io, await helpPage(root, NAME, io));
  return print(io, `${NAME} ${VERSION} (${COMMIT})\n`);
}

async function call(
  command: CommandDef,
  path: string,
  words: readonly string[],
  context: CliContext,
): Promise<number> {
  const { values, rest, helpAsked } = parseArguments(words, (await resolvePart<ArgsDef>(command.args)) ?? {});
  // A command of commands does nothing itself.
  if (helpAsked || command.run === undefined)
    return print(context.io, await helpPage(command, path, context.io));
  const args = { _: [...rest], ...values } as ParsedArgs;
  return (await command.run({ args, rawArgs: [...words], cmd: command, data: context })) as number;
}

function unknownCommand(word: string, commands: readonly string[], path: string): BridgeError {
  const hint =
    hintForGuess(path, word) ??
    didYouMean(word, commands) ??
    `The commands are: ${commands.join(", ")}. Type "${path} --help" for more.`;
  return usage(`unknown command ${JSON.stringify(word)}`, hint);
}

async function helpPage(command: CommandDef, path: string, io: CliIo): Promise<string> {
  return renderHelp(await loadNode(command, path, 1), screenOf(io));
}

function renderFailure(failure: BridgeError, path: string, { red }: Style): string {
  const lines = [`${red(`${NAME}:`)} ${printableLines(failure.message)}`];
  if (failure.hint !== undefined) lines.push(printableLines(addressed(failure.hint)));
  else if (failure.code === "USAGE") lines.push(`Type "${path} --help" for what it takes.`);
  // A fault of ours: where it happened is what a report of it needs.
  const bug = failure.cause instanceof Error ? failure.cause : failure;
  if (failure.code === "INTERNAL" && bug.stack !== undefined) lines.push(bug.stack);
  return `${lines.join("\n")}\n`;
}

/** Messages quote servers, engines and files, none of which commands the terminal. */
function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}
