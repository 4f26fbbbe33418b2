import * as z from "zod";
import { assignPythonNames } from "../core/python-names.ts";
import type { ToolSummary } from "../kernel/host-tools.ts";

/** Tools of one server; nobody can use more, and each is held in memory. */
const MAX_TOOLS = 10_000;
/** Characters of JSON of all tools of one server together. */
const MAX_LIST_CHARS = 16 * 1024 ** 2;
const MAX_DESCRIPTION_CHARS = 20_000;
/** What Python can call. */
const MAX_NAME_CHARS = 16_384;

/** A tool as its server defines it, checked and bounded. */
export type ToolDefinition = Omit<ToolSummary, "alias">;

const hint = z.boolean().optional().catch(undefined);
const schema = z.record(z.string(), z.unknown());

/** Read leniently: what is wrong is left out, and a tool is refused only when it has no name. */
const toolSchema = z.object({
  name: z.string().min(1).max(MAX_NAME_CHARS),
  description: z.string().catch(""),
  inputSchema: schema.catch({ type: "object" }),
  outputSchema: schema.optional().catch(undefined),
  annotations: z
    .object({
      title: z.string().max(MAX_DESCRIPTION_CHARS).optional().catch(undefined),
      readOnlyHint: hint,
      destructiveHint: hint,
      idempotentHint: hint,
      openWorldHint: hint,
    })
    .optional()
    .catch(undefined),
});

/** Collects the tools of one server as they come in: the first of a name counts, and what is too much is left out. */
export class ToolCollector {
  readonly #found = new Map<string, ToolDefinition>();
  #chars = 0;
  #invalid = 0;
  #isFull = false;

  /** Whether tools were left out, since there were too many or they were too large. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** How many were no tools. */
  get invalid(): number {
    return this.#invalid;
  }

  get size(): number {
    return this.#found.size;
  }

  add(raw: unknown): void {
    const parsed = toolSchema.safeParse(raw);
    if (!parsed.success) {
      this.#invalid += 1;
      return;
    }
    const tool = compact(parsed.data);
    if (this.#found.has(tool.name)) return;
    try {
      this.#chars += JSON.stringify(tool).length;
    } catch {
      this.#invalid += 1; // a schema nested deeper than the stack has room for
      return;
    }
    if (this.#found.size >= MAX_TOOLS || this.#chars > MAX_LIST_CHARS) this.#isFull = true;
    else this.#found.set(tool.name, tool);
  }

  tools(): readonly ToolDefinition[] {
    return [...this.#found.values()];
  }
}

/** Gives each tool its Python name. A filter comes after it: a name must not depend on what else is allowed. */
export function withAliases(tools: readonly ToolDefinition[]): readonly ToolSummary[] {
  const aliases = assignPythonNames(tools.map(({ name }) => name));
  return tools.map(({ name, ...rest }, index) => ({ name, alias: aliases[index] ?? "", ...rest }));
}

function compact(parsed: z.infer<typeof toolSchema>): ToolDefinition {
  const { name, description, inputSchema, outputSchema, annotations = {} } = parsed;
  const isLong = description.length > MAX_DESCRIPTION_CHARS;
  const hints = Object.entries(annotations).filter(([, value]) => value !== undefined);
  return {
    name,
    description: isLong ? `${description.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed()}…` : description,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(hints.length === 0 ? {} : { annotations: Object.fromEntries(hints) }),
  };
}
