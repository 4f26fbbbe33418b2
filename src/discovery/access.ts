import type { AccessPolicy, NameRule } from "../config/policy.ts";
import { matchesGlob } from "../core/glob.ts";
import { shellWord } from "../core/shell-word.ts";
import type { Judge } from "./judges/judge.ts";
import type { ServerDefinition, ToolPolicy, ToolRule } from "./server-definition.ts";

/**
 * Refuses the servers that our own settings do not let code use. What is denied may be said by any name of a server:
 * the one it is listed under, its alias, its name in any file; what is allowed by the first alone, and those that are
 * named one by one by the first or the alias.
 */
export function createAccessJudge({ allow, deny, only }: AccessPolicy["servers"]): Judge {
  return async (server) => {
    const names = namesOf(server);
    const denied = deny.find(({ glob }) => names.some((name) => matchesGlob(glob, name)));
    if (denied !== undefined) return { kind: "forbidden", rule: describeRule(denied) };
    if (allow !== undefined && !allow.globs.some((glob) => matchesGlob(glob, server.name))) {
      return { kind: "forbidden", rule: `${allow.where}, which does not name it` };
    }
    if (only === undefined || only.names.includes(server.name) || only.names.includes(server.alias))
      return undefined;
    const remedy = `The user can let the program use it: ${only.where} ${shellWord([...only.names, server.name].join(","))}`;
    return { kind: "forbidden", rule: `${only.where}, which does not name it`, remedy };
  };
}

/** Puts what our own settings say of tools beside what a server's definition says. */
export function applyToolPolicy(server: ServerDefinition, policy: AccessPolicy): ServerDefinition {
  const toolPolicy = toolPolicyFor(server, policy);
  return toolPolicy === undefined ? server : { ...server, tools: { ...server.tools, policy: toolPolicy } };
}

function toolPolicyFor(
  server: ServerDefinition,
  { tools: { allow, deny, ask }, readOnly }: AccessPolicy,
): ToolPolicy | undefined {
  const names = namesOf(server);
  const strict = (rules: readonly NameRule[]): readonly ToolRule[] =>
    rules.flatMap((rule) => {
      // A tool's own name may have a slash in it.
      const globs = rule.glob.includes("/") ? [rule.glob, ...toolGlobs(rule.glob, names)] : [rule.glob];
      return globs.map((glob) => ({ glob, rule: describeRule(rule), where: rule.where }));
    });
  if (allow === undefined && deny.length === 0 && ask.length === 0 && readOnly === undefined)
    return undefined;
  return {
    allow:
      allow === undefined
        ? undefined
        : { globs: allow.globs.flatMap((glob) => toolGlobs(glob, [server.name])), where: allow.where },
    deny: strict(deny),
    ask: strict(ask),
    readOnly: readOnly?.where,
  };
}

/** The part of `server/tool` that is about tools, wherever the part before it fits the server; names may have slashes. */
function toolGlobs(glob: string, servers: readonly string[]): readonly string[] {
  if (!glob.includes("/")) return [glob];
  return [...glob.matchAll(/\//g)]
    .filter(({ index }) => servers.some((server) => matchesGlob(glob.slice(0, index), server)))
    .map(({ index }) => glob.slice(index + 1));
}

function namesOf({ name, alias, origins }: ServerDefinition): readonly string[] {
  return [name, alias, ...origins.map(({ key }) => key)];
}

function describeRule({ glob, where }: { readonly glob: string; readonly where: string }): string {
  return `${JSON.stringify(glob)} of ${where}`;
}
