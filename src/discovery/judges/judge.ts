import type { Availability, ServerDefinition } from "../server-definition.ts";

/**
 * Says why a server that its files let run may not run after all; `undefined` where it has nothing against it. It never
 * rejects: a judge that cannot find out answers what is safe.
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
      const own = server.availability;
      const availability = strictest(own, answers);
      if (availability !== own || own.kind !== "disabled") return { ...server, availability };
      // Whoever switches it on for a session must not start what may not run.
      const otherwise = strictest(own.otherwise ?? { kind: "usable" }, answers);
      return otherwise.kind === "usable"
        ? server
        : { ...server, availability: { kind: "disabled", reason: own.reason, otherwise } };
    }),
  );
}

function strictest(own: Availability, answers: readonly (Availability | undefined)[]): Availability {
  return answers.reduce<Availability>(
    (so, answer) => (answer !== undefined && isStricter(answer, so) ? answer : so),
    own,
  );
}

function isStricter(one: Availability, other: Availability): boolean {
  return STRICTNESS.indexOf(one.kind) > STRICTNESS.indexOf(other.kind);
}
