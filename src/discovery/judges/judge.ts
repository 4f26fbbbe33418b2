import type { Availability, ServerDefinition } from "../server-definition.ts";

/**
 * Says why a server that its files let run may not run after all; `undefined` where it has nothing against it. Not
 * asked about servers that are switched off. It never rejects: a judge that cannot find out answers what is safe.
 */
export type Judge = (server: ServerDefinition) => Promise<Availability | undefined>;

/** The later, the stricter. */
const STRICTNESS: readonly Availability["kind"][] = [
  "usable",
  "disabled",
  "needs",
  "untrusted",
  "forbidden",
  "self",
];

/** Asks every judge about every server that is not switched off; the strictest answer counts. */
export function judgeServers(
  servers: readonly ServerDefinition[],
  judges: readonly Judge[],
): Promise<readonly ServerDefinition[]> {
  return Promise.all(
    servers.map(async (server) => {
      if (server.availability.kind === "disabled") return server;
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
