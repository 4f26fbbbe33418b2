import * as z from "zod";

/** What `sandpy sessions` and the server that it asks say to each other: JSON, in both directions bounded. */
export const SESSIONS_PATH = "/api/sessions";
/** In each answer, so that nobody takes that of another program for ours. */
export const SERVER_NAME = "sandpy";

const MAX_CHARS = 4096;
const MAX_SESSIONS = 10_000;
const text = z.string().max(MAX_CHARS);
const count = z.number().int().nonnegative();
const server = z.object({ name: z.literal(SERVER_NAME), version: text });

/** One session, to those who may see it. */
const sessionSchema = z.object({
  id: z.string().regex(/^[\w-]{1,64}$/),
  caller: text,
  caller_id: text,
  /** `waiting`: its code waits for its turn. `stopped`: it has no sandbox now. */
  state: z.enum(["running", "waiting", "idle", "stopped"]),
  memory_bytes: count.nullable(),
  age_seconds: count,
  /** Since its last run ended, or since it began; 0 while code runs. */
  idle_seconds: count,
  /** That ran, or run. */
  executions: count,
  /** That wait for the one that runs. */
  waiting: count,
  /** The first line of the code that runs or waits. */
  code: text.nullable(),
});

export const sessionListSchema = z.object({ server, sessions: z.array(sessionSchema).max(MAX_SESSIONS) });
export const actedSchema = z.object({ server, id: text, done: z.boolean() });
/** Both of ours: that of these routes, and that of what stands before them, which speaks JSON-RPC. */
export const failureSchema = z.object({
  error: z.object({ code: z.union([text, z.number()]), message: text }),
});

export type SessionSummary = Readonly<z.infer<typeof sessionSchema>>;
export type SessionList = Readonly<z.infer<typeof sessionListSchema>>;
export type Acted = Readonly<z.infer<typeof actedSchema>>;
