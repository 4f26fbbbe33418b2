import { matchesGlob } from "../core/glob.ts";
import type { ToolFilter, ToolPolicy } from "../discovery/server-definition.ts";
import type { ToolSummary } from "../kernel/host-tools.ts";

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

function refusalByPolicy(
  { allow, deny, readOnly }: ToolPolicy,
  { name, alias, annotations }: Tool,
): Refusal | undefined {
  // By what code calls it too: a name that is hard to write must not be a way around.
  const denied = deny.find(({ glob }) => matchesGlob(glob, name) || matchesGlob(glob, alias));
  if (denied !== undefined) return { rule: `${denied.rule} forbids it`, setting: denied.where };
  if (allow !== undefined && !allow.globs.some((glob) => matchesGlob(glob, name))) {
    return { rule: `${allow.where} does not name it`, setting: allow.where };
  }
  if (readOnly === undefined) return undefined;
  const claim = annotations?.readOnlyHint;
  if (claim === true && annotations?.destructiveHint !== true) return undefined;
  const what = claim === undefined ? "does not say that of it" : "says that it changes things";
  return { rule: `${readOnly} is on for tools that only read, and its server ${what}`, setting: readOnly };
}
