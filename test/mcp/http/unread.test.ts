/** Callers that send calls and do not read the answers. */
import { expect, test } from "bun:test";
import type { Connect } from "../../../src/mcp/http/connection.ts";
import { JobQueue } from "../../../src/session/queue.ts";
import { ALICE, BOB, type HttpWorld, INITIALIZE, startHttpWorld } from "../../helpers/http-world.ts";
import { NOTHING } from "../../helpers/run-results.ts";
import { until } from "../../helpers/until.ts";

const VERSION = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": VERSION,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
};
const ERAS = ["initialize", VERSION] as const;
type Era = (typeof ERAS)[number];

const CALLS = 8;
/** Of 12 MiB: after two of them nobody's next run begins. */
const IMAGE = { mimeType: "image/png", data: "A".repeat(12 * 1024 ** 2) };

/** Runs of each caller one after the other, as in one session; their names are noted as they begin. */
function createConnect(begun: string[]): Connect {
  const queues = new Map<string, JobQueue>();
  return async ({ caller }) => {
    const queue = queues.get(caller.id) ?? new JobQueue({ jobs: 100, bytes: 1e6 });
    queues.set(caller.id, queue);
    return {
      runner: {
        run: ({ ready }, signal) =>
          queue.run(
            async () => {
              await ready?.(signal);
              begun.push(caller.name);
              return { ...NOTHING, images: [IMAGE] };
            },
            1,
            signal,
          ),
      },
      close: async () => undefined,
    };
  };
}

async function callsOf(
  world: HttpWorld,
  token: string,
  era: Era,
): Promise<(id: number) => Promise<Response>> {
  const send = (message: object, more: Record<string, string>) =>
    world.answer(
      new Request(world.url, {
        method: "POST",
        headers: {
          host: new URL(world.url).host,
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...more,
        },
        body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      }),
    );
  const params = { name: "run_python", arguments: { code: "1" } };
  const method = "tools/call";
  if (era === "initialize") {
    const session = (await send(INITIALIZE, {})).headers.get("mcp-session-id") ?? "";
    return (id) => send({ id, method, params }, { "mcp-session-id": session });
  }
  const headers = { "mcp-protocol-version": VERSION, "mcp-method": method, "mcp-name": "run_python" };
  return (id) => send({ id, method, params: { _meta: META, ...params } }, headers);
}

test.each(ERAS)(
  "CLI-5: with 16 MiB unread, further runs of a caller of %s wait, none is lost, and others are served",
  async (era) => {
    const begun: string[] = [];
    await using world = startHttpWorld({ connect: createConnect(begun) });
    const [call, other] = [await callsOf(world, ALICE, era), await callsOf(world, BOB, era)];
    const answers = Array.from({ length: CALLS }, (_, id) => call(id));
    await until("two runs", () => begun.length >= 2);

    for (let id = 0; id < 5; id++) expect((await (await other(id)).text()).length).toBeGreaterThan(12e6);
    expect(begun.filter((name) => name === "alice")).toHaveLength(2);
    for (const answer of answers) {
      const text = await (await answer).text();
      expect([text.split(IMAGE.data).length - 1, text.includes('"isError"')]).toEqual([1, false]);
    }
    expect(begun.filter((name) => name === "alice")).toHaveLength(CALLS);
  },
);

test.each(ERAS)("CLI-5: an answer that a caller of %s gives up counts no more", async (era) => {
  const begun: string[] = [];
  await using world = startHttpWorld({ connect: createConnect(begun) });
  const call = await callsOf(world, ALICE, era);
  const answers = Array.from({ length: 5 }, (_, id) => call(id));

  for (const answer of answers) await (await answer).body?.cancel();
  await until("all runs", () => begun.length === 5);
});
