import type { Availability, ServerDefinition } from "../server-definition.ts";

/**
 * Says why a server that its files let run may not run after all; `undefined` where it has nothing against it. It never rejects: a judge that cannot find out answers what is safe.
 */
export type Judge = (server: ServerDefinition) => Promise<Availability | undefined>;

/** The later, the stricter: what is switched off may also be forbidden, and is not worth trusting. */
const STRICTNESS: readonly Availability["kind"][] = [
  "usable",
  "needs",
  "untrusted",
  "self",
  "disabled",
  "forbidden",
];

/** Asks every judge about every server; the strictest answer counts. */
export function judgeServers(
  servers: readonly ServerDefinition[],
  judges: readonly Judge[],
): Promise<readonly ServerDefinition[]> {
  return Promise.all(
    servers.map(async (server) => {
      const answers = await Promise.all(judges.map((judge) => judge(server)));
      const availability = answers.reduce<Availability>(
        (strictest, answer) => (answer !== undefined && isStricter(answer, strictest) ? answer : strictest),
        server.availability,
      );
      return { ...server, availability };
    }),
  );
}

function isStricter(one: Availability, other: Availability): boolean {
  return STRICTNESS.indexOf(one.kind) > STRICTNESS.indexOf(other.kind);
}
