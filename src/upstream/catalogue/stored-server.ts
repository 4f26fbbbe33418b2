import * as z from "zod";
import { parseExactJson } from "../../core/exact-json.ts";
import type { ToolSummary } from "../../kernel/host-tools.ts";
import { ToolCollector, withAliases } from "../tool-definition.ts";

const VERSION = 1;
const MAX_NAME_CHARS = 500;
const MAX_INSTRUCTIONS_CHARS = 20_000;

/** One server in the catalogue. */
export interface StoredServer {
  readonly info: ServerInfo;
  readonly tools: readonly ToolSummary[];
  /** Milliseconds since 1970. */
  readonly fetchedAt: number;
}

const text = (max: number) =>
  z
    .string()
    .transform((value) => value.slice(0, max).toWellFormed())
    .optional()
    .catch(undefined);

const infoSchema = z.object({
  name: text(MAX_NAME_CHARS),
  version: text(MAX_NAME_CHARS),
  title: text(MAX_NAME_CHARS),
  instructions: text(MAX_INSTRUCTIONS_CHARS),
});

/** What a server said of itself, bounded. */
export type ServerInfo = Readonly<z.infer<typeof infoSchema>>;

const fileSchema = z.object({
  version: z.literal(VERSION),
  fetchedAt: z.number().int().nonnegative(),
  info: infoSchema,
  tools: z.array(z.unknown()),
});

/** What a server says of itself, as far as it makes sense; never throws. */
export function parseServerInfo(raw: unknown): ServerInfo {
  return infoSchema.catch({}).parse(raw);
}

/** Reads the text of a catalogue's file; `undefined` for one that is broken or from another version of the format. */
export function parseStoredServer(json: string): StoredServer | undefined {
  let raw: unknown;
  try {
    raw = parseExactJson(json);
  } catch {
    return undefined; // half a file, or somebody else's: as good as none
  }
  const parsed = fileSchema.safeParse(raw);
  if (!parsed.success) return undefined;
  const { info, fetchedAt, tools } = parsed.data;
  const collector = new ToolCollector();
  for (const tool of tools) collector.add(tool);
  return { info, fetchedAt, tools: withAliases(collector.tools()) };
}

/** The text of a catalogue's file. */
export function renderStoredServer({ info, tools, fetchedAt }: StoredServer): string {
  const bare = tools.map(({ alias: _, ...tool }) => tool); // the alias follows from the names
  return `${JSON.stringify({ version: VERSION, fetchedAt, info, tools: bare })}\n`;
}
