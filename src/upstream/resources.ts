import * as z from "zod";
import { MAX_TIMER_MS } from "../core/lifecycle.ts";
import type { PromptList, PromptRequest, RawEntry, ResourceList } from "../kernel/host-tools.ts";
import { abortedError } from "./abort.ts";
import { describeFault } from "./call.ts";
import { fetchList, type Listed, type Listing } from "./listing.ts";
import type { LiveServer } from "./live-server.ts";

const RESOURCES: Listing = { method: "resources/list", key: "resources", identity: "uri" };
const TEMPLATES: Listing = {
  method: "resources/templates/list",
  key: "resourceTemplates",
  identity: "uriTemplate",
};
const PROMPTS: Listing = { method: "prompts/list", key: "prompts", identity: "name" };
const NOTHING: Listed = { entries: [], complete: true };

/** A result is the caller's to judge, so it is passed as it came. */
const resultSchema = z.custom<RawEntry>((value) => typeof value === "object" && value !== null);

/** How a server is asked: the budget of one page of a list, and until when. */
export interface AskOptions {
  readonly pageMs: number;
  readonly signal: AbortSignal;
}

/** The resources and templates of a server, none where it has no such capability; rejects with an `UPSTREAM_*` error. */
export async function listResources(server: LiveServer, options: AskOptions): Promise<ResourceList> {
  if (capabilities(server).resources === undefined) return { resources: [], templates: [], complete: true };
  const { signal } = options;
  return ask(server, `listing the resources of ${quoted(server)}`, signal, async () => {
    const [resources, templates] = await Promise.all([
      fetchList(server.connection, RESOURCES, options),
      fetchList(server.connection, TEMPLATES, options),
    ]);
    return {
      resources: resources.entries,
      templates: templates.entries,
      complete: resources.complete && templates.complete,
    };
  });
}

/** One resource; rejects with an `UPSTREAM_*` error or `LIMIT_EXCEEDED`. */
export function readResource(server: LiveServer, uri: string, signal: AbortSignal): Promise<RawEntry> {
  const what = `reading resource ${JSON.stringify(uri)} of ${quoted(server)}`;
  return request(server, { method: "resources/read", params: { uri } }, what, signal);
}

/** The prompts of a server, none where it has no such capability; rejects with an `UPSTREAM_*` error. */
export async function listPrompts(server: LiveServer, options: AskOptions): Promise<PromptList> {
  const { entries, complete } =
    capabilities(server).prompts === undefined
      ? NOTHING
      : await ask(server, `listing the prompts of ${quoted(server)}`, options.signal, () =>
          fetchList(server.connection, PROMPTS, options),
        );
  return { prompts: entries, complete };
}

/** One prompt, filled in; rejects with an `UPSTREAM_*` error or `LIMIT_EXCEEDED`. */
export function getPrompt(
  server: LiveServer,
  { prompt, arguments: args }: PromptRequest,
  signal: AbortSignal,
): Promise<RawEntry> {
  const what = `getting prompt ${JSON.stringify(prompt)} of ${quoted(server)}`;
  return request(server, { method: "prompts/get", params: { name: prompt, arguments: args } }, what, signal);
}

function request(
  server: LiveServer,
  message: { readonly method: string; readonly params: Record<string, unknown> },
  what: string,
  signal: AbortSignal,
): Promise<RawEntry> {
  return ask(server, what, signal, () =>
    server.connection.client.request(message, resultSchema, { signal, timeout: MAX_TIMER_MS }),
  );
}

async function ask<T>(
  server: LiveServer,
  what: string,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  if (signal.aborted) throw abortedError(signal, what);
  try {
    const result = await run();
    server.succeeded();
    return result;
  } catch (error) {
    throw signal.aborted ? abortedError(signal, what) : describeFault(error, server, what);
  }
}

function capabilities({ connection }: LiveServer) {
  return connection.client.getServerCapabilities() ?? {};
}

function quoted({ definition }: LiveServer): string {
  return `server ${JSON.stringify(definition.name)}`;
}
