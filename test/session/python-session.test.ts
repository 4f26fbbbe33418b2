import { afterEach, describe, expect, spyOn, test } from "bun:test";
import type { Sandbox } from "../../src/container/engine.ts";
import { BridgeError } from "../../src/core/errors.ts";
import type { KernelSource } from "../../src/session/kernel-source.ts";
import type { ExecuteRequest, Outcome } from "../../src/session/outcome.ts";
import type { SessionOptions } from "../../src/session/python-session.ts";
import type { Session } from "../../src/session/session.ts";
import { createHostKernels } from "../helpers/host-kernels.ts";
import { createHostMemory } from "../helpers/host-memory.ts";
import { createHostSession } from "../helpers/host-session.ts";
import { createHostTools } from "../helpers/host-tools.ts";
import { createMemoryLog } from "../helpers/logs.ts";
import { until } from "../helpers/until.ts";

const log = createMemoryLog();

const kernels = createHostKernels();

const tools = createHostTools({
  servers: async () => [{ name: "web-search", alias: "web_search", description: "" }],
  callTool: async (call) => ({ content: [{ type: "text", text: JSON.stringify(call.arguments) }] }),
});

const open: Session[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((session) => session.close()));
});

function openSession(changes: Partial<SessionOptions> = {}): Session {
  const session = createHostSession({
    kernels,
    tools,
    log,
    ...changes,
  });
  open.push(session);
  return session;
}

function run(session: Session, code: string, signal = new AbortController().signal): Promise<Outcome> {
  return session.execute({ code, servers: [], timeoutMs: 10_000 }, signal);
}

/** Kernels whose next event of this kind can be waited for while no code runs. */
function observe(event: "onStream" | "onDied") {
  const happened = Promise.withResolvers<void>();
  const source: KernelSource = {
    start: (events, signal) => {
      const handle = events[event] as (...args: unknown[]) => void | Promise<void>;
      const observed = (...args: unknown[]) => {
        happened.resolve();
        return handle(...args);
      };
      return kernels.start({ ...events, [event]: observed }, signal);
    },
  };
  return { source, happened: happened.promise };
}

const ok = { status: "ok", error: null, notes: [], stateLost: false };

