import { matchesGlob } from "../core/glob.ts";
import type { ToolFilter, ToolPolicy, ToolRule } from "../discovery/server-definition.ts";
import type { ToolSummary } from "../kernel/host-tools.ts";

/** The word that stands for tools in `ask`, in place of a pattern of names. */
const DESTRUCTIVE = "destructive";

/** Why a tool may not be used. */
export interface Refusal {
  /** A clause. */
  readonly rule: string;
  /** The user's own setting that says so; `undefined`: the server's definition does. */
  readonly setting: string | undefined;
}

type Tool = Pick<ToolSummary, "name" | "alias" | "annotations">;

/** What forbids a tool; `undefined`: it may be used. */
export function refusalOf({ allow, deny, policy }: ToolFilter, tool: Tool): Refusal | undefined {
  const denied = deny.find((glob) => matchesGlob(glob, tool.name));
  if (denied !== undefined) {
    return { rule: `its definition forbids ${JSON.stringify(denied)}`, setting: undefined };
  }
  if (allow !== undefined && !allow.some((glob) => matchesGlob(glob, tool.name))) {
    return { rule: "it is not among the tools that its definition allows", setting: undefined };
  }
  return policy === undefined ? undefined : refusalByPolicy(policy, tool);
}

/** The rule by which the user is asked before a call of a tool that may be used; `undefined`: there is none. */
export function askRuleOf({ policy }: ToolFilter, tool: Tool): ToolRule | undefined {
  return policy?.ask.find(
    (rule) => isNamedBy(rule, tool) || (rule.glob === DESTRUCTIVE && !isHarmless(tool.annotations)),
  );
}

/** By what code calls it too: a name that is hard to write must not be a way around. */
function isNamedBy({ glob }: ToolRule, { name, alias }: Tool): boolean {
  return matchesGlob(glob, name) || matchesGlob(glob, alias);
}

/** By the defaults of MCP a tool of which nothing is said changes things, and destroys some. */
function isHarmless(annotations: Tool["annotations"]): boolean {
  return annotations?.readOnlyHint === true && annotations.destructiveHint !== true;
}

function refusalByPolicy({ allow, deny, readOnly }: ToolPolicy, tool: Tool): Refusal | undefined {
  const { name, annotations } = tool;
  const denied = deny.find((rule) => isNamedBy(rule, tool));
  if (denied !== undefined) return { rule: `${denied.rule} forbids it`, setting: denied.where };
  if (allow !== undefined && !allow.globs.some((glob) => matchesGlob(glob, name))) {
    return { rule: `${allow.where} does not name it`, setting: allow.where };
  }
  if (readOnly === undefined) return undefined;
  if (isHarmless(annotations)) return undefined;
  const what =
    annotations?.readOnlyHint === undefined ? "does not say that of it" : "says that it changes things";
  return { rule: `${readOnly} is on for tools that only read, and its server ${what}`, setting: readOnly };
}
