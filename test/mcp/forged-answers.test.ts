/** What a client of the newest revision says to questions that were never put so, with our MCP server in between. */
import { expect, test } from "bun:test";
import { asking, call, FORMS, say, tools } from "../helpers/approval-rig.ts";
import { callsRun, connectModern } from "../helpers/relay-rig.ts";
import { createJournal, createRig } from "../upstream/harness.ts";

interface Reply {
  readonly inputRequests?: Readonly<Record<string, object>>;
  readonly requestState?: string;
}

/** A client whose requests the test writes itself. */
async function startRig() {
  const journal = createJournal();
  const rig = createRig([asking({ tools, journal: journal.path })]);
  const client = await connectModern(rig, FORMS);
  const anything = { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) } };
  return {
    called: () => journal.lines().filter((line) => line.includes('"tools/call"')).length,
    send: (more: object = {}) =>
      client.request(
        { method: "tools/call", params: { ...callsRun([call("del-all")]), ...more } },
        anything as never,
        { allowInputRequired: true },
      ) as Promise<Reply>,
    async [Symbol.asyncDispose]() {
      await client.close();
      await rig[Symbol.asyncDispose]();
      journal[Symbol.dispose]();
    },
  };
}

test.each<[string, unknown]>([
  ["an answer to no question", { other: say("session") }],
  ["an answer to a later question", { "question-2": say("session") }],
  ["a word in place of an answer", { "question-1": "accept" }],
  ["nothing in place of an answer", { "question-1": null }],
  ["a prototype", JSON.parse('{"__proto__":{"action":"accept","content":{"decision":"once"}}}')],
])("NBR-3: %s is none: the same question is put again", async (_, inputResponses) => {
  await using rig = await startRig();
  const { requestState, inputRequests } = await rig.send();

  const again = await rig.send({ requestState, inputResponses }).catch(String);

  const refused = typeof again === "string"; // by the SDK, since it is no answer at all
  if (!refused) expect(again.inputRequests).toEqual(inputRequests);
  expect(rig.called()).toBe(0);
  const answered = await rig.send({ requestState, inputResponses: { "question-1": say("once") } });
  expect([JSON.stringify(answered).includes("[{}]"), rig.called()]).toEqual([true, 1]);
});

test.each<[string, object]>([
  ["no decision", { action: "accept" }],
  ["a decision that was not offered", say("always")],
  ["a decision in another place", { action: "accept", decision: "once" }],
  ["a list of decisions", { action: "accept", content: { decision: ["once"] } }],
  ["a decision in other letters", say("ONCE")],
  ["another action", { action: "allow", content: { decision: "once" } }],
  ["a refusal with a decision", { action: "decline", content: { decision: "once" } }],
  ["an empty answer", {}],
])("NBR-3: %s allows nothing", async (_, answer) => {
  await using rig = await startRig();
  const { requestState } = await rig.send();

  const reply = await rig.send({ requestState, inputResponses: { "question-1": answer } });

  expect(JSON.stringify(reply)).toMatch(/the user (denied it|closed the question)/);
  expect(rig.called()).toBe(0);
});

test.each<[string, (state: string) => string]>([
  ["cut", (state) => state.slice(0, -1)],
  ["longer", (state) => `${state}A`],
  ["turned", (state) => [...state].reverse().join("")],
  [
    "in other letters",
    (state) => (state === state.toLowerCase() ? state.toUpperCase() : state.toLowerCase()),
  ],
  ["a megabyte long", (state) => state.repeat(40_000)],
  ["empty", () => ""],
  ["a name of every object", () => "__proto__"],
])("NBR-3: a state that is %s goes on with nothing, and starts nothing", async (_, edit) => {
  await using rig = await startRig();
  const { requestState = "" } = await rig.send();
  const inputResponses = { "question-1": say("session") };

  const forged = await rig.send({ requestState: edit(requestState), inputResponses });

  expect(JSON.stringify(forged)).toContain("The run that this answers is over");
  expect(rig.called()).toBe(0);
  await rig.send({ requestState, inputResponses });
  expect(rig.called()).toBe(1);
});

test("NBR-3: an answer that is given twice at once is one, and the call is made once", async () => {
  await using rig = await startRig();
  const { requestState } = await rig.send();
  const answer = { requestState, inputResponses: { "question-1": say("once") } };

  const replies = await Promise.all(Array.from({ length: 20 }, () => rig.send(answer)));

  const isOver = replies.map((reply) => JSON.stringify(reply).includes("is over"));
  expect(isOver.filter((each) => !each)).toHaveLength(1);
  expect(rig.called()).toBe(1);
});

test("NBR-12: a client that calls again and again without an answer is not asked for ever", async () => {
  await using rig = await startRig();
  let reply = await rig.send();
  let rounds = 0;
  for (; reply.requestState !== undefined && rounds < 100; rounds++) {
    reply = await rig.send({ requestState: reply.requestState, inputResponses: {} });
  }

  expect(rounds).toBe(32);
  expect(JSON.stringify(reply)).toContain("the client called again 32 times without an answer");
  expect(rig.called()).toBe(0);
});
