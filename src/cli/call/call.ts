import { defineCommand } from "citty";
import { loadSettings } from "../../config/load-file.ts";
import { BridgeError, type ErrorCode, EXIT_CODES } from "../../core/errors.ts";
import type { ToolSummary } from "../../kernel/host-tools.ts";
import { MANY } from "../arguments.ts";
import type { CliContext, CliIo } from "../context.ts";
import { createQuietLog, print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { parseSeconds, SETTING_FLAGS, settingOverrides } from "../setting-flags.ts";
import { stoppable } from "../stoppable.ts";
import { terminalWidth } from "../table.ts";
import { createTerminalPeer } from "./terminal-peer.ts";
import { type Attachment, readAnswer, saveAttachments } from "./tool-answer.ts";
import { describeMismatch, readToolArguments } from "./tool-arguments.ts";

/** `sandpy call` */
export const callCommand = defineCommand({
  meta: { name: "call", description: "Call one tool of an MCP server and print what it says." },
  args: {
    server: { type: "positional", required: true, description: "the server, by name or alias" },
    tool: { type: "positional", required: true, description: "the tool, by name or alias" },
    argument: {
      type: "positional",
      required: false,
      valueHint: MANY,
      description:
        'a JSON object, "@file" or "-" (stdin) with one; or NAME=VALUE for each argument, NAME:=JSON for what is not text',
    },
    timeout: { type: "string", valueHint: "seconds", description: "give up after this long" },
    save: { type: "string", valueHint: "folder", description: "write images, sounds and files there" },
    json: { type: "boolean", description: "print the whole result as JSON" },
    config: SETTING_FLAGS.config,
    "trust-project": SETTING_FLAGS["trust-project"],
  },
  run: ({ args, data }) =>
    callTool(
      {
        server: args.server,
        tool: args.tool,
        words: args._,
        timeout: args.timeout,
        folder: args.save,
        json: args.json === true,
        settings: args,
      },
      data,
    ),
});

interface CallOptions {
  readonly server: string;
  readonly tool: string;
  readonly words: readonly string[];
  readonly timeout: string | undefined;
  readonly folder: string | undefined;
  readonly json: boolean;
  /** The flags that set settings are among these. */
  readonly settings: Readonly<Record<string, unknown>>;
}

async function callTool(options: CallOptions, { io }: CliContext): Promise<number> {
  const { server, tool, words, timeout, folder, json } = options;
  const config = await loadSettings(io.env, settingOverrides(options.settings));
  const timeoutMs = timeout === undefined ? config.timeoutMs : parseSeconds("timeout", timeout) * 1000;
  const given = await readToolArguments(words, io.stdin);
  const log = createQuietLog(config, io);
  const canAsk = io.stdinIsTerminal && words[0] !== "-";
  return stoppable(io, "the call", async (signal) => {
    const { callOneTool } = await import("../../app/tool-call.ts");
    const peer = createTerminalPeer(io, canAsk);
    let mismatch: string | undefined;
    const fill = (found: ToolSummary | undefined) => {
      const filled = typeof given === "function" ? given(found) : given;
      mismatch = describeMismatch(filled, found);
      return filled;
    };
    const call = { server, tool, arguments: fill, peer, timeoutMs };
    const result = await callOneTool(config, call, { selfPath: io.selfPath, log }, signal).catch(
      (error: unknown) => {
        throw error instanceof BridgeError ? forPerson(error, options, canAsk) : error;
      },
    );
    const failed = result["isError"] === true;
    const { text, attachments } = readAnswer(result);
    const paths = folder === undefined ? [] : await saveAttachments(attachments, folder);
    if (json) {
      const code = await printJson(io, result);
      return failed ? EXIT_CODES.UPSTREAM_FAILED : code;
    }
    if (folder === undefined) noteUnshown(io, attachments);
    const saved = paths.map((path) => `${path}\n`).join("");
    if (failed) {
      io.stderr.write(renderRefusal(options, shown(io.stderr, text)));
      if (mismatch !== undefined) io.stderr.write(`${printable(mismatch)}\n`);
      return EXIT_CODES.UPSTREAM_FAILED;
    }
    return await print(io, shown(io.stdout, text) + saved);
  });
}

/** A program gets every character; a terminal must not act on any. */
function shown(stream: CliIo["stdout"], text: string): string {
  return terminalWidth(stream) === undefined ? text : text.split("\n").map(printable).join("\n");
}

function renderRefusal({ server, tool }: CallOptions, text: string): string {
  const what = `tool ${JSON.stringify(tool)} of server ${JSON.stringify(server)} reported an error`;
  return text === "" ? `sandpy: ${printable(what)}\n` : `sandpy: ${printable(what)}:\n${text}`;
}

function noteUnshown({ stderr }: CliIo, attachments: readonly Attachment[]): void {
  for (const { what, type, bytes, uri } of attachments) {
    const name = uri === undefined ? "" : ` ${uri}`;
    const kind = what === "resource" ? "a file" : what === "audio" ? "a sound" : "an image";
    stderr.write(
      `sandpy: not shown: ${printable(`${kind}${name} (${type}, ${bytes.length} bytes)`)}; --save=<folder> writes it\n`,
    );
  }
}

/** What tells code what to do next, said to who types. */
function forPerson(error: BridgeError, { server }: CallOptions, canAsk: boolean): BridgeError {
  const hints: Partial<Record<ErrorCode, string | undefined>> = {
    UPSTREAM_UNKNOWN_TOOL: `For its tools, type: sandpy tools ${server}`,
    APPROVAL_DENIED: canAsk ? "" : "Call it at a terminal, where you can be asked, or change that rule.",
  };
  if (!(error.code in hints)) return error;
  const hint = hints[error.code];
  return new BridgeError(error.code, error.message, {
    ...(hint === undefined || hint === "" ? {} : { hint }),
    cause: error,
  });
}
