import { createHash } from "node:crypto";
import { BridgeError } from "../../core/errors.ts";
import type { ServerDefinition } from "../../discovery/server-definition.ts";
import type { ToolResult, ToolSummary, WhileAsking } from "../../kernel/host-tools.ts";
import type { CallFacts } from "../call-watch.ts";
import { askRuleOf } from "../tool-filter.ts";
import { type ApprovalRequest, type Approvals, MAX_DENIALS, type Verdict } from "./approvals.ts";

/** Calls the tool, unless it has to be approved first and is none of what `mayCall` lets through. */
export type Attempt = (
  mayCall: (request: ApprovalRequest) => boolean,
) => Promise<{ readonly result: ToolResult } | { readonly needs: ApprovalRequest }>;

export interface ApprovedCallOptions {
  readonly attempt: Attempt;
  readonly approvals: Approvals;
  readonly facts: CallFacts;
  readonly whileAsking: WhileAsking;
  readonly signal: AbortSignal;
}

/** What has to be approved of a call; `undefined`: nothing. */
export function requestFor(
  definition: ServerDefinition,
  tool: ToolSummary,
  { arguments: args, mask }: CallFacts,
): ApprovalRequest | undefined {
  const rule = askRuleOf(definition.tools, tool);
  if (rule === undefined) return undefined;
  const name = JSON.stringify([definition.name, definition.fingerprint, tool.name]);
  return { definition, tool, rule, arguments: args, mask, name, key: `${name} ${digestOf(tool)}` };
}

const digests = new WeakMap<ToolSummary, string>();

/** The same as long as the server says the same of its tool; the alias depends on what other tools there are. */
function digestOf(tool: ToolSummary): string {
  let digest = digests.get(tool);
  if (digest === undefined) {
    const { alias: _, ...said } = tool;
    digest = createHash("sha256").update(JSON.stringify(said)).digest("base64url");
    digests.set(tool, digest);
  }
  return digest;
}

/**
 * Makes a call, and asks the user before where that has to be. The server is not in use meanwhile, so what it has come to
 * be is looked at again. Rejects with `APPROVAL_DENIED`, else as the attempt does.
 */
export async function callOnceApproved(options: ApprovedCallOptions): Promise<ToolResult> {
  const { attempt, approvals, facts, whileAsking, signal } = options;
  const note = ({ rule }: ApprovalRequest, { answer }: Verdict) => {
    facts.approval = { rule: rule.rule, answer };
  };
  const first = await attempt((request) => {
    const earlier = approvals.earlier(request);
    if (earlier !== undefined) note(request, earlier);
    return earlier !== undefined;
  });
  if ("result" in first) return first.result;
  const { needs } = first;
  const askedAt = performance.now();
  const verdict = await whileAsking(() => approvals.ask(needs, signal));
  facts.askedMs = performance.now() - askedAt;
  note(needs, verdict);
  if (!isAllowed(verdict)) throw refused(needs, verdict, approvals);
  const second = await attempt(({ key }) => key === needs.key);
  if ("result" in second) return second.result;
  throw new BridgeError("APPROVAL_DENIED", `${describe(needs)} changed while the user was asked`, {
    hint: "Call it again: the user is asked anew.",
  });
}

function isAllowed({ answer }: Verdict): boolean {
  return answer === "once" || answer === "run" || answer === "session";
}

function describe({ definition, tool }: ApprovalRequest): string {
  return `tool ${JSON.stringify(tool.name)} of server ${JSON.stringify(definition.name)}`;
}

function refused(request: ApprovalRequest, verdict: Verdict, approvals: Approvals): BridgeError {
  const [what, hint] = explain(verdict, approvals, request.rule.where);
  const message = `${describe(request)} was not called: by ${request.rule.rule} it needs the user's approval, ${what}`;
  const data = { server: request.definition.name, tool: request.tool.name };
  return new BridgeError("APPROVAL_DENIED", message, { hint, data });
}

/** What came of the question, and what to do next. */
function explain(
  { answer, reason }: Verdict,
  { timeoutMs, maxQuestions }: Approvals,
  where: string,
): readonly [string, string] {
  switch (answer) {
    case "unable":
      return [`and ${reason}`, `Do without it, or ask the user to change ${where}.`];
    case "unanswered": {
      const limit = `${timeoutMs / 1000} s that a run has for that (MCP_BRIDGE_APPROVAL_TIMEOUT)`;
      return [`which did not come within the ${limit}`, "Ask the user whether to try again."];
    }
    case "too many":
      return [
        `and this run has asked ${maxQuestions} times already`,
        "Make such calls at once, with asyncio.gather: they are one question then. Or make the others in another run.",
      ];
    case "denied before":
      return [
        `and the user has denied ${MAX_DENIALS} calls of this run, so that no more are asked for`,
        "Ask the user what to do instead; do not try it in another way.",
      ];
    case "dismissed":
      return ["and the user closed the question", "Ask the user what to do; do not try it in another way."];
    default:
      return ["and the user denied it", "Ask the user what to do instead; do not try it in another way."];
  }
}
