import {
  fromJsonSchema,
  type InputRequiredResult,
  type JsonSchemaValidatorResult,
  McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { renderError, toBridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { McpClientPeer } from "./client-peer.ts";
import type { PythonRunner } from "./python-runner.ts";
import { type OutputMode, renderRefusal, renderRunResult, type ToolAnswer } from "./render-result.ts";
import {
  inputJsonSchema,
  parseArguments,
  RUN_PYTHON,
  RUN_PYTHON_DESCRIPTION,
  type RunPythonLimits,
} from "./run-python.ts";

const LATE = "The run that this answers is over, or is answered by another request. Call run_python again.";

/** What {@link createServer} needs beside the runner. */
export interface ServerOptions {
  readonly name: string;
  readonly version: string;
  readonly defaults: RunPythonLimits;
  readonly outputMode: OutputMode;
  readonly log: Log;
  /** Aborting it cancels the runs under way, and they still answer; a client's own cancellation gets no answer. */
  readonly shutdown?: AbortSignal;
  /** The client of the connection, as upstream servers reach it. */
  readonly peer: McpClientPeer;
}

/** Creates the MCP server for one connection. Cheap: it holds nothing, so any number of them may exist. */
export function createServer(runner: PythonRunner, options: ServerOptions): McpServer {
  const server = new McpServer(
    { name: options.name, version: options.version },
    { capabilities: { tools: { listChanged: false }, logging: {} } },
  );
  options.peer.attach(server);
  server.registerTool(
    RUN_PYTHON,
    { description: RUN_PYTHON_DESCRIPTION, inputSchema: permissiveSchema(options.defaults) },
    (raw, context) => runPython(runner, options, raw, context),
  );
  return server;
}

/** The SDK answers a failed schema check with a raw dump of issues; so it checks nothing, and we do. */
function permissiveSchema(limits: RunPythonLimits) {
  const accept = <T>(input: unknown): JsonSchemaValidatorResult<T> => ({
    valid: true,
    data: input as T,
    errorMessage: undefined,
  });
  return fromJsonSchema(inputJsonSchema(limits), { getValidator: <T>() => accept<T> });
}

async function runPython(
  runner: PythonRunner,
  options: ServerOptions,
  raw: unknown,
  context: ServerContext,
): Promise<ToolAnswer | InputRequiredResult> {
  const { peer } = options;
  const token = context.mcpReq.requestState<string>();
  if (token !== undefined)
    return peer.resume(token, context) ?? renderRefusal("error", "SESSION_CLOSED", LATE);
  const parsed = parseArguments(raw, options.defaults);
  if (parsed.kind === "invalid") return renderRefusal("validation_error", "USAGE", parsed.message);
  return peer.conduct(context, async (run, started) => {
    const onOutput = run.progress && ((text: string, skipped: number) => run.progress?.append(text, skipped));
    const { shutdown } = options;
    const signal = shutdown === undefined ? run.signal : AbortSignal.any([run.signal, shutdown]);
    try {
      const result = await runner.run({ ...parsed.arguments, onOutput, onStart: started }, signal);
      return renderRunResult(result, options.outputMode);
    } catch (error) {
      return renderFailure(error, options);
    }
  });
}

function renderFailure(error: unknown, { log, name }: ServerOptions): ToolAnswer {
  const failure = toBridgeError(error);
  const status = failure.code === "CANCELLED" ? "cancelled" : "error";
  if (failure.code !== "INTERNAL") return renderRefusal(status, failure.code, renderError(failure));
  const { stack } = failure.cause instanceof Error ? failure.cause : failure;
  log.error("run_python failed", { stack });
  const text = `internal error in ${name}: ${renderError(failure)}\nIts log says more; try again.`;
  return renderRefusal("error", failure.code, text);
}
