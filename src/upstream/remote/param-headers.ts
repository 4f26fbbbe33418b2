/**
 * Arguments that a tool wants in HTTP headers as well, so that proxies can route by them: "x-mcp-header" in its input
 * schema (MCP 2026-07-28, Streamable HTTP, "Schema Extension", SEP-2243).
 */

const KEY = "x-mcp-header";
const PREFIX = "Mcp-Param-";
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: readonly unknown[] = ["string", "integer", "boolean"];
/** A server may name its tools anew each time. */
const MAX_TOOLS = 10_000;
/** Deeper than any schema that people write. */
const MAX_DEPTH = 200;
const BASE64 = /^=\?base64\?.*\?=$/s;
const PLAIN = /^[\t\x20-\x7e]+$/;

type Json = Readonly<Record<string, unknown>>;

/** One argument, by its path, and the header that repeats it. */
interface Declaration {
  readonly path: readonly string[];
  readonly header: string;
}

/** What the tools of one connection declare. */
export class ParamHeaders {
  readonly #declared = new Map<string, readonly Declaration[]>();

  /** Notes what a page of a list of tools declares; gives the tools without those whose declarations are not valid. */
  learn(tools: readonly unknown[], onInvalid: (tool: string) => void): readonly unknown[] {
    return tools.filter((tool) => {
      const { name, inputSchema } = (isObject(tool) ? tool : {}) as { name?: unknown; inputSchema?: unknown };
      if (typeof name !== "string") return true; // whoever reads the list says so
      const declarations = scan(inputSchema);
      if (declarations === undefined) onInvalid(name);
      this.#declared.delete(name);
      if (declarations !== undefined && declarations.length > 0) this.#declared.set(name, declarations);
      // The oldest is most likely gone.
      const [oldest] = this.#declared.size > MAX_TOOLS ? this.#declared.keys() : [];
      if (oldest !== undefined) this.#declared.delete(oldest);
      return declarations !== undefined;
    });
  }

  /** The headers for a call. */
  of(tool: unknown, args: unknown): Readonly<Record<string, string>> {
    const declared = typeof tool === "string" ? (this.#declared.get(tool) ?? []) : [];
    return Object.fromEntries(
      declared.flatMap(({ path, header }) => {
        const text = renderValue(
          path.reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), args),
        );
        return text === undefined ? [] : [[`${PREFIX}${header}`, encode(text)] as const];
      }),
    );
  }
}

/** The declarations of a schema; `undefined`: one of them is not valid. */
function scan(schema: unknown): readonly Declaration[] | undefined {
  const found: Declaration[] = [];
  const isFine = visit(schema, [], true, 0, found);
  const names = new Set(found.map(({ header }) => header.toLowerCase()));
  return isFine && names.size === found.length ? found : undefined;
}

/** Declarations may stand on properties of properties alone, where they can be found without looking at the value. */
function visit(
  node: unknown,
  path: readonly string[],
  isReachable: boolean,
  depth: number,
  found: Declaration[],
): boolean {
  if (typeof node !== "object" || node === null) return true;
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(node)) return node.every((one) => visit(one, path, false, depth + 1, found));
  const schema = node as Json;
  if (KEY in schema) {
    const header = schema[KEY];
    const isName = typeof header === "string" && TOKEN.test(header);
    if (!isName || !isReachable || path.length === 0 || !TYPES.includes(schema["type"])) return false;
    found.push({ path, header });
  }
  return Object.entries(schema).every(([keyword, value]) => {
    if (LITERALS.has(keyword)) return true;
    if (!SCHEMAS_BY_NAME.has(keyword) || !isObject(value)) return visit(value, path, false, depth + 1, found);
    const isProperties = keyword === "properties";
    return Object.entries(value).every(([name, one]) =>
      visit(one, [...path, name], isReachable && isProperties, depth + 1, found),
    );
  });
}

/** Keywords whose value is no schema, whatever it looks like. */
const LITERALS = new Set(["const", "enum", "default", "examples", KEY]);
/** Keywords whose value has schemas under names of its own. */
const SCHEMAS_BY_NAME = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);

function renderValue(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

/** A value that a header cannot carry as it is stands in it as Base64. */
function encode(text: string): string {
  if (PLAIN.test(text) && text === text.trim() && !BASE64.test(text)) return text;
  return `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