describe("a session", () => {
  test("keeps its state and tells stdout, stderr and value apart", async () => {
    const session = openSession();
    const code = "import sys\nx = 5\nprint('out')\nprint('err', file=sys.stderr)\nx";
    expect(await run(session, code)).toMatchObject({
      ...ok,
      stdout: { text: "out\n", dropped: 0 },
      stderr: { text: "err\n", dropped: 0 },
      result: "5",
    });
    expect(await run(session, "x + 1")).toMatchObject({ ...ok, result: "6" });
  });

  test("keeps head and tail of much output, however it comes, and counts what is missing", async () => {
    const outcome = await run(openSession(), "for i in range(60_000): print(i, '\u{1f600}')");
    const all = Array.from({ length: 60_000 }, (_, i) => `${i} \u{1f600}\n`).join("");
    const [head = "", tail = ""] = outcome.stdout.text.split(/\n\[….*…\]\n/);
    expect([head, tail]).toEqual([all.slice(0, 500), all.slice(-500).toWellFormed()]);
    expect(outcome.stdout.dropped).toBe(all.length - 1000);
  });

  test("marks output that comes between two calls as late, in the next result", async () => {
    const { source, happened } = observe("onStream");
    const session = openSession({ kernels: source });
    await run(session, "import threading\nthreading.Timer(0.2, print, ['late']).start()");
    await happened;
    const outcome = await run(session, "print('mine')");
    expect([outcome.late.stdout.text, outcome.stdout.text]).toEqual(["late\n", "mine\n"]);
  });

  test("tells how Python died in a call", async () => {
    const outcome = await run(openSession(), "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)");
    expect(outcome).toMatchObject({
      status: "died",
      exitCode: 139,
      death: { reason: "signal", signal: "SIGSEGV", detail: null },
      notes: [expect.stringContaining("it crashed with SIGSEGV")],
    });
  });

  test("says in the next result that Python died between two calls", async () => {
    const { source, happened } = observe("onDied");
    const session = openSession({ kernels: source });
    await run(session, "import threading, os\nthreading.Timer(0.2, os._exit, [9]).start()");
    await happened;
    const outcome = await run(session, "'again'");
    expect(outcome).toMatchObject({ status: "ok", result: "'again'" });
    expect(outcome.notes).toEqual([
      "Python was restarted: its process ended with exit code 9. Variables, imports and functions of this session are gone; define them again.",
    ]);
  });

  test("HOST-3: removes a sandbox that ended by itself, whose engine may not do it", async () => {
    const session = openSession();
    await run(session, "1");
    const close = spyOn(kernels.sandboxes.at(-1) as Sandbox, "close");
    const outcome = await run(session, "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)");
    expect(outcome).toMatchObject({
      status: "died",
      exitCode: null,
      death: { reason: "sandbox", signal: null, detail: expect.stringMatching(/^it /) },
      notes: [expect.stringContaining("The sandbox ended")],
    });
    await session.close();
    expect(close).toHaveBeenCalled();
  });

  test("stops when idle, and says so once", async () => {
    const session = openSession({ idleTimeoutMs: 50 });
    await run(session, "x = 1");
    const outcome = await (async () => {
      for (let tries = 0; tries < 100; tries += 1) {
        await Bun.sleep(100); // the idle time itself is what is tested
        const next = await run(session, "'x' in globals()");
        if (next.notes.length > 0) return next;
      }
      throw new Error("it never stopped");
    })();
    expect(outcome).toMatchObject({ status: "ok", result: "False" });
    expect(outcome.notes).toEqual([
      "The sandbox was stopped after 0.05 s without a call. Variables, imports and functions of this session are gone; define them again.",
    ]);
    expect((await run(session, "1")).notes).toEqual([]);
  });

  test("carries nothing over where it is stateless, and says nothing of it", async () => {
    const session = openSession({ stateless: true });
    await run(session, "import threading\nx = 1");
    expect(await run(session, "'x' in globals()")).toMatchObject({ ...ok, result: "False" });
    const idle = openSession({ stateless: true, idleTimeoutMs: 1 });
    await run(idle, "x = 1");
    await Bun.sleep(50); // the idle time itself is what is tested
    expect((await run(idle, "1")).notes).toEqual([]);
  });

  test("says what the code was waiting for when its time was up", async () => {
    let calls = 0;
    const session = openSession({
      tools: {
        ...tools,
        toolDocs: async () => [
          { name: "find", alias: "find", description: "", inputSchema: { type: "object" } },
        ],
        callTool: (call, signal) => {
          calls += 1;
          if (calls === 1) return tools.callTool(call, signal);
          return new Promise((_resolve, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason)),
          );
        },
      },
    });
    const code = "await mcp_web_search.find(q='x')";
    await run(session, code); // loads what a call needs: the next one has its two seconds for the wait
    const request = { code, servers: [], timeoutMs: 2000 };
    const outcome = await session.execute(request, new AbortController().signal);
    expect(outcome).toMatchObject({ status: "timeout", stateLost: false });
    expect(outcome.notes[0]).toMatch(
      /^The code was stopped after its timeout of 2 s; .* It was waiting for web-search\.find \(\d+\.\d s\)\. Variables are kept\.$/,
    );
  });

  test("measures the code, not the wait for its turn", async () => {
    const session = openSession();
    await run(session, "import time");
    const [first, second] = await Promise.all([run(session, "time.sleep(0.3)"), run(session, "1")]);
    expect(first.durationMs).toBeGreaterThan(290);
    expect(second.durationMs).toBeLessThan(first.durationMs);
  });

  test("cancels a running cell and keeps the state", async () => {
    const session = openSession();
    const abort = new AbortController();
    const running = session.execute(
      {
        code: "kept = 1\nprint('started', flush=True)\nimport time\ntime.sleep(60)",
        servers: [],
        timeoutMs: 60_000,
        onOutput: () => abort.abort(),
      },
      abort.signal,
    );
    expect(await running).toMatchObject({ status: "cancelled", stateLost: false });
    expect(await running).not.toHaveProperty("ownStatus");
    expect(await run(session, "kept")).toMatchObject({ ...ok, result: "1" });
  });

  test.each([
    ["1", "ok", null],
    ["raise SystemExit(3)", "exit", 3],
    ["1 / 0", "error", null],
  ] as const)("tells how code ended by itself that was cancelled: %s", async (code, ownStatus, exitCode) => {
    const session = openSession();
    const abort = new AbortController();
    const outcome = await session.execute(
      {
        code: `try:\n    print('started', flush=True)\n    while True: pass\nexcept KeyboardInterrupt: pass\n${code}`,
        servers: [],
        timeoutMs: 60_000,
        onOutput: () => abort.abort(),
      },
      abort.signal,
    );
    expect(outcome).toMatchObject({ status: "cancelled", ownStatus, exitCode, stateLost: false });
  });

  test("holds the program back when its output is not taken", async () => {
    const session = openSession({ kernels: createHostKernels(true) });
    let taken = 0;
    let most = 0;
    let waiting = 0;
    const outcome = await session.execute(
      {
        code: "for n in range(2000): print('x' * 1000)",
        servers: [],
        timeoutMs: 30_000,
        onOutput: async (_name, text) => {
          waiting += 1;
          most = Math.max(most, waiting);
          await Bun.sleep(1);
          taken += text.length;
          waiting -= 1;
        },
      },
      new AbortController().signal,
    );
    expect([outcome.status, taken, most]).toEqual(["ok", 2000 * 1001, 1]);
  });

  test.each([
    ["as they are where all is wanted", true, Buffer.from("a\xff\xe2", "latin1").toString("hex")],
    ["as text elsewhere", false, Buffer.from("a\ufffd").toString("hex")],
  ])(
    "passes bytes that are no UTF-8 on %s, and has them as text in its result",
    async (_how, isWhole, shown) => {
      const session = openSession({ kernels: createHostKernels(isWhole) });
      const live: Uint8Array[] = [];
      const request = { servers: [], timeoutMs: 30_000 };
      const onOutput = (_name: string, text: string, _skipped: number, bytes?: Uint8Array) => {
        live.push(bytes ?? Buffer.from(text));
      };
      const code = "import os\nos.write(1, b'a\\xff\\xe2')\nNone";
      const outcome = await session.execute({ ...request, code, onOutput }, new AbortController().signal);
      expect(Buffer.concat(live).toString("hex")).toBe(shown);
      expect(outcome.stdout).toEqual({ text: isWhole ? "a\ufffd\ufffd" : "a\ufffd", dropped: 0 });
    },
  );

  test("stops a program whose output nobody takes", async () => {
    const session = openSession({ kernels: createHostKernels(true) });
    await run(session, "kept = 1");
    const outcome = await session.execute(
      {
        code: "while True: print('x' * 1000)",
        servers: [],
        timeoutMs: 500,
        onOutput: () => new Promise(() => undefined),
      },
      new AbortController().signal,
    );
    expect(outcome).toMatchObject({ status: "timeout", stateLost: false });
    expect(await run(session, "kept")).toMatchObject({ ...ok, result: "1" });
  });

  test("connects servers before the code runs, and runs nothing when one fails", async () => {
    const session = openSession({
      tools: { ...tools, connect: () => Promise.reject(new Error("cannot start")) },
    });
    const request = { code: "print('ran')", servers: ["web-search"], timeoutMs: 5000 };
    const failure = await session
      .execute(request, new AbortController().signal)
      .catch((e: Error) => e.message);
    expect(failure).toBe("cannot start");
    expect(await run(session, "'usable'")).toMatchObject({ ...ok, result: "'usable'" });
  });

  test("lists a server under its name where its alias was asked for", async () => {
    const session = openSession();
    const request = { code: "print(LOADED_MCP_SERVERS)", servers: ["web_search"], timeoutMs: 5000 };
    const outcome = await session.execute(request, new AbortController().signal);
    expect(outcome.stdout.text).toContain("web-search");
  });

  test("closes while a cell runs, which ends it", async () => {
    const session = openSession();
    const running = session.execute(
      { code: "while True: pass", servers: [], timeoutMs: 60_000, onOutput: () => undefined },
      new AbortController().signal,
    );
    await run(openSession(), "1"); // by then the other one runs as well
    await session.close();
    expect(["cancelled", "died"]).toContain((await running.catch(() => ({ status: "died" }))).status);
    expect(await run(session, "1").catch((e: unknown) => e)).toMatchObject({ code: "SESSION_CLOSED" });
  });
});

