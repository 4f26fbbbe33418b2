import { defineCommand } from "citty";
import { LIST, MANY, usage, valuesOf } from "../arguments.ts";
import type { CliContext } from "../context.ts";
import { parseSeconds, SETTING_FLAGS, settingOverrides } from "../setting-flags.ts";
import { type JobOptions, parseEnv } from "./job-options.ts";
import { runJob } from "./run-job.ts";

/** `sandpy run` */
export const runCommand = defineCommand({
  meta: {
    name: "run",
    description:
      "Run one Python program in a fresh sandbox; its exit code is ours.\nIt has no network, no variables of yours, and reaches only the MCP servers that are named.\nCtrl-C or SIGTERM interrupts it, and what it left still comes back; a second one waits for nothing.",
  },
  args: {
    file: { type: "positional", required: false, description: 'the program, or "-" for stdin' },
    args: { type: "positional", required: false, description: "sys.argv[1:] of the program" },
    code: {
      type: "string",
      alias: "c",
      valueHint: "code",
      description: "the program itself, in place of FILE",
    },
    servers: {
      type: "string",
      valueHint: LIST,
      description: "the MCP servers that it may use; default none",
    },
    allow: {
      type: "string",
      valueHint: LIST,
      description: "call only these tools of them: server.tool, with * and ?",
    },
    timeout: { type: "string", valueHint: "seconds", description: "stop it after this long" },
    env: {
      type: "string",
      valueHint: `NAME[=VALUE]${MANY}`,
      description: "a variable for it; NAME alone: as it is here",
    },
    mount: {
      type: "string",
      valueHint: `HOST:PATH[:ro]${MANY}`,
      description: "let it see this folder of yours, and write to it unless :ro is said",
    },
    in: {
      type: "string",
      valueHint: `file${MANY}`,
      description: "copy this file or folder into /workspace, where it starts",
    },
    out: {
      type: "string",
      valueHint: "folder",
      description: "put what it leaves in /workspace/out here, with manifest.json",
    },
    json: { type: "boolean", description: "print the whole result as JSON, and nothing else" },
    "no-network": { type: "boolean", description: "there is never any; accepted so that scripts can say it" },
    verbose: { type: "boolean", description: "say on stderr what is being done" },
    ...SETTING_FLAGS,
  },
  run: ({ args, data }) => {
    const context: CliContext = data;
    if ((args.file === undefined) === (args.code === undefined)) {
      throw args.file === undefined
        ? usage(
            "FILE is missing",
            'Give the path of a Python file, "-" for stdin, or the program with -c CODE.',
          )
        : usage(
            `both FILE ${JSON.stringify(args.file)} and -c are given`,
            'Arguments of the program come after "--".',
          );
    }
    const options: JobOptions = {
      file: args.file,
      code: args.code,
      argv: args._,
      timeoutMs: args.timeout === undefined ? undefined : parseSeconds("timeout", args.timeout) * 1000,
      servers: namesIn(args.servers),
      allow: args.allow === undefined ? undefined : namesIn(args.allow),
      env: parseEnv(args.env, context.io.env),
      inputs: valuesOf(args.in),
      mounts: valuesOf(args.mount),
      out: args.out,
      json: args.json === true,
      verbose: args.verbose === true,
      overrides: settingOverrides(args),
    };
    return runJob(options, context);
  },
});

function namesIn(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
