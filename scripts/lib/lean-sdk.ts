import type { BunPlugin } from "bun";

/**
 * Version 2 of the MCP SDK makes a schema of every type of the protocol while it is loaded, for functions that tell of any
 * value which type it has. Nothing here calls those, but the bundler cannot know that making a schema does nothing else, and
 * keeps them all: a third of the processor time of `initialize` went there. This says so to the bundler, statement by
 * statement, and it drops what nobody uses; what is used is unchanged. An SDK that looks different stops the build.
 */
export const leanSdk: BunPlugin = {
  name: "lean-sdk",
  setup({ onLoad }) {
    for (const { filter, mend } of MENDED) {
      onLoad({ filter }, async ({ path }) => ({ contents: mend(await Bun.file(path).text()), loader: "js" }));
    }
  },
};

/** Fewer are not all of them. */
const MIN_SCHEMAS = 150;
const MIN_AUTH_SCHEMAS = 10;
/** A statement at the margin, to the line at the margin that ends it. */
const CONSTANT = /^const (\w+Schema) = (.*;|.*\n(?:(?:\t.*)?\n)*?\S.*;)$/gm;

const MENDED: readonly { readonly filter: RegExp; readonly mend: (text: string) => string }[] = [
  {
    filter: /@modelcontextprotocol\/core\/dist\/schemas-[^/]*\.mjs$/,
    mend: (text) => markPure(text, MIN_SCHEMAS),
  },
  {
    filter: /@modelcontextprotocol\/core\/dist\/auth-[^/]*\.mjs$/,
    mend: (text) => markPure(text, MIN_AUTH_SCHEMAS),
  },
  { filter: /@modelcontextprotocol\/(?:server|client)\/dist\/src-[^/]*\.mjs$/, mend: markRegistry },
  { filter: /@modelcontextprotocol\/client\/dist\/public-[^/]*\.mjs$/, mend: nameImplementation },
];

/** Each schema is made by a call that may be left out. */
export function markPure(text: string, atLeast: number): string {
  let count = 0;
  const marked = text.replace(CONSTANT, (_all, name: string, made: string) => {
    count++;
    return `const ${name} = /* @__PURE__ */ (() => (${made.slice(0, -1)}))();`;
  });
  if (count < atLeast) throw new Error(`the MCP SDK has ${count} schemas where ${atLeast} were expected`);
  return marked;
}

const REGISTERED = "for (const [key, schema] of Object.entries(authSchemas)) register(key, schema);\n";

/** The table of all types, and the functions by them, are made by calls that may be left out. */
function markRegistry(text: string): string {
  const begin = "const _specTypeSchemas = {};\n";
  const made = between(text, begin, REGISTERED);
  const table = `const _specTypes = /* @__PURE__ */ (() => {\n${made}return { _specTypeSchemas, _isSpecType };\n})();\n`;
  const lean = replaceOnce(text, made, table);
  const frozen = (name: string) => `Object.freeze(${name})`;
  const pure = (name: string) => `/* @__PURE__ */ (() => Object.freeze(_specTypes.${name}))()`;
  return ["_specTypeSchemas", "_isSpecType"].reduce(
    (so, name) => replaceOnce(so, frozen(name), pure(name)),
    lean,
  );
}

/** The only use of that table, which keeps it: it is for this one type. */
function nameImplementation(text: string): string {
  const used = replaceOnce(
    text,
    "isSpecType.Implementation(fromMeta)",
    "ImplementationSchema.safeParse(fromMeta).success",
  );
  return `import { ImplementationSchema } from "@modelcontextprotocol/core/internal";\n${used}`;
}

function between(text: string, begin: string, end: string): string {
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`the MCP SDK has no ${JSON.stringify(begin)}`);
  return text.slice(from, to + end.length);
}

function replaceOnce(text: string, old: string, replacement: string): string {
  const parts = text.split(old);
  if (parts.length !== 2)
    throw new Error(`the MCP SDK has ${JSON.stringify(old.slice(0, 80))} ${parts.length - 1} times`);
  return parts.join(replacement);
}
