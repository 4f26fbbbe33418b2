import {
  fromJsonSchema,
  type JsonSchemaValidatorResult,
  McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { renderError, toBridgeError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { ProgressStream } from "./progress.ts";
import type { PythonRunner } from "./python-runner.ts";
import { type OutputMode, renderRefusal, renderRunResult, type ToolAnswer } from "./render-result.ts";
import {
  inputJsonSchema,
  parseArguments,
  RUN_PYTHON,
  RUN_PYTHON_DESCRIPTION,
  type RunPythonLimits,
} from "./run-python.ts";

/** What {@link createServer} needs beside the runner. */
export interface ServerOptions {
  readonly name: string;
  readonly version: string;
  readonly defaults: RunPythonLimits;
  readonly outputMode: OutputMode;
  readonly log: Log;
  /** Aborting it cancels the runs under way, and they still answer; a client's own cancellation gets no answer. */
  readonly shutdown?: AbortSignal;
}

/** Creates the MCP server for one connection. Cheap and pure: it holds nothing, so any number of them may exist. */
export function createServer(runner: PythonRunner, options: ServerOptions): McpServer {
  const server = new McpServer(
    { name: options.name, version: options.version },
    { capabilities: { tools: { listChanged: false } } },
  );
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
): Promise<ToolAnswer> {
  const parsed = parseArguments(raw, options.defaults);
  if (parsed.kind === "invalid") return renderRefusal("validation_error", "USAGE", parsed.message);
  const { signal } = context.mcpReq;
  const progress = createProgress(context);
  try {
    const result = await runner.run(
      { ...parsed.arguments, onOutput: progress && ((text) => progress.append(text)) },
      options.shutdown === undefined ? signal : AbortSignal.any([signal, options.shutdown]),
    );
    return renderRunResult(result, options.outputMode);
  } catch (error) {
    const failure = toBridgeError(error);
    const status = failure.code === "CANCELLED" ? "cancelled" : "error";
    if (failure.code !== "INTERNAL") return renderRefusal(status, failure.code, renderError(failure));
    const { stack } = failure.cause instanceof Error ? failure.cause : failure;
    options.log.error("run_python failed", { stack });
    return renderRefusal(
      "error",
      failure.code,
      `internal error in ${options.name}: ${renderError(failure)}\nIts log says more; try again.`,
    );
  } finally {
    progress?.stop();
  }
}

/** Output is streamed only to a client that asked for it, by sending a token. */
function createProgress({ mcpReq }: ServerContext): ProgressStream | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return new ProgressStream((update) =>
    mcpReq.notify({ method: "notifications/progress", params: { progressToken, ...update } }),
  );
}
