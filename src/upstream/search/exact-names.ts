import { nameKey, type Query } from "./query.ts";
import type { IndexedServer } from "./server-index.ts";
import type { Slices } from "./slices.ts";

/** Where a tool stands: the numbers of its server and of the tool in it. */
interface Place {
  readonly server: number;
  readonly tool: number;
}

/** Finds tools by what a query calls them: `tool`, `server.tool`, `mcp_server.tool`, in any case and with any signs. */
export class ExactNames {
  readonly #tools = new Map<string, Place[]>();
  readonly #servers = new Map<string, number[]>();

  static readonly empty = new ExactNames();

  static async create(servers: readonly IndexedServer[], slices: Slices): Promise<ExactNames> {
    const made = new ExactNames();
    for (const [at, { server, names }] of servers.entries()) {
      if (slices.isOver()) await slices.rest();
      for (const key of keysOf(server.name, server.alias)) push(made.#servers, key, at);
      for (const [tool, keys] of names.entries()) {
        for (const key of keys) push(made.#tools, key, { server: at, tool });
      }
    }
    return made;
  }

  /** The numbers of the servers of a name or an alias, with or without `mcp_` before it. */
  servers(name: string): readonly number[] {
    return this.#serversOf(nameKey(name).split("_"));
  }

  /**
   * The tools that the query names, in its order: as a whole, or by tokens that are no plain words. Plain words name
   * tools only where the query is nothing but names, or a sentence with "search" in it would always find `search` first.
   */
  find(query: Query): Place[] {
    const whole = this.#lookUp(query.name);
    if (whole.length > 0) return whole;
    const found = query.tokens.map((token) => ({ token, places: this.#lookUp(nameKey(token)) }));
    const onlyNames = found.every(({ places }) => places.length > 0);
    return found.flatMap(({ token, places }) => (onlyNames || isIdentifier(token) ? places : []));
  }

  #lookUp(key: string): Place[] {
    const direct = this.#tools.get(key);
    if (direct !== undefined) return direct;
    const words = key.split("_");
    for (let split = 1; split < words.length; split++) {
      const servers = this.#serversOf(words.slice(0, split));
      if (servers.length === 0) continue;
      const places = this.#tools
        .get(words.slice(split).join("_"))
        ?.filter(({ server }) => servers.includes(server));
      if (places !== undefined && places.length > 0) return places;
    }
    return [];
  }

  #serversOf(words: readonly string[]): readonly number[] {
    const named = this.#servers.get(words.join("_"));
    if (named !== undefined || words[0] !== "mcp") return named ?? [];
    return this.#servers.get(words.slice(1).join("_")) ?? [];
  }
}

/** By what a server or a tool is looked up. */
export function keysOf(name: string, alias: string): readonly string[] {
  return [...new Set([nameKey(name), nameKey(alias)])].filter((key) => key !== "");
}

function push<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}

/** `read_file`, `read-file`, `readFile` and `files.read`, but neither `Read` nor the end of a sentence. */
function isIdentifier(token: string): boolean {
  return /[\p{L}\p{N}][_\-./:][\p{L}\p{N}]|\p{Ll}\p{Lu}/u.test(token);
}
