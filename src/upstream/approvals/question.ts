import * as z from "zod";
import { escapeUnits } from "../../core/escaped-text.ts";
import { MASK } from "../../core/secrets.ts";
import type { ToolAnnotations, ToolSummary } from "../../kernel/host-tools.ts";
import type { PeerMessage } from "../client-peer.ts";
import type { Mask } from "../mask.ts";
import { maskArguments } from "../masked-arguments.ts";
import { unmistakable } from "../relayed-text.ts";

/** Up to this revision the titles of an enum's values stand beside them in `enumNames`; later each in `oneOf`. */
const LAST_WITH_NAMES = "2025-06-18";
const MAX_NAME_CHARS = 200;
/** Calls whose arguments are shown. */
const MAX_SHOWN = 10;
/** Characters of arguments in one question: a dialog that is longer is not read. */
const MAX_ARGUMENTS_CHARS = 4000;
/** Narrower than in the audit: what a person is to allow must be seen, such as the `key` of what is deleted. */
const SECRET_NAME =
  /token|secret|passw|passphrase|credential|bearer|cookie|authorization|(api|access|private)[_-]?key/i;
/** Characters shown of one text, as many as there is room for: the first argument must not push the others out of sight. */
const TEXT_CHARS = [MAX_ARGUMENTS_CHARS, 1000, 250, 60];
const NOT_ALL = "NOT ALL IS SHOWN";

/** What the user can answer. */
const CHOICES = ["once", "run", "session", "deny"] as const;
export type Choice = (typeof CHOICES)[number];

/** Calls of one tool that wait for one answer. */
export interface Question {
  readonly server: string;
  readonly tool: Pick<ToolSummary, "name" | "annotations">;
  /** Its server has come to define it in another way since the user allowed it for the session. */
  readonly hasChanged: boolean;
  /** The pattern by which they are asked for, with its setting. */
  readonly rule: string;
  /** Those of each call. */
  readonly arguments: readonly unknown[];
  /** Hides the server's own secrets. */
  readonly mask: Mask;
}

/**
 * The form that asks the user. What comes from the code and from the server cannot pass for ours in it: it is quoted,
 * on lines of its own that Markdown takes for code, and without what a terminal or a browser would act on.
 */
export function renderQuestion(question: Question, revision: string | undefined): PeerMessage {
  const { server, tool, hasChanged, rule, arguments: all } = question;
  const shown = renderArguments(question);
  const times = all.length === 1 ? "" : ` ${all.length} times`;
  const message = [
    `Code in Sandpy wants to call the tool ${name(tool.name)} of the server ${name(server)}${times}.`,
    ...(hasChanged ? ["You allowed it for this session, but its server has changed it since."] : []),
    `The server says of this tool: ${describeAnnotations(tool.annotations)}.`,
    `Arguments, as the code gives them${shown.includes(MASK) ? ", with stars for what looks secret" : ""}:`,
    shown,
    `You are asked because of ${rule}. Names and arguments are not Sandpy's words.`,
  ].join("\n\n");
  return {
    method: "elicitation/create",
    params: {
      message,
      requestedSchema: {
        type: "object",
        properties: { decision: decisionSchema(titles(all.length), revision) },
        required: ["decision"],
      },
    },
  };
}

const answerSchema = z.object({
  action: z.enum(["accept", "decline", "cancel"]),
  content: z
    .object({ decision: z.enum(CHOICES) })
    .optional()
    .catch(undefined),
});

/** What an `ElicitResult` says; `dismissed`: the user closed the form. Whatever is not clear allows nothing. */
export function parseAnswer(result: unknown): Choice | "dismissed" {
  const parsed = answerSchema.safeParse(result);
  if (!parsed.success || parsed.data.action === "decline") return "deny";
  if (parsed.data.action === "cancel") return "dismissed";
  return parsed.data.content?.decision ?? "deny";
}

function titles(count: number): Readonly<Record<Choice, string>> {
  return {
    once: count === 1 ? "Allow this call" : `Allow these ${count} calls`,
    run: "Allow all calls of this tool until this run ends",
    session: "Allow all calls of this tool in this session",
    deny: "Deny",
  };
}

function decisionSchema(titleOf: Readonly<Record<Choice, string>>, revision: string | undefined) {
  const base = { type: "string", title: "Decision" };
  if (revision !== undefined && revision <= LAST_WITH_NAMES) {
    return { ...base, enum: CHOICES, enumNames: CHOICES.map((choice) => titleOf[choice]) };
  }
  return { ...base, oneOf: CHOICES.map((choice) => ({ const: choice, title: titleOf[choice] })) };
}

function describeAnnotations(annotations: ToolAnnotations | undefined): string {
  const { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations ?? {};
  const words = [
    ...(title === undefined ? [] : [`title ${name(title)}`]),
    ...say(readOnlyHint, "only reads", "changes things"),
    ...say(destructiveHint, "can destroy things", "destroys nothing"),
    ...say(idempotentHint, "does no more when it is repeated", "does more when it is repeated"),
    ...say(openWorldHint, "reaches the world outside", "stays within itself"),
  ];
  return words.length === 0 ? "nothing" : words.join(", ");
}

function say(claim: boolean | undefined, yes: string, no: string): readonly string[] {
  return claim === undefined ? [] : [claim ? yes : no];
}

function renderArguments({ arguments: all, mask }: Question): string {
  const shown = all.slice(0, MAX_SHOWN);
  const room = Math.floor(MAX_ARGUMENTS_CHARS / shown.length);
  const lines = shown.map((args, index) => {
    const text = renderCall(args, mask, room);
    return all.length === 1 ? `    ${text}` : `    ${index + 1}. ${text}`;
  });
  const more = all.length - shown.length;
  return [...lines, ...(more > 0 ? [`    … NOT ALL ARE SHOWN: ${more} calls more`] : [])].join("\n");
}

function renderCall(args: unknown, mask: Mask, room: number): string {
  let text = "";
  for (const maxTextChars of TEXT_CHARS) {
    let isWhole = true;
    const onCut = () => {
      isWhole = false;
    };
    const masked = maskArguments(args, mask, { maxTextChars, secretName: SECRET_NAME, onCut });
    const json = JSON.stringify(masked) ?? "";
    if (json.length > room && maxTextChars !== TEXT_CHARS.at(-1)) continue;
    text = harmless(json);
    if (text.length <= room) return isWhole ? text : `${text} … ${NOT_ALL}: more stands where … is`;
  }
  return `${text.slice(0, room).toWellFormed()} … ${NOT_ALL}: ${text.length - room} characters more`;
}

/** A name in quotes: short, on one line, and no markup. */
function name(text: string): string {
  const short = text.length > MAX_NAME_CHARS ? `${text.slice(0, MAX_NAME_CHARS).toWellFormed()}…` : text;
  return inert(JSON.stringify(short));
}

/** Nothing that Markdown or HTML would act on. */
function inert(text: string): string {
  return harmless(text).replace(/[[\]()`*~|&!]/g, escapeUnits);
}

/** JSON stays JSON: no tag and no link begins in it. */
function harmless(text: string): string {
  return unmistakable(text).replace(/[<>]|(?<=\])[(:[]/g, escapeUnits);
}
