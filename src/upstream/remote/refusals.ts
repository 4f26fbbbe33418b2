import { setTimeout as sleep } from "node:timers/promises";
import { type JSONRPCMessage, SdkHttpError } from "@modelcontextprotocol/client";
import { isMessage, type RawMessage, tryParse } from "../messages.ts";

/** The pauses before a connection is tried again that was refused: a server that restarts is back within a few seconds. */
const REFUSED_PAUSES_MS = [100, 200, 400, 800, 1500, 2000];

/** Sends, and again while nobody is there to receive it. */
export async function withPatience(signal: AbortSignal, send: () => Promise<void>): Promise<void> {
  for (const pauseMs of [...REFUSED_PAUSES_MS, undefined]) {
    try {
      return await send();
    } catch (error) {
      if (pauseMs === undefined || !isRefused(error) || signal.aborted) throw error;
      await sleep(pauseMs, undefined, { ref: false, signal });
    }
  }
}

/** Nothing was sent: there was nobody to send it to. */
export function isRefused(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
}

/** 404 is what the specification says; servers also answer 400. One that answers the request itself knows the session. */
export function isSessionUnknown(error: unknown, message: JSONRPCMessage): boolean {
  if (!(error instanceof SdkHttpError) || (error.status !== 404 && error.status !== 400)) return false;
  return answerIn(error, message) === undefined;
}

/** The answer of JSON-RPC to `request` that came under a status which says that it failed. */
export function answerIn(error: unknown, request: JSONRPCMessage): RawMessage | undefined {
  if (!(error instanceof SdkHttpError) || !("id" in request)) return undefined;
  const body = tryParse(String(error.data.text ?? ""));
  return isMessage(body) && "error" in body && body["id"] === request.id ? body : undefined;
}
