import type { Config } from "../config/config.ts";
import { type BridgeError, toBridgeError } from "../core/errors.ts";
import type { DiscoveryProblem, ServerDefinition } from "../discovery/server-definition.ts";
import type { KnownServer } from "../upstream/catalogue/catalogue.ts";
import { askRuleOf } from "../upstream/tool-filter.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { openUpstream, type UpstreamPorts } from "./open-upstream.ts";

/** One server and what is known of its tools; `error` says why nothing is, or why it could not be asked again. */
export interface SurveyedServer {
  /** As the definition says; for one that does not exist, as it was asked for. */
  readonly name: string;
  readonly server: ServerDefinition | undefined;
  readonly known: KnownServer | undefined;
  readonly error: BridgeError | undefined;
  /** The tools that the user is asked about first, by name, and the rule that says so. */
  readonly asks: ReadonlyMap<string, string>;
}

export interface SurveyRequest {
  /** Names or aliases; none for all that are usable. */
  readonly names: readonly string[];
  /** Asks each of them now. Without it, those alone are asked that were named and that nobody has ever asked. */
  readonly refresh: boolean;
}

/** Tells what is known of the tools of servers. Servers are asked side by side, and one that fails hides no other. */
export async function surveyTools(
  config: Config,
  { names, refresh }: SurveyRequest,
  ports: UpstreamPorts,
  signal: AbortSignal,
): Promise<{ readonly servers: readonly SurveyedServer[]; readonly problems: readonly DiscoveryProblem[] }> {
  await using upstream = openUpstream(config, ports);
  const { servers, problems } = await upstream.refresh();
  await upstream.catalogue.load(servers);
  if (names.length === 0) {
    const usable = servers.filter(({ availability }) => availability.kind === "usable");
    const surveyed = await Promise.all(usable.map((server) => survey(upstream, server, refresh, signal)));
    return { servers: surveyed, problems };
  }
  const surveyed = await Promise.all(
    [...new Set(names)].map((name) => {
      const server =
        servers.find((each) => each.name === name) ?? servers.find(({ alias }) => alias === name);
      if (server === undefined) return unknownServer(upstream, name, signal);
      const isNew = upstream.catalogue.known(server) === undefined;
      return survey(upstream, server, refresh || isNew || server.availability.kind !== "usable", signal);
    }),
  );
  return { servers: surveyed, problems };
}

async function survey(
  { catalogue, ask }: Upstream,
  server: ServerDefinition,
  asks: boolean,
  signal: AbortSignal,
): Promise<SurveyedServer> {
  const { name } = server;
  try {
    const known = asks ? await ask(name, signal) : catalogue.known(server);
    return { name, server, known, error: undefined, asks: asksOf(server, known) };
  } catch (error) {
    const known = catalogue.known(server);
    return { name, server, known, error: toBridgeError(error), asks: asksOf(server, known) };
  }
}

function asksOf({ tools: filter }: ServerDefinition, known: KnownServer | undefined): SurveyedServer["asks"] {
  const pairs = (known?.tools ?? []).flatMap((tool) => {
    const asked = askRuleOf(filter, tool);
    return asked === undefined ? [] : [[tool.name, asked.rule] as const];
  });
  return new Map(pairs);
}

async function unknownServer({ ask }: Upstream, name: string, signal: AbortSignal): Promise<SurveyedServer> {
  const error = await ask(name, signal).then(() => undefined, toBridgeError); // it says which ones there are
  return { name, server: undefined, known: undefined, error, asks: new Map() };
}
