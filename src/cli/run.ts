import { defineCommand } from "citty";
import type { ConfigOverrides } from "../config/load.ts";
import { loadSettings } from "../config/load-file.ts";
import { withDeadline } from "../core/lifecycle.ts";
import { createLog } from "../core/log.ts";
import type { Outcome } from "../session/outcome.ts";
import { LIST } from "./arguments.ts";
import { type CliContext, type CliIo, STOP_SIGNALS, type StopSignal } from "./context.ts";
import { LiveOutput } from "./live-output.ts";
import { flush, isLoss, reportLoss } from "./output.ts";
import { readScript } from "./script-source.ts";
import { parseSeconds, SETTING_FLAGS, settingOverrides } from "./setting-flags.ts";

const CLOSE_MS = 5000;
const EXIT_TIMEOUT = 124; // as timeout(1)
const EXIT_KILLED = 137; // as a shell says of SIGKILL, which is how the kernel ends what is out of memory
const EXIT_PIPE = 141; // as a shell says of SIGPIPE
const EXIT_SIGNALS = 128; // above it, as a shell says of signals

/** `sandpy run` */
export const runCommand = defineCommand({
  meta: { name: "run", description: "Run one Python program in a fresh sandbox; its exit code is ours." },
  args: {
    file: { type: "positional", required: true, description: 'the program, or "-" for stdin' },
    args: { type: "positional", required: false, description: "sys.argv[1:] of the program" },
    timeout: { type: "string", valueHint: "seconds", description: "stop it after this long" },
    servers: { type: "string", valueHint: LIST, description: "MCP servers to connect before it starts" },
    ...SETTING_FLAGS,
  },
  run: ({ args, data }) =>
    runFile(
      {
        file: args.file,
        argv: args._,
        timeout: args.timeout,
        servers: args.servers,
        overrides: settingOverrides(args),
      },
      data,
    ),
});

interface RunOptions {
  readonly file: string;
  readonly argv: readonly string[];
  readonly timeout: string | undefined;
  readonly servers: string | undefined;
  readonly overrides: ConfigOverrides;
}

async function runFile(options: RunOptions, { io, createBridge }: CliContext): Promise<number> {
  const config = await loadSettings(io.env, options.overrides);
  const timeoutMs =
    options.timeout === undefined ? config.timeoutMs : parseSeconds("timeout", options.timeout) * 1000;
  const { code, filename } = await readScript(options.file, io.stdin);
  const log = createLog(config.logLevel, (line) => io.stderr.write(line));
  const stop = new AbortController();
  let signal: StopSignal | undefined;
  const forget = io.onStopSignal((name) => {
    signal ??= name;
    stop.abort();
  });
  const stdout = new LiveOutput(io.stdout, () => stop.abort());
  const stderr = new LiveOutput(io.stderr, () => undefined);

  const bridge = await createBridge(config, { log });
  try {
    const request = {
      code,
      servers: parseServers(options.servers),
      timeoutMs,
      script: { filename, argv: [options.file, ...options.argv] },
      onOutput: (name: "stdout" | "stderr", text: string) =>
        (name === "stdout" ? stdout : stderr).write(text),
    };
    const session = await bridge.openSession();
    const outcome = await session.execute(request, stop.signal);
    report(outcome, timeoutMs, io);
    await flush(io.stdout);
    return isLoss(stdout.error) ? reportLoss(io, stdout.error) : exitCodeOf(outcome, signal);
  } catch (error) {
    if (signal !== undefined) return 128 + STOP_SIGNALS[signal]; // stopped before anything ran
    throw error;
  } finally {
    await withDeadline(bridge.close(), CLOSE_MS, "closing").catch((error: unknown) =>
      log.warning("could not clean up", { error: String(error) }),
    );
    forget();
  }
}

function parseServers(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** Says on stderr what the program's own output does not. */
function report({ status, error, exitCode, notes }: Outcome, timeoutMs: number, { stderr }: CliIo): void {
  if (status === "cancelled") return; // whoever stopped it knows
  if (error !== null) stderr.write(`${error.traceback.trimEnd()}\n`);
  if (status === "timeout") {
    const seconds = timeoutMs / 1000;
    stderr.write(
      `sandpy: the program was stopped after ${seconds} s\nGive it longer with --timeout=<seconds>.\n`,
    );
    return;
  }
  if (status === "died" && exitCode !== null && exitCode <= EXIT_SIGNALS) return; // os._exit: its own choice
  for (const note of notes) stderr.write(`sandpy: ${note}\n`);
}

function exitCodeOf({ status, exitCode }: Outcome, signal: StopSignal | undefined): number {
  switch (status) {
    case "ok":
      return 0;
    case "exit":
      return (exitCode ?? 0) & 0xff;
    case "error":
      return 1;
    case "timeout":
      return EXIT_TIMEOUT;
    case "died":
      return exitCode === null ? EXIT_KILLED : exitCode & 0xff;
    case "cancelled":
      return signal === undefined ? EXIT_PIPE : 128 + STOP_SIGNALS[signal];
  }
}
