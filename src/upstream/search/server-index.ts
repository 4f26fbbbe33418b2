import { keysOf } from "./exact-names.ts";
import type { Slices } from "./slices.ts";
import type { Terms, ToolTerms } from "./term-index.ts";
import type { SearchableServer } from "./tool-search.ts";
import { toUnitLength, type WordVectors } from "./word-vectors.ts";
import { isStopWord, splitWords, termsOf } from "./words.ts";

/** What is read of one tool at most. Some put whole manuals into a description, but say first what they are for. */
const MAX_DESCRIPTION = 2000;
const MAX_MEANING = 400;
const MAX_PARAMETERS = 64;

/** How much a word counts by where it stands. */
const FIELD_WEIGHTS = {
  name: 2,
  server: 0.5,
  description: 1,
  serverDescription: 0.2,
  parameters: 0.3,
  parameterTexts: 0.1,
};
/** How much a field turns the direction of the tool. */
const MEANING_WEIGHTS = { name: 0.75, server: 0.3, description: 1, serverDescription: 0.3, parameters: 0.2 };

type Field = keyof typeof FIELD_WEIGHTS;

/** One server, taken apart for search; nothing in it changes when other servers do. */
export interface IndexedServer {
  readonly server: SearchableServer;
  readonly terms: readonly ToolTerms[];
  /** What each tool is called, as names are compared. */
  readonly names: readonly (readonly string[])[];
  /** The direction of each tool, one after the other, in 127ths; empty where there are no vectors. */
  readonly directions: Int8Array;
}

export async function indexServer(
  server: SearchableServer,
  terms: Terms,
  vectors: WordVectors | undefined,
  slices: Slices,
): Promise<IndexedServer> {
  const dimensions = vectors?.dimensions ?? 0;
  const directions = new Int8Array(server.tools.length * dimensions);
  const shared = {
    server: server.name,
    serverDescription: server.description.slice(0, MAX_MEANING),
  };
  const meaning = new Map<string, Float32Array>();
  const indexed: ToolTerms[] = [];
  const names: (readonly string[])[] = [];
  for (const [index, tool] of server.tools.entries()) {
    if (slices.isOver()) await slices.rest();
    const texts = { ...shared, ...textsOf(tool) };
    if (vectors !== undefined) {
      const direction = directionOf(texts, vectors, meaning);
      for (let at = 0; at < dimensions; at++)
        directions[index * dimensions + at] = Math.round((direction[at] ?? 0) * 127);
    }
    indexed.push(countTerms(texts, terms));
    names.push(keysOf(tool.name, tool.alias));
  }
  return { server, terms: indexed, names, directions };
}

function textsOf(
  tool: SearchableServer["tools"][number],
): Omit<Record<Field, string>, keyof { server: 0; serverDescription: 0 }> {
  const { properties } = tool.inputSchema;
  const parameters = isRecord(properties) ? Object.entries(properties).slice(0, MAX_PARAMETERS) : [];
  const texts = parameters.map(([, schema]) =>
    isRecord(schema) && typeof schema["description"] === "string" ? schema["description"] : "",
  );
  return {
    name: tool.name,
    description: tool.description.slice(0, MAX_DESCRIPTION),
    parameters: parameters
      .map(([name]) => name)
      .join(" ")
      .slice(0, MAX_DESCRIPTION),
    parameterTexts: texts.join(" ").slice(0, MAX_DESCRIPTION),
  };
}

function countTerms(texts: Readonly<Record<Field, string>>, terms: Terms): ToolTerms {
  const counts = new Map<number, number>();
  let length = 0;
  for (const [field, weight] of Object.entries(FIELD_WEIGHTS)) {
    for (const word of splitWords(texts[field as Field])) {
      if (isStopWord(word)) continue;
      for (const term of termsOf(word)) {
        const id = terms.add(term, word);
        counts.set(id, (counts.get(id) ?? 0) + weight);
        length += weight;
      }
    }
  }
  return { ids: Uint32Array.from(counts.keys()), weights: Float32Array.from(counts.values()), length };
}

/** `known` keeps what all tools of a server share. */
function directionOf(
  texts: Readonly<Record<Field, string>>,
  vectors: WordVectors,
  known: Map<string, Float32Array>,
): Float32Array {
  const sum = new Float32Array(vectors.dimensions);
  for (const [field, weight] of Object.entries(MEANING_WEIGHTS)) {
    const text = texts[field as Field].slice(0, MAX_MEANING);
    const vector = known.get(text) ?? vectors.textVector(text);
    if (field.startsWith("server")) known.set(text, vector);
    for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] ?? 0) + weight * (vector[at] ?? 0);
  }
  return toUnitLength(sum);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
