import type { CliIo } from "../context.ts";
import { printable } from "../printable.ts";
import { TypedLines } from "../typed-lines.ts";

const MAX_TRIES = 5;

type Answer = string | number | boolean | readonly string[];

/** One field of a form, as MCP allows them: flat, and of few kinds. */
interface Field {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly type: string;
  readonly required: boolean;
  readonly choices: readonly Choice[];
}

interface Choice {
  readonly value: string;
  readonly title: string;
}

/**
 * Asks whoever sits at the terminal what an `elicitation/create` wants to know, and gives its result. The end of stdin, an
 * answer left out that has to be given, and answers that do not fit, again and again, close the form. All words in it are
 * a stranger's.
 */
export async function askForm(
  io: CliIo,
  params: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const { stderr } = io;
  const lines = new TypedLines(io);
  try {
    stderr.write(
      `\n${String(params["message"] ?? "")
        .split("\n")
        .map(printable)
        .join("\n")}\n\n`,
    );
    const content: Record<string, Answer> = {};
    for (const field of fieldsOf(params["requestedSchema"])) {
      const answer = await askField(lines, stderr, field, signal);
      if (answer === "closed") return { action: "cancel" };
      if (answer !== undefined) content[field.name] = answer.value;
    }
    return { action: "accept", content };
  } finally {
    lines.close();
  }
}

/** `undefined`: left out. */
async function askField(
  lines: TypedLines,
  stderr: CliIo["stderr"],
  field: Field,
  signal: AbortSignal,
): Promise<{ readonly value: Answer } | "closed" | undefined> {
  if (field.description !== "") stderr.write(`${field.description}\n`);
  for (const [index, { title }] of field.choices.entries()) stderr.write(`  ${index + 1}. ${title}\n`);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const line = await lines.ask(`${field.title}${hintOf(field)}: `, signal);
    if (line === undefined) return "closed";
    const typed = line.trim();
    if (typed === "") return field.required ? "closed" : undefined;
    const value = parseAnswer(typed, field);
    if (value !== undefined) return { value };
    stderr.write("That is none of what can be answered here.\n");
  }
  return "closed";
}

function hintOf({ type, choices, required }: Field): string {
  const kind =
    choices.length > 0
      ? type === "array"
        ? "numbers, with commas between"
        : `1-${choices.length}`
      : type === "boolean"
        ? "y/n"
        : type === "string"
          ? ""
          : type;
  const words = [kind, required ? "" : "may be left out"].filter((word) => word !== "");
  return words.length === 0 ? "" : ` [${words.join("; ")}]`;
}

function parseAnswer(typed: string, { type, choices }: Field): Answer | undefined {
  if (choices.length > 0) {
    const picked = (type === "array" ? typed.split(",") : [typed]).map((word) => pick(word.trim(), choices));
    if (picked.includes(undefined)) return undefined;
    return type === "array" ? (picked as string[]) : picked[0];
  }
  switch (type) {
    case "boolean":
      return /^y(es)?$/i.test(typed) ? true : /^no?$/i.test(typed) ? false : undefined;
    case "integer":
      return Number.isSafeInteger(Number(typed)) ? Number(typed) : undefined;
    case "number":
      return Number.isFinite(Number(typed)) ? Number(typed) : undefined;
    default:
      return typed;
  }
}

function pick(word: string, choices: readonly Choice[]): string | undefined {
  return (choices[Number(word) - 1] ?? choices.find(({ value }) => value === word))?.value;
}

function fieldsOf(schema: unknown): readonly Field[] {
  const { properties, required } = recordOf(schema);
  const needed = Array.isArray(required) ? (required as unknown[]) : [];
  return Object.entries(recordOf(properties)).map(([name, property]) => {
    const { title, description, type, items } = recordOf(property);
    return {
      name,
      title: printable(typeof title === "string" ? title : name),
      description: typeof description === "string" ? description.split("\n").map(printable).join("\n") : "",
      type: typeof type === "string" ? type : "string",
      required: needed.includes(name),
      choices: choicesOf(recordOf(type === "array" ? items : property)),
    };
  });
}

/** The two ways in which revisions of MCP list the values of a field with their titles. */
function choicesOf({
  enum: values,
  enumNames: names,
  oneOf,
  anyOf,
}: Readonly<Record<string, unknown>>): Choice[] {
  const listed = Array.isArray(values) ? (values as unknown[]) : [];
  const titles = Array.isArray(names) ? (names as unknown[]) : [];
  const titled = [oneOf, anyOf].flatMap((each) => (Array.isArray(each) ? (each as unknown[]) : []));
  const all: readonly (readonly [unknown, unknown])[] = [
    ...listed.map((value, index) => [value, titles[index]] as const),
    ...titled.map((each) => [recordOf(each)["const"], recordOf(each)["title"]] as const),
  ];
  return all.flatMap(([value, title]) =>
    typeof value === "string" ? [{ value, title: printable(typeof title === "string" ? title : value) }] : [],
  );
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