/** A wait that has no end but that of its signal, the first time; `begun` resolves when it is waited for. */
class Hold {
  readonly #begun = Promise.withResolvers<void>();
  readonly begun = this.#begun.promise;
  #isUsed = false;

  async wait(signal = new AbortController().signal): Promise<void> {
    if (this.#isUsed) return;
    this.#isUsed = true;
    this.#begun.resolve();
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }
}

describe("a call that waits for", () => {
  const waits: Record<string, (hold: Hold) => Partial<SessionOptions & ExecuteRequest>> = {
    "its client": (hold) => ({ ready: (signal) => hold.wait(signal) }),
    "the sandbox": (hold) => ({
      kernels: {
        start: async (events, signal) => {
          await hold.wait(signal);
          if (signal.aborted) throw new BridgeError("CANCELLED", "the start was called off");
          return kernels.start(events, signal);
        },
      },
    }),
    "the configuration": (hold) => ({ tools: { ...tools, servers: () => hold.wait().then(tools.servers) } }),
    "a server": (hold) => ({
      servers: ["web-search"],
      tools: {
        ...tools,
        connect: async (server, signal) => {
          await hold.wait(signal);
          if (signal.aborted) throw new BridgeError("CANCELLED", `starting server "${server}" was cancelled`);
        },
      },
    }),
    "the folder of its projects": (hold) => ({
      memory: { ...createHostMemory(), projectState: () => hold.wait().then(() => "") },
    }),
  };

  test.each(Object.entries(waits))(
    "%s ends when it is interrupted or cancelled, and runs nothing",
    async (_, hold) => {
      for (const stop of ["interrupted", "cancelled"]) {
        const held = new Hold();
        const { ready, servers = [], ...changes } = hold(held);
        const session = openSession(changes);
        const abort = new AbortController();
        const request = { code: "ran = 1", servers, timeoutMs: 10_000, ...(ready && { ready }) };
        const waiting = session.execute(request, abort.signal).catch((error: unknown) => error);
        await held.begun;
        if (stop === "cancelled") abort.abort();
        else expect(session.interrupt()).toBe(true);
        expect(await waiting).toMatchObject({
          code: "CANCELLED",
          ...(stop === "interrupted" ? { message: "the call was interrupted before its code ran" } : {}),
        });
        expect(session.interrupt()).toBe(false);
        expect(await run(session, "'ran' in globals()")).toMatchObject({ ...ok, result: "False" });
      }
    },
  );

  test("its client keeps the sandbox, which stops when the call has come to nothing", async () => {
    const session = openSession({ idleTimeoutMs: 50 });
    const waited = { code: "x", servers: [], timeoutMs: 10_000, ready: () => Bun.sleep(300) }; // longer than the idle time
    const [, outcome] = await Promise.all([
      run(session, "x = 1"),
      session.execute(waited, new AbortController().signal),
    ]);
    expect(outcome).toMatchObject({ ...ok, result: "1" });
    const refused = { ...waited, ready: () => Promise.reject(new Error("it reads nothing")) };
    expect(await session.execute(refused, new AbortController().signal).catch(String)).toBe(
      "Error: it reads nothing",
    );
    await until("the sandbox to stop", () => !session.hasSandbox);
  });
});
