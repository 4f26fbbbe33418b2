import type { Policy } from "../policies/policy.ts";
import type { Judge } from "./judge.ts";

/** Refuses what the policies of the client forbid in whose file a server stands. */
export function createPolicyJudge(policies: readonly Policy[]): Judge {
  return async ({ origins, transport }) => {
    for (const origin of origins) {
      for (const policy of policies) {
        if (!policy.clients.includes(origin.client)) continue;
        const rule = policy.forbids({ origin, transport });
        if (rule !== undefined) return { kind: "forbidden", rule };
      }
    }
    return undefined;
  };
}
