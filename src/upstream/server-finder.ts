import type { Discovery, ServerDefinition } from "../discovery/server-definition.ts";
import type {
  KnownServer,
  ServerMatches,
  ServerName,
  ServerQuery,
  ServerSummary,
} from "../kernel/host-tools.ts";
import { explainUnusable } from "./availability.ts";
import type { KnownServer as CataloguedServer, CatalogueReader } from "./catalogue/catalogue.ts";

const MAX_LINE_CHARS = 200;
const MAX_WORDS = 32;

/** What a description of servers is made of. */
export interface ServerFacts {
  readonly status: (definition: ServerDefinition) => ServerSummary["status"];
  readonly catalogue: CatalogueReader;
  /** What `~` stands for. */
  readonly home: string | undefined;
}

/** A server by its names. Nothing but its definition is needed. */
export function nameServer({ name, alias, description }: ServerDefinition): ServerName {
  return { name, alias, description: onOneLine(description) };
}

/** A server in short, with what is known of its tools once the catalogue is loaded. */
export function summarize(definition: ServerDefinition, facts: ServerFacts): ServerSummary {
  const known = facts.catalogue.known(definition);
  return {
    ...nameServer(definition),
    description: describeBriefly(definition, known?.info),
    status: facts.status(definition),
    tools: known?.tools.length ?? null,
  };
}

/** Any server in short, with why it is not usable. */
export function describeKnown(definition: ServerDefinition, facts: ServerFacts): KnownServer {
  const summary = summarize(definition, facts);
  const unusable = explainUnusable(definition, facts.home);
  const { kind } = definition.availability;
  return {
    ...summary,
    status: kind === "usable" ? summary.status : kind,
    reason: unusable === undefined ? null : `${unusable.reason}. ${unusable.remedy}`,
  };
}

/**
 * The servers of which most words of the query occur in the name, the description or the tools, usable ones first
 * among equals. Without a word every server matches. The catalogue is to be loaded before.
 */
export function findServers(
  { servers }: Discovery,
  { query, limit }: ServerQuery,
  facts: ServerFacts,
): ServerMatches {
  const words = wordsOf(query);
  const isUsable = ({ availability }: ServerDefinition) => Number(availability.kind === "usable");
  const found = servers
    .map((definition) => ({ definition, score: score(definition, words, facts) }))
    .filter((each) => words.length === 0 || each.score > 0)
    .sort((one, other) => other.score - one.score || isUsable(other.definition) - isUsable(one.definition));
  return {
    servers: found.slice(0, limit).map(({ definition }) => describeKnown(definition, facts)),
    total: found.length,
    searched: servers.length,
  };
}

/** Without a plural's s; what is shorter than three letters of ASCII says little and counts where it is all there is. */
function wordsOf(query: string): readonly string[] {
  const words = [...new Set(fold(query).match(/[\p{L}\p{N}]+/gu) ?? [])].slice(0, MAX_WORDS);
  const telling = words.filter((word) => !/^[a-z]{1,2}$/.test(word));
  return (telling.length === 0 ? words : telling).map((word) => word.replace(/(?<=[a-z]{3})s$/, ""));
}

/** A word counts most in the name, then in the description, then in a tool's name, least in its description. */
function score(definition: ServerDefinition, words: readonly string[], { catalogue }: ServerFacts): number {
  if (words.length === 0) return 0;
  const { tools = [], info } = catalogue.known(definition) ?? {};
  const places: readonly (readonly [number, string])[] = [
    [8, fold(`${definition.name} ${definition.alias}`)],
    [4, fold(`${definition.description} ${info?.title ?? ""}`)],
    [2, fold(tools.map(({ name }) => name).join(" "))],
    [1, fold(`${tools.map(({ description }) => description).join(" ")} ${info?.instructions ?? ""}`)],
  ];
  return words.reduce((sum, word) => sum + (places.find(([, text]) => text.includes(word))?.[0] ?? 0), 0);
}

function fold(text: string): string {
  return text.toLowerCase().normalize("NFKC");
}

/** What the file says of a server, else what the server said of itself. Either may have been written by anybody. */
function describeBriefly(
  { description }: ServerDefinition,
  info: CataloguedServer["info"] | undefined,
): string {
  return onOneLine([description, info?.title, info?.instructions].find((text) => text?.trim()) ?? "");
}

function onOneLine(text: string): string {
  const start = text.slice(0, MAX_LINE_CHARS * 4);
  const line = start.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS - 1).toWellFormed()}…`;
}
