/**
 * The frame protocol between the bridge and the sandbox; `docs/protocol.md` is its description. Everything that
 * comes from the sandbox is untrusted: it is parsed here, once, and nothing else reads raw frames.
 */
import { z } from "zod";
import { costOfExactJson, parseExactJson } from "../core/exact-json.ts";
import type {
  FilePiece,
  Lease,
  Memory,
  MemoryInfo,
  MemoryList,
  ProjectFile,
  ProjectList,
} from "./host-memory.ts";
import type {
  PromptList,
  RawEntry,
  ResourceList,
  ServerDetails,
  ServerMatches,
  ServerName,
  ServerSummary,
  ToolMatches,
  ToolSummary,
} from "./host-tools.ts";

export const PROTOCOL = 1;

/** The longest line in either direction, in bytes, without its newline. */
export const MAX_FRAME_BYTES = 32 * 1024 * 1024;
/** What the values of a frame may take in memory; a list of three million numbers, or 150,000 records of ten fields. */
const MAX_FRAME_COST = 96 * 1024 * 1024;
const TOO_COSTLY = `the request has more values than the ${MAX_FRAME_COST / 1024 / 1024} MiB of memory that the host gives to one; send less at once, or the data as one text`;
/** How every request begins; see `docs/protocol.md`, "Lines". */
const RPC_HEAD = /^\["k",\{"type":"rpc","id":(\d{1,15}),"method":"(\w{1,64})"/;
const MAX_HEAD_CHARS = 256;

/** The longest `data` of a `display` frame: base64 of 4 MiB. */
const MAX_IMAGE_CHARS = Math.ceil((4 * 1024 * 1024) / 3) * 4;

/** The longest `bytes` of a `stream` frame: base64 of what a pipe holds, after the three bytes of a cut character. */
const MAX_PIECE_CHARS = Math.ceil((64 * 1024 + 3) / 3) * 4;

const id = z.int().nonnegative();
const nullableInt = z.int().nullable();
const nullableText = z.string().nullable();
/** An object as it came: a record of zod's would be a copy, in which a name such as `__proto__` is missing. */
export const anyObject = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "expected an object",
);

const supervisorFrameSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("hello"), protocol: z.int(), bundle: z.string(), python: z.string() }),
  z.object({ type: z.literal("ready"), generation: z.int().positive() }),
  z.object({
    type: z.literal("stream"),
    name: z.enum(["stdout", "stderr"]),
    data: z.string(),
    bytes: z.string().min(4).max(MAX_PIECE_CHARS).refine(isBase64).optional(),
    skipped: z.int().nonnegative().default(0),
  }),
  z.object({
    type: z.literal("died"),
    generation: z.int().positive(),
    execution: id.nullable(),
    reason: z.enum(["exit", "signal", "out_of_memory", "reset", "protocol"]),
    code: nullableInt,
    signal: nullableText,
    detail: nullableText,
  }),
  z.object({
    type: z.literal("spilled"),
    name: z.enum(["stdout", "stderr"]),
    path: z.string().min(1).max(256),
    bytes: z.int().nonnegative(),
    kept: z.int().nonnegative(),
  }),
  z.object({ type: z.literal("stdin_taken"), open: z.boolean() }),
  z.object({ type: z.literal("measured"), memory_bytes: z.int().nonnegative().nullable() }),
]);

const kernelFrameSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("rpc"),
    id,
    method: z.string().max(64),
    params: anyObject,
  }),
  z.object({
    type: z.literal("done"),
    id,
    status: z.enum(["ok", "error", "exit", "interrupted"]),
    result: nullableText,
    error: z.object({ ename: z.string(), evalue: z.string(), traceback: z.string() }).nullable(),
    exit_code: nullableInt,
  }),
  z.object({ type: z.literal("synced"), id }),
  z.object({
    type: z.literal("answer"),
    id,
    value: z.record(z.string(), z.unknown()).nullable(),
    error: nullableText,
  }),
  z.object({
    type: z.literal("display"),
    id,
    mime: z.enum(["image/png", "image/jpeg", "image/svg+xml", "image/webp", "image/gif"]),
    data: z.string().min(4).max(MAX_IMAGE_CHARS).refine(isBase64),
  }),
]);

/** What the supervisor (PID 1) says. User code cannot forge these. */
export type SupervisorFrame = z.infer<typeof supervisorFrameSchema>;
/** What the kernel says. User code can forge every one of these, within its own session. */
export type KernelFrame = Exclude<ReadKernelFrame, { type: "rpc" }> | RpcFrame;
type ReadKernelFrame = z.infer<typeof kernelFrameSchema>;
export type DoneFrame = Extract<KernelFrame, { type: "done" }>;
export type RpcFrame = Extract<ReadKernelFrame, { type: "rpc" }> & {
  /** Why its params were not read; ours to say. */
  readonly fault?: string;
};
export type DisplayFrame = Extract<KernelFrame, { type: "display" }>;
export type DiedFrame = Extract<SupervisorFrame, { type: "died" }>;
export type StreamFrame = Extract<SupervisorFrame, { type: "stream" }>;
export type SpilledFrame = Extract<SupervisorFrame, { type: "spilled" }>;

export type IncomingLine = readonly ["s", SupervisorFrame] | readonly ["k", KernelFrame];

