import { expect, test } from "bun:test";
import { type Judge, judgeServers } from "../../../src/discovery/judges/judge.ts";
import type { Availability, ServerDefinition } from "../../../src/discovery/server-definition.ts";

function server(name: string, availability: Availability = { kind: "usable" }): ServerDefinition {
  return {
    name,
    alias: name,
    description: "",
    transport: { kind: "stdio", command: name, args: [], env: {}, cwd: undefined },
    availability,
    tools: { allow: undefined, deny: [] },
    startMs: undefined,
    callMs: undefined,
    origins: [{ client: "sandpy", scope: "user", file: "/a.json", key: name }],
    fingerprint: name,
    sources: [],
    pin: "",
  };
}

const answering =
  (answer: Availability | undefined): Judge =>
  async () =>
    answer;

test.each<[Availability, readonly (Availability | undefined)[], Availability["kind"]]>([
  [{ kind: "usable" }, [undefined, { kind: "forbidden", rule: "r" }, { kind: "self" }], "forbidden"],
  [{ kind: "usable" }, [{ kind: "untrusted", folder: "/p", changed: false }, undefined], "untrusted"],
  [{ kind: "needs", what: ["v"] }, [{ kind: "untrusted", folder: "/p", changed: false }], "untrusted"],
  [{ kind: "needs", what: ["v"] }, [undefined], "needs"],
  [{ kind: "disabled", reason: "r" }, [{ kind: "untrusted", folder: "/p", changed: false }], "disabled"],
  [{ kind: "disabled", reason: "r" }, [{ kind: "self" }], "disabled"],
  [{ kind: "disabled", reason: "r" }, [{ kind: "forbidden", rule: "r" }], "forbidden"],
])("takes the strictest answer: %j, %j", async (own, answers, expected) => {
  const [judged] = await judgeServers([server("x", own)], answers.map(answering));

  expect(judged?.availability.kind).toBe(expected);
});

test.each<[Availability, Availability | undefined, Availability["kind"] | undefined]>([
  [{ kind: "disabled", reason: "r" }, undefined, undefined],
  [{ kind: "disabled", reason: "r" }, { kind: "self" }, "self"],
  [{ kind: "disabled", reason: "r" }, { kind: "untrusted", folder: "/p", changed: false }, "untrusted"],
  [{ kind: "disabled", reason: "r", otherwise: { kind: "needs", what: ["v"] } }, undefined, "needs"],
  [{ kind: "disabled", reason: "r", otherwise: { kind: "needs", what: ["v"] } }, { kind: "self" }, "self"],
])("keeps what a server would be if it were switched on: %j, %j", async (own, answer, expected) => {
  const [judged] = await judgeServers([server("x", own)], [answering(answer)]);

  const availability = judged?.availability;
  expect(availability?.kind).toBe("disabled");
  expect(availability?.kind === "disabled" && availability.otherwise?.kind).toBe(expected as never);
});

test("leaves a server usable that nobody has anything against", async () => {
  const [judged] = await judgeServers([server("on")], [async () => undefined]);

  expect(judged?.availability).toEqual({ kind: "usable" });
});
