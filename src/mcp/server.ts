import {
  fromJsonSchema,
  type InputRequiredResult,
  type JsonSchemaValidatorResult,
  McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { renderError, toBridgeError } from "../core/errors.ts";
import { sizeOfJson } from "../core/json-size.ts";
import type { Log } from "../core/log.ts";
import { createShortId, currentRun, withinRun } from "../core/run-context.ts";
import { type Span, type Tracing, traced } from "../core/tracing.ts";
import type { McpClientPeer } from "./client-peer.ts";
import { ListedTool, NO_SERVERS, type ServerNames } from "./listed-tool.ts";
import type { PythonRunner } from "./python-runner.ts";
import {
  charsOf,
  type OutputMode,
  renderRefusal,
  renderRunResult,
  type ToolAnswer,
  withoutImages,
} from "./render-result.ts";
import { describeRequestSpan } from "./request-span.ts";
import {
  createRunPythonInput,
  type ParsedArguments,
  RUN_PYTHON,
  type RunPythonInput,
  type RunPythonLimits,
} from "./run-python.ts";
import { type UnreadResults, unreadFault, waitForRoom } from "./unread-results.ts";

/** Of one answer; there is not room for so much. */
const MAX_COUNTED = 1024 ** 3;
const LATE = "The run that this answers is over, or is answered by another request. Call run_python again.";

/** What {@link createServer} needs beside the runner. */
export interface ServerOptions {
  readonly name: string;
  readonly version: string;
  readonly defaults: RunPythonLimits;
  readonly outputMode: OutputMode;
  readonly log: Log;
  /** Where calls are traced; absent: nowhere. */
  readonly tracing?: Tracing | undefined;
  /** Aborting it cancels the runs under way, and they still answer; a client's own cancellation gets no answer. */
  readonly shutdown?: AbortSignal;
  /** The client of the connection, as upstream servers reach it. */
  readonly peer: McpClientPeer;
  /** The servers that the description of the tool names; absent: none is known. */
  readonly servers?: ServerNames;
  /** The tool as it is listed, where several connections share it; who made it closes it. */
  readonly tool?: ListedTool;
  /** Holds runs back whose results would be held for a client that does not read; absent: nothing does. */
  readonly unread?: UnreadResults;
  /** The manual for models, in Markdown. */
  readonly manual: string;
}

/** The address of the manual, as in the system that this one follows. */
const MANUAL_URI = "resource://mcp-server-code-execution-mode/capabilities";
const inputs = new WeakMap<RunPythonLimits, RunPythonInput>();

/** Creates the MCP server for one connection; what it holds, it lets go of when `shutdown` is aborted. */
export function createServer(runner: PythonRunner, options: ServerOptions): McpServer {
  const server = new McpServer(
    { name: options.name, version: options.version },
    { capabilities: { tools: { listChanged: true }, resources: { listChanged: false }, logging: {} } },
  );
  options.peer.attach(server, options.log.level);
  const tool = options.tool ?? listTool(server, options);
  const { tracing, peer } = options;
  server.registerTool(RUN_PYTHON, { inputSchema: ANY_INPUT }, (raw, context) => {
    const run = async (span?: Span) => {
      const answer = await runPython(runner, options, () => inputOf(options.defaults).parse(raw), context);
      if ("isError" in answer && answer.isError === true) span?.fail("tool_error");
      const hold = (chars: number) => options.unread?.hold(context.mcpReq.id, chars) ?? true;
      if (!("structuredContent" in answer)) {
        // A question, which can be asked for again and again; its run goes on waiting.
        return hold(sizeOfJson(answer, MAX_COUNTED)) ? answer : renderFailure(unreadFault(), options);
      }
      const made = answer as ToolAnswer;
      return hold(charsOf(made)) ? made : withoutImages(made);
    };
    // Over HTTP the request has a name already; over stdio it gets one here.
    return withinRun({ requestId: currentRun().requestId ?? createShortId() }, () =>
      tracing === undefined ? run() : traced(tracing, describeRequestSpan(context, peer.revision()), run),
    );
  });
  // In place of the SDK's own, which has no time to find out what the description is.
  server.server.setRequestHandler("tools/list", async () => {
    const inputSchema = { type: "object" as const, ...inputOf(options.defaults).jsonSchema };
    return { tools: [{ name: RUN_PYTHON, description: await tool.describe(), inputSchema }] };
  });
  server.registerResource(
    "capabilities",
    MANUAL_URI,
    { description: "How to use run_python", mimeType: "text/markdown" },
    ({ href }) => ({ contents: [{ uri: href, mimeType: "text/markdown", text: options.manual }] }),
  );
  return server;
}

function listTool(server: McpServer, { servers = NO_SERVERS, shutdown }: ServerOptions): ListedTool {
  const tool = new ListedTool(servers, () => server.sendToolListChanged());
  shutdown?.addEventListener("abort", () => tool.close(), { once: true });
  return tool;
}

/** Made when somebody first asks for it: over HTTP there may be a server for each request, and `initialize` needs none. */
function inputOf(limits: RunPythonLimits): RunPythonInput {
  const input = inputs.get(limits) ?? createRunPythonInput(limits);
  inputs.set(limits, input);
  return input;
}

/** The SDK answers a failed schema check with a raw dump of issues; so it checks nothing, and we do. */
const ANY_INPUT = fromJsonSchema({ type: "object" }, { getValidator: <T>() => accept<T> });

function accept<T>(input: unknown): JsonSchemaValidatorResult<T> {
  return { valid: true, data: input as T, errorMessage: undefined };
}

async function runPython(
  runner: PythonRunner,
  options: ServerOptions,
  parse: () => ParsedArguments,
  context: ServerContext,
): Promise<ToolAnswer | InputRequiredResult> {
  const { peer } = options;
  const token = context.mcpReq.requestState<string>();
  if (token !== undefined)
    return peer.resume(token, context) ?? renderRefusal("error", "SESSION_CLOSED", LATE);
  const parsed = parse();
  if (parsed.kind === "invalid") return renderRefusal("validation_error", "USAGE", parsed.message);
  return peer.conduct(context, async (run, runPeer) => {
    const onOutput = run.progress && ((text: string, skipped: number) => run.progress?.append(text, skipped));
    const { shutdown, unread } = options;
    const ready = unread && ((until: AbortSignal) => waitForRoom(unread, until));
    const signal = shutdown === undefined ? run.signal : AbortSignal.any([run.signal, shutdown]);
    try {
      const result = await runner.run(
        { ...parsed.arguments, onOutput, peer: runPeer, ...(ready === undefined ? {} : { ready }) },
        signal,
      );
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
