import { afterEach, describe, expect, test } from "bun:test";
import { type BridgeEvent, createBridgeEvents, createSessionRef } from "../../src/core/bridge-events.ts";
import { currentRun } from "../../src/core/run-context.ts";
import type { SessionOptions } from "../../src/session/python-session.ts";
import type { Session } from "../../src/session/session.ts";
import { createHostKernels } from "../helpers/host-kernels.ts";
import { createHostSession } from "../helpers/host-session.ts";
import { createHostTools } from "../helpers/host-tools.ts";
import { until } from "../helpers/until.ts";

const open: Session[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((session) => session.close()));
});

function openSession(changes: Partial<SessionOptions> = {}) {
  const events = createBridgeEvents();
  const heard: BridgeEvent[] = [];
  events.listen((event) => heard.push(event));
  const ref = createSessionRef({ id: "ann", name: "Ann" });
  const session = createHostSession({
    ref,
    events,
    tools: createHostTools({
      servers: async () => [{ name: "fx", alias: "fx", description: "" }],
      toolDocs: async () => [{ name: "t", alias: "t", description: "", inputSchema: { type: "object" } }],
      callTool: async () => ({ content: [{ type: "text", text: JSON.stringify(currentRun()) }] }),
    }),
    ...changes,
  });
  open.push(session);
  const run = (code: string, timeoutMs = 10_000, signal = new AbortController().signal) =>
    session.execute({ code, servers: [], timeoutMs }, signal);
  const kinds = () => heard.map(({ kind }) => kind);
  const last = (kind: BridgeEvent["kind"]) => heard.findLast((event) => event.kind === kind);
  return { session, ref, heard, run, kinds, last };
}

const SEGFAULT = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)";

describe("a session tells", () => {
  test("of an execution from its queueing to its end, by one id", async () => {
    const { ref, heard, run, session } = openSession();
    await run("print('hi')");
    await session.close("expired");
    const [queued] = heard.filter(({ kind }) => kind === "execution-queued");
    const { executionId } = queued as { executionId: string };
    expect(executionId).toMatch(/^[0-9a-f]{12}$/);
    expect(heard).toEqual([
      { kind: "session-opened", ...ref },
      { kind: "execution-queued", executionId, code: "print('hi')", ...ref },
      { kind: "execution-started", executionId, waitedMs: expect.any(Number), ...ref },
      { kind: "sandbox-started", fromPool: false, durationMs: expect.any(Number), ...ref },
      { kind: "execution-output", executionId, stream: "stdout", text: "hi\n", ...ref },
      { kind: "execution-ended", executionId, outcome: "ok", durationMs: expect.any(Number), ...ref },
      { kind: "sandbox-stopped", ...ref },
      { kind: "session-closed", reason: "expired", ...ref },
    ]);
  });

  test.each([
    ["error", "1 / 0", "error"],
    ["exit", "raise SystemExit(3)", "exit"],
    ["died", SEGFAULT, "died"],
  ])("of an execution that ends by %s", async (_how, code, outcome) => {
    const { run, last } = openSession();
    await run(code);
    expect(last("execution-ended")).toMatchObject({ outcome });
  });

  test("of one that took too long, and of one that never had its turn", async () => {
    const { run, last } = openSession();
    const stop = new AbortController();
    const running = run("import time\ntime.sleep(60)", 500);
    const waiting = run("1", 500, stop.signal).catch(() => undefined);
    stop.abort();
    await waiting;
    expect(last("execution-ended")).toMatchObject({ outcome: "refused", code: "CANCELLED", durationMs: 0 });
    await running;
    expect(last("execution-ended")).toMatchObject({ outcome: "timeout" });
  });

  test("why Python died, and that a sandbox ended without being told to", async () => {
    const { run, heard, kinds } = openSession();
    await run(SEGFAULT);
    await run("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)");
    await until("the end of the sandbox", () => kinds().includes("sandbox-stopped"));
    expect(heard.filter(({ kind }) => kind === "kernel-died")).toMatchObject([
      { cause: "signal" },
      { cause: "ended" },
    ]);
  });

  test("of no death where it replaces Python itself after each execution", async () => {
    const { run, kinds, session } = openSession({ stateless: true });
    await run("1");
    await session.close();
    expect(kinds()).not.toContain("kernel-died");
  });

  test("for which run a line from the sandbox was dropped", async () => {
    const host = createHostKernels();
    const logged: unknown[] = [];
    let reject = () => {};
    const kernels: SessionOptions["kernels"] = {
      start(events, signal) {
        reject = () => events.onRejected("no frame", () => logged.push(currentRun()));
        return host.start(events, signal);
      },
    };
    const { session, ref, last } = openSession({ kernels });
    const code = "print('now', flush=True)\nimport time\ntime.sleep(0.3)";
    await session.execute(
      { code, servers: [], timeoutMs: 10_000, onOutput: () => reject() },
      new AbortController().signal,
    );
    reject();
    const { executionId } = last("execution-ended") as { executionId: string };
    const own = { sessionId: ref.sessionId, callerId: "ann" };
    expect(logged).toEqual([{ ...own, executionId }, own]);
    expect(last("frame-rejected")).toMatchObject({ reason: "no frame", ...ref });
  });

  test("of no end of a sandbox that did not start", async () => {
    const kernels = {
      start: async () => {
        throw new Error("no engine");
      },
    };
    const { run, kinds, last } = openSession({ kernels });
    await run("1").catch(() => undefined);
    expect(kinds()).toEqual(["session-opened", "execution-queued", "execution-started", "execution-ended"]);
    expect(last("execution-ended")).toMatchObject({ outcome: "refused", code: "INTERNAL" });
  });
});

describe("what a request of Python is made for", () => {
  const CALL = "print(await mcp_fx.t())";

  test("is the execution that runs", async () => {
    const { run, last, ref } = openSession();
    const { stdout } = await run(CALL);
    const { executionId } = last("execution-ended") as { executionId: string };
    expect(stdout.text).toContain(executionId);
    expect(stdout.text).toContain(ref.sessionId);
  });

  test("is not the execution that started the sandbox", async () => {
    const { run, last } = openSession();
    await run("1");
    const { stdout } = await run(CALL);
    expect(stdout.text).toContain((last("execution-ended") as { executionId: string }).executionId);
  });
});
