import { access, stat } from "node:fs/promises";
import { SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import type { ChildExit } from "../core/child.ts";
import { BridgeError } from "../core/errors.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import { correctionHint, type StdioDefinition } from "./definitions.ts";
import type { Mask } from "./mask.ts";
import { ServerGone } from "./server-gone.ts";
import type { StdioTransport } from "./transport.ts";

const MAX_LAST_WORDS = 2000;
const GATEWAY_HINT =
  "Docker's gateway mostly ends so when a login or a secret is missing: run its command by hand and see, then `docker login`, `docker mcp oauth authorize` or `docker mcp secret set`.";

/** What is known when a connection could not be made. */
export interface ConnectFault {
  readonly error: unknown;
  readonly definition: StdioDefinition;
  readonly transport: StdioTransport;
  readonly signal: AbortSignal;
  readonly connectMs: number;
  readonly env: Readonly<Record<string, string>>;
  readonly mask: Mask;
}

/** Says why a server did not come up, and what the user can do about it. */
export async function describeConnectFault(fault: ConnectFault): Promise<BridgeError> {
  const { error, definition, transport, signal, mask } = fault;
  const server = `server ${quote(definition.name)}`;
  const hint = correctionHint(definition, fault.env["HOME"]);
  const data = { server: definition.name };
  const fail = (message: string, advice = hint) =>
    new BridgeError("UPSTREAM_UNREACHABLE", message, { hint: advice, data, cause: error });
  if (transport.pid === null)
    return fail(`${server} could not be started: ${await describeSpawnFault(fault)}`);
  if (signal.aborted && signal.reason instanceof BridgeError) return signal.reason;
  const isLate = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
  if (isLate || signal.aborted) {
    const message = `${server} did not finish its start within ${fault.connectMs / 1000} s`;
    return new BridgeError("UPSTREAM_TIMEOUT", message + lastWords(transport, mask), {
      hint: "If it downloads itself on its first start, try again; else run its command by hand and see.",
      data,
      cause: error,
    });
  }
  if (transport.fault !== undefined)
    return fail(`${server} could not be started: it ${transport.fault.message}`);
  if (isGone(error) && transport.exit !== undefined) {
    const how = `${quote(definition.transport.command)} ${describeExit(transport.exit)} before it answered`;
    const message = `${server} could not be started: ${how}${lastWords(transport, mask)}`;
    return fail(message, isDockerGateway(definition) ? GATEWAY_HINT : hint);
  }
  const reason = mask(error instanceof Error ? error.message : String(error));
  return fail(
    `${server} could not be started: it refused the handshake: ${reason}${lastWords(transport, mask)}`,
  );
}

/** Says how a connection ended that was up. */
export function describeEnd(
  definition: ServerDefinition,
  transport: StdioTransport,
  mask: Mask,
): BridgeError {
  const server = `server ${quote(definition.name)}`;
  const { fault, exit } = transport;
  const data = { server: definition.name };
  if (fault !== undefined) {
    const less =
      fault.code === "LIMIT_EXCEEDED" ? "Ask for less at once, such as one page or some fields. " : "";
    const hint = `${less}The server is started again on its next use.`;
    return new BridgeError(fault.code, `${server} ${fault.message} and was stopped`, { hint, data });
  }
  const how = exit === undefined ? "closed the connection" : describeExit(exit);
  return new BridgeError("UPSTREAM_FAILED", `${server} ${how}${lastWords(transport, mask)}`, {
    hint: "It is started again on its next use; what it kept in memory is lost.",
    data,
  });
}

async function describeSpawnFault({ error, definition }: ConnectFault): Promise<string> {
  const { command, cwd } = definition.transport;
  const { code, message } = error as NodeJS.ErrnoException;
  const isFolder = cwd === undefined || (await stat(cwd).catch(() => undefined))?.isDirectory() === true;
  if (!isFolder) return `its folder ${quote(cwd)} does not exist`;
  if (code === "EACCES") return `the command ${quote(command)} is not executable`;
  if (code !== "ENOENT") return message;
  if (!command.includes("/")) return `the command ${quote(command)} was not found on PATH`;
  const exists = await access(command).then(
    () => true,
    () => false,
  );
  return exists
    ? `the interpreter that ${quote(command)} names in its first line does not exist`
    : `the command ${quote(command)} does not exist`;
}

/** `docker mcp gateway run …`, whose own servers need what only its user can give. */
function isDockerGateway({ transport: { command, args } }: StdioDefinition): boolean {
  const words = [...command.split(/\s+/), ...args].filter((word) => !word.startsWith("-"));
  return /(^|[/\\])docker(\.exe)?$/.test(words[0] ?? "") && words.slice(1, 3).join(" ") === "mcp gateway";
}

function describeExit({ code, signal }: ChildExit): string {
  if (signal !== null) return `was ended by ${signal}`;
  return `exited with code ${code ?? "unknown"}`;
}

/** Whether an error of the SDK means that the other end is gone. */
export function isGone(error: unknown): boolean {
  return (
    error instanceof ServerGone || (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed)
  );
}

function lastWords(transport: StdioTransport, mask: Mask): string {
  const stderr = mask(transport.stderrText()).slice(-MAX_LAST_WORDS).toWellFormed().trim();
  if (stderr !== "") return `. The end of its stderr:\n${stderr}`;
  const { lastBadLine } = transport;
  return lastBadLine === undefined
    ? ""
    : `. The last line on its stdout that is no message: ${quote(lastBadLine)}`;
}

function quote(text: string | undefined): string {
  return JSON.stringify(text ?? "");
}
