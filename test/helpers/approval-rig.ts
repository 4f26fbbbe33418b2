import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { ServerDefinition } from "../../src/discovery/server-definition.ts";
import type { UpstreamOptions } from "../../src/upstream/upstream.ts";
import type { Script } from "../fixtures/servers/scripted-server.ts";
import { createJournal, createRig, type Rig, scripted } from "../upstream/harness.ts";
import { type Calls, callsRun, connectModern, connectOlder } from "./relay-rig.ts";

export type Form = { message: string; requestedSchema: { properties: { decision: object } } };
export type Answer = { action: "accept" | "decline" | "cancel"; content?: Record<string, string> };
type Decide = (form: Form, signal: AbortSignal | undefined) => Answer | Promise<Answer>;

/** What the user chose. */
export const say = (decision: string): Answer => ({ action: "accept", content: { decision } });
export const FORMS = { elicitation: { form: {} } };
export const tools = { "del-all": {}, wipe: {}, get: { annotations: { readOnlyHint: true } } };
export const call = (tool: string, args: Record<string, unknown> = {}) => ({
  server: "fx",
  tool,
  arguments: args,
});

/** The scripted server, of which the word and a pattern are asked for. */
export function asking(script: Script = { tools }): ServerDefinition {
  const server = scripted("fx", script);
  const where = "--ask";
  const ask = ["del*", "destructive"].map((glob) => ({ glob, rule: `"${glob}" of ${where}`, where }));
  return {
    ...server,
    tools: { ...server.tools, policy: { allow: undefined, deny: [], ask, readOnly: undefined } },
  };
}

interface Client {
  /** Makes calls in one run and gives what `run_python` shows: the results as JSON. */
  run(calls: Calls, signal?: AbortSignal): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

export const ERAS = ["older", "modern"] as const;
type Era = (typeof ERAS)[number];

export async function connect(
  era: Era,
  rig: Rig,
  decide: Decide,
  capabilities: Record<string, object> = FORMS,
): Promise<Client> {
  const client =
    era === "older"
      ? await connectOlder(rig, capabilities, (each) => {
          if ("elicitation" in capabilities) {
            each.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) =>
              decide(params as never, signal),
            );
          }
        })
      : await connectModern(rig, capabilities, (each) => {
          if ("elicitation" in capabilities) {
            each.setRequestHandler("elicitation/create", ({ params }, { mcpReq }) =>
              decide(params as never, mcpReq.signal),
            );
          }
        });
  return {
    close: () => client.close(),
    async run(calls, signal) {
      const options = signal === undefined ? {} : { signal };
      const reply = await (era === "older"
        ? (client as Awaited<ReturnType<typeof connectOlder>>).callTool(callsRun(calls), undefined, options)
        : (client as Awaited<ReturnType<typeof connectModern>>).callTool(callsRun(calls), options));
      const { content } = reply as { content: { text: string }[] };
      const line = content[0]?.text.split("\n").find((each) => each.startsWith("["));
      if (line === undefined) throw new Error(`no results in ${content[0]?.text}`);
      return JSON.parse(line);
    },
  };
}

/** Runs `work` with a client whose user answers as `decide` says. */
export async function withClient<T>(
  era: Era,
  decide: Decide,
  work: (
    client: Client,
    seen: { readonly forms: Form[]; readonly called: () => unknown[]; readonly rig: Rig },
  ) => Promise<T>,
  { capabilities, ...options }: Partial<UpstreamOptions> & { capabilities?: Record<string, object> } = {},
): Promise<T> {
  using journal = createJournal();
  await using rig = createRig([asking({ tools, journal: journal.path })], options);
  const forms: Form[] = [];
  const client = await connect(
    era,
    rig,
    (form, signal) => {
      forms.push(form);
      return decide(form, signal);
    },
    capabilities,
  );
  const called = () =>
    journal
      .lines()
      .filter((line) => line.includes('"tools/call"'))
      .map((line) => JSON.parse(line).params.arguments);
  try {
    return await work(client, { forms, called, rig });
  } finally {
    await client.close();
  }
}
