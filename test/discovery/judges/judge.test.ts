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
  };
}

test("asks every judge about every server that is not switched off, and takes the strictest answer", async () => {
  const asked: string[] = [];
  const answering =
    (answer: Availability | undefined): Judge =>
    async ({ name }) => {
      asked.push(name);
      return answer;
    };
  const judges = [
    answering({ kind: "forbidden", rule: "/policy.json: deny" }),
    answering({ kind: "untrusted", folder: "/p", changed: false }),
    answering(undefined),
  ];

  const judged = await judgeServers(
    [
      server("on"),
      server("off", { kind: "disabled", reason: "r" }),
      server("bare", { kind: "needs", what: ["v"] }),
    ],
    judges,
  );

  expect(judged.map(({ availability }) => availability)).toEqual([
    { kind: "forbidden", rule: "/policy.json: deny" },
    { kind: "disabled", reason: "r" },
    { kind: "forbidden", rule: "/policy.json: deny" },
  ]);
  expect(asked.sort()).toEqual(["bare", "bare", "bare", "on", "on", "on"]);
});

test("leaves a server usable that nobody has anything against", async () => {
  const [judged] = await judgeServers([server("on")], [async () => undefined]);

  expect(judged?.availability).toEqual({ kind: "usable" });
});
