import { expect, test } from "bun:test";
import { answerRoom } from "../../src/core/answer-room.ts";
import { createHostKernels } from "../helpers/host-kernels.ts";
import { createHostSession } from "../helpers/host-session.ts";
import { createHostTools } from "../helpers/host-tools.ts";
import { until } from "../helpers/until.ts";

const ANSWER = { content: [{ type: "text", text: "x".repeat(12 * 1024 * 1024) }] };

/** Stops what passes answers on, as one who pauses a container does. */
function freeze({ name }: { readonly name: string }): void {
  process.kill(Number(name.split("-").at(-1)), "SIGSTOP");
}

test("EXH-14: answers to a background task count no more once its sandbox has taken none for long", async () => {
  const kernels = createHostKernels(false, { answerLookMs: 100 });
  const release = Promise.withResolvers<void>();
  let asked = 0;
  const tools = createHostTools({
    servers: async () => [{ name: "web", alias: "web", description: "" }],
    toolDocs: async () => [{ name: "get", alias: "get", description: "", inputSchema: { type: "object" } }],
    callTool: async () => {
      asked += 1;
      await release.promise;
      return ANSWER;
    },
  });
  await using session = createHostSession({ kernels, tools });
  const request = { servers: [], timeoutMs: 20_000 };
  const run = (code: string) => session.execute({ ...request, code }, new AbortController().signal);
  await run(
    "import asyncio\ntasks = [asyncio.create_task(mcp_web.get()) for _ in range(3)]\nawait asyncio.sleep(0)",
  );
  await until("the requests", () => asked === 3);
  const [sandbox] = kernels.sandboxes;
  if (sandbox === undefined) throw new Error("nothing runs");
  freeze(sandbox);
  release.resolve();
  await until("an answer counts", () => answerRoom.usedBytes > 0);
  await until("nothing counts", () => answerRoom.count() === 0);
  const { status, notes } = await run("1");
  expect([status, notes]).toEqual([
    "ok",
    [expect.stringContaining("it did not take an answer for a minute or longer")],
  ]);
});