/** Why an `rpc` failed; Python turns it into an exception. */
export interface RpcError {
  readonly kind: "tool" | "unknown" | "unreachable" | "timeout" | "denied" | "limit" | "memory" | "internal";
  readonly message: string;
  readonly server: string | null;
  readonly tool: string | null;
}

/** What the host sends. */
export type OutgoingLine =
  | readonly [
      "s",
      (
        | { readonly type: "interrupt"; readonly id: number }
        | { readonly type: "reset" | "measure" }
        | { readonly type: "stdin"; readonly data: string }
      ),
    ]
  | readonly ["k", ExecuteFrame]
  | readonly ["k", { readonly type: "sync"; readonly id: number }]
  | readonly ["k", AskFrame]
  | readonly ["k", { readonly type: "reply"; readonly id: number; readonly value: RpcValue }]
  | readonly ["k", { readonly type: "reply_error"; readonly id: number; readonly error: RpcError }];

/** A request of the host's, for a time when no cell runs. */
export interface AskFrame {
  readonly type: "ask";
  readonly id: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface ExecuteFrame {
  readonly type: "execute";
  readonly id: number;
  readonly code: string;
  /** `null`: as in the frame before, to the same process. */
  readonly servers: readonly ServerName[] | null;
  readonly loaded: readonly string[];
  readonly argv: readonly string[] | null;
  readonly filename: string | null;
  /** Variables to set before it runs; absent: none. */
  readonly env?: Readonly<Record<string, string>>;
  /** The state of what is kept in `/projects`; `null`: as in the frame before, to the same process. */
  readonly projects: string | null;
}

/** What answers an `rpc`; a {@link RawEntry} is the result as the server gave it. */
export type RpcValue =
  | readonly ServerSummary[]
  | readonly ToolSummary[]
  | ServerDetails
  | ServerMatches
  | ToolMatches
  | ResourceList
  | PromptList
  | MemoryValue
  | RawEntry;

/** What answers an `rpc` about what is kept. */
export type MemoryValue =
  | MemoryList
  | { readonly memory: Memory | null }
  | MemoryInfo
  | { readonly deleted: boolean }
  | (Lease & { readonly memory: Memory | null })
  | (Lease & { readonly source: string })
  | ProjectList
  | FilePiece
  | { readonly file: ProjectFile | null; readonly changed: boolean }
  | { readonly changed: boolean }
  | Readonly<Record<string, never>>;

/** Settings that travel with the Python sources; see `docs/protocol.md`, "Start". */
export interface SandboxSettings {
  readonly protocol: number;
  readonly max_frame_bytes: number;
  /** `null` where the engine enforces the limits itself. */
  readonly rlimits: { readonly memory_bytes: number; readonly processes: number } | null;
  /** How much of a stream of one execution the host keeps: what goes beyond is also written to a file; 65536 if absent. */
  readonly output_bytes?: number;
  /** All output is to be sent, not only what the host keeps of it: false if absent. */
  readonly whole_output?: boolean;
  /** The folder whose files are kept on the host; none if absent. */
  readonly projects?: string;
  /** The first program gets what the host sends as its standard input: false if absent. */
  readonly stdin?: boolean;
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** A frame, and about how many bytes it takes in memory. */
export interface ParsedLine {
  readonly line: IncomingLine;
  readonly cost: number;
}

/** Parses one line from the sandbox. Returns the reason, for the log, when it is not a valid frame; never throws. */
export function parseLine(bytes: Uint8Array): ParsedLine | { readonly invalid: string } {
  let value: unknown;
  let cost: number;
  try {
    const text = decoder.decode(bytes);
    cost = costOfExactJson(text);
    if (cost > MAX_FRAME_COST) return tooCostly(text, cost);
    value = parseExactJson(text);
  } catch {
    return { invalid: "not JSON in UTF-8" }; // the parser's message would quote what the sandbox wrote
  }
  const line = parseFrame(value);
  return line === undefined ? { invalid: "not a frame of protocol 1" } : { line, cost };
}

/** A request that is not read still gets an answer. */
function tooCostly(text: string, cost: number): ParsedLine | { readonly invalid: string } {
  const [, id, method = ""] = RPC_HEAD.exec(text.slice(0, MAX_HEAD_CHARS)) ?? [];
  if (id === undefined) return { invalid: "a frame of more values than are read" };
  return { line: ["k", { type: "rpc", id: Number(id), method, params: {}, fault: TOO_COSTLY }], cost };
}

/** By the speaker's own schema: a union of both would describe at length, for each frame, why it is not the other's. */
function parseFrame(value: unknown): IncomingLine | undefined {
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [speaker, frame]: readonly unknown[] = value;
  if (speaker === "s") {
    const parsed = supervisorFrameSchema.safeParse(frame);
    return parsed.success ? [speaker, parsed.data] : undefined;
  }
  if (speaker === "k") {
    const parsed = kernelFrameSchema.safeParse(frame);
    return parsed.success ? [speaker, parsed.data] : undefined;
  }
  return undefined;
}

/** Renders one line for the sandbox, newline included. It may be longer than the sandbox takes. */
export function renderLine(line: OutgoingLine): string {
  return `["${line[0]}",${JSON.stringify(line[1])}]\n`;
}

/** The supervisor takes a longer line for the word of another program, and ends. JSON can be longer than what it says. */
export function isTooLong(line: string): boolean {
  return Buffer.byteLength(line) - 1 > MAX_FRAME_BYTES;
}
