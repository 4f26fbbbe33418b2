import * as fc from "fast-check";

const MAX_DEPTH = 4;
const MAX_ITEMS = 3;

type Schema = Readonly<Record<string, unknown>>;
type Values = fc.Arbitrary<unknown>;

/**
 * Values that fit a JSON schema, as the text of JSON would have them: integers beyond 2^53 are `JSON.rawJSON`. `$ref` is
 * followed within `root`. What the schema leaves open is any JSON value; patterns and formats are not kept to.
 */
export function valuesOf(schema: unknown, root: unknown, depth = 0): Values {
  if (!isSchema(schema)) return anyValue;
  if (typeof schema["$ref"] === "string") {
    const target = follow(root, schema["$ref"]);
    return depth > MAX_DEPTH ? fc.constant({}) : valuesOf(target, root, depth + 1);
  }
  if ("const" in schema) return fc.constant(schema["const"]);
  if (isList(schema["enum"])) return fc.constantFrom(...schema["enum"]);
  for (const key of ["anyOf", "oneOf"]) {
    const branches = schema[key];
    if (isList(branches) && !("properties" in schema)) {
      return fc.oneof(...branches.map((branch) => valuesOf(branch, root, depth + 1)));
    }
  }
  if (isList(schema["allOf"])) return valuesOf(schema["allOf"][0], root, depth + 1);
  const types = isList(schema["type"]) ? schema["type"] : [schema["type"]];
  return fc.oneof(...types.map((type) => ofType(type, schema, root, depth)));
}

/** The arguments of a tool: all that it must have, and some of the others. */
export function argumentsOf(inputSchema: unknown): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  const schema = isSchema(inputSchema) ? inputSchema : {};
  return membersOf(schema, schema, 0) as fc.Arbitrary<Readonly<Record<string, unknown>>>;
}

const integer: Values = fc.oneof(
  { weight: 3, arbitrary: fc.integer() },
  {
    weight: 1,
    arbitrary: fc.bigInt({ min: -(2n ** 90n), max: 2n ** 90n }).map((value) => JSON.rawJSON(`${value}`)),
  },
);
const number: Values = fc.oneof(
  integer,
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0), // JSON.stringify knows no -0
);
const string = fc.string({ unit: "grapheme", maxLength: 12 });
const anyValue: Values = fc.oneof(
  string,
  number,
  fc.boolean(),
  fc.array(string, { maxLength: MAX_ITEMS }),
  fc.dictionary(string, number, { maxKeys: MAX_ITEMS }),
);

function ofType(type: unknown, schema: Schema, root: unknown, depth: number): Values {
  switch (type) {
    case "string":
      return string;
    case "integer":
      return integer;
    case "number":
      return number;
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return depth > MAX_DEPTH
        ? fc.constant([])
        : fc.array(valuesOf(schema["items"], root, depth + 1), { maxLength: MAX_ITEMS });
    case "object":
      return isSchema(schema["properties"])
        ? membersOf(schema, root, depth)
        : fc.dictionary(string, valuesOf(schema["additionalProperties"], root, depth + 1), {
            maxKeys: MAX_ITEMS,
          });
    default:
      return isSchema(schema["properties"]) ? membersOf(schema, root, depth) : anyValue;
  }
}

function membersOf(schema: Schema, root: unknown, depth: number): Values {
  const properties = Object.entries(isSchema(schema["properties"]) ? schema["properties"] : {});
  const required: readonly unknown[] = isList(schema["required"]) ? schema["required"] : [];
  const entries = properties.map(([name, part]) => {
    const value = valuesOf(part, root, depth + 1).map((made): readonly [string, unknown][] => [[name, made]]);
    if (required.includes(name)) return value;
    return depth > MAX_DEPTH ? fc.constant([]) : fc.oneof(value, fc.constant([]));
  });
  // Not an object literal: `__proto__` is a name like any other.
  return fc.tuple(...entries).map((parts) => Object.fromEntries(parts.flat()));
}

function follow(root: unknown, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  const parts = reference.split("/").slice(1);
  return parts.reduce<unknown>((node, part) => (isSchema(node) ? node[part] : undefined), root);
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0;
}
