import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Sandbox } from "../../src/container/engine.ts";
import { type Kernel, type KernelEvents, type KernelOptions, startKernel } from "../../src/kernel/kernel.ts";
import { MAX_FRAME_BYTES } from "../../src/kernel/protocol.ts";
import { BUNDLE_HASH } from "../../src/kernel/source.ts";
import { startHostSandbox } from "../helpers/host-sandbox.ts";
import { createMemoryLog } from "../helpers/logs.ts";
import { until } from "../helpers/until.ts";

const SCRIPTED = join(import.meta.dir, "../fixtures/kernels/scripted.py");

/** A supervisor that waits for a word of the host and says none. */
const SILENT = "recv()";

/** It says that Python died in the first execution. */
const DIED =
  'send("s", {"type": "died", "generation": 1, "execution": 1, "reason": "exit", "code": 1, "signal": None, "detail": None})';

interface Started {
  readonly sandbox: Sandbox;
  readonly kernel: Kernel;
  readonly events: string[];
  readonly ended: Promise<string>;
  readonly log: ReturnType<typeof createMemoryLog>;
}

const open: Kernel[] = [];
afterEach(async () => {
  await Promise.allSettled(open.splice(0).map((kernel) => kernel.close()));
});

/** Starts a supervisor that follows `script` (see the fixture). */
async function start(
  script: string,
  helloDeadlineMs = 5000,
  options: Partial<KernelOptions & Pick<KernelEvents, "onStream">> = {},
  /** Why the engine cannot remove it. */
  fault?: string,
): Promise<Started> {
  const events: string[] = [];
  const ended = Promise.withResolvers<string>();
  const log = createMemoryLog();
  const handlers: KernelEvents = {
    onStream: (name, text, skipped, bytes) => {
      events.push(`${name}: ${text}`);
      return options.onStream?.(name, text, skipped, bytes);
    },
    onDisplay: (frame) => events.push(`display ${frame.mime} ${frame.data}`),
    onSpilled: (frame) => events.push(`spilled ${frame.name} ${frame.path}`),
    onRpc: (frame) => events.push(`rpc ${frame.id} ${frame.method}`),
    onRejected: (_reason, say) => say(),
    onDied: (frame) => events.push(`died ${frame.generation} ${frame.reason}`),
    onEnded: (reason) => ended.resolve(reason),
  };
  const sandbox = await startHostSandbox(["python3", "-I", "-u", SCRIPTED, script, BUNDLE_HASH]);
  const close = fault === undefined ? sandbox.close : () => Promise.reject(new Error(fault));
  const kernel = await startKernel({
    sandbox: { ...sandbox, close },
    settings: { protocol: 1, max_frame_bytes: MAX_FRAME_BYTES, rlimits: null },
    events: handlers,
    log,
    helloDeadlineMs,
    ...options,
    signal: new AbortController().signal,
  });
  open.push(kernel);
  return { kernel, sandbox, events, ended: ended.promise, log };
}

const cell = (id: number) => ({
  id,
  code: "1",
  servers: [],
  loaded: [],
  argv: null,
  filename: null,
  projects: "",
});

describe("startKernel", () => {
  test("greets and runs a cell", async () => {
    const { kernel } = await start(
      'hello()\nwho, frame = recv()\ndone(frame["id"], result=frame["code"])\nrecv()',
    );
    expect(kernel.python).toBe("3.0.0");
    expect(await kernel.execute(cell(4))).toMatchObject({ kind: "done", frame: { id: 4, result: "1" } });
  });

  test("names the servers only to a process that does not know them", async () => {
    const report = 'done(frame["id"], result=json.dumps(frame["servers"]))';
    const next = `who, frame = recv()\n${report}\n`;
    const died =
      'send("s", {"type": "died", "generation": 1, "execution": None, "reason": "exit", "code": 1, "signal": None, "detail": None})\nsend("s", {"type": "ready", "generation": 2})\n';
    const { kernel, events } = await start(`hello()\n${next.repeat(3)}${died}${next}recv()`);
    const one = [{ name: "a-b", alias: "a_b", description: "" }];
    const two = [...one, { name: "c", alias: "c", description: "" }];
    const shown = async (id: number, servers: typeof one) => {
      const end = await kernel.execute({ ...cell(id), servers });
      return end.kind === "done" ? JSON.parse(end.frame.result ?? "") : end;
    };
    expect(await shown(1, one)).toEqual(one);
    expect(await shown(2, structuredClone(one))).toBeNull();
    expect(await shown(3, two)).toEqual(two);
    await until("the death is heard of", () => events.length > 0);
    expect(await shown(4, two)).toEqual(two);
  });

  test.each([
    [
      "ends at once",
      'sys.stderr.write("no python here")\nsys.exit(127)',
      "it ended with code 127: no python here",
    ],
    ["speaks another protocol", "hello(protocol=2)\nrecv()", "another program (protocol 2, expected 1)"],
    ["runs other sources", 'hello(bundle="f00")\nrecv()', "another program (protocol 1, expected 1)"],
    ["says nothing", SILENT, "starting Python in the sandbox took longer than 300 ms"],
    [
      "writes a line without an end",
      'raw(b"x" * 40_000_000)\nrecv()',
      "a line longer than the protocol allows",
    ],
  ])("rejects a sandbox that %s", async (_title, script, message) => {
    const error = await start(script, script === SILENT ? 300 : 20_000).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "KERNEL_START_FAILED", message: expect.stringContaining(message) });
  });
});

test.each([
  [137, "Python was killed, mostly for want of memory: give it more by MCP_BRIDGE_MEMORY"],
  [1, "Try again."],
])("says what to do about a start that ended with %d", async (code, hint) => {
  const error = await start(`sys.exit(${code})`).catch((e: unknown) => e);
  expect(error).toMatchObject({ code: "KERNEL_START_FAILED", hint: expect.stringContaining(hint) });
});

describe("a running kernel", () => {
  test("drops lines that are not frames and goes on", async () => {
    const { kernel, log } = await start(
      'hello()\nraw(b"junk\\n1\\n[]\\n\\xff\\n\\n")\n_, frame = recv()\ndone(frame["id"])\nrecv()',
    );
    expect(await kernel.execute(cell(1))).toMatchObject({ kind: "done" });
    expect(log.lines.filter((line) => line.includes("dropped a line"))).toHaveLength(5);
  });

  test("measures the sandbox, once for all who ask, and does not wait for a silent one", async () => {
    const { kernel } = await start(
      'hello()\n_, f = recv()\nsend("s", {"type": "measured", "memory_bytes": 4096})\n' +
        '_, f = recv()\nsend("s", {"type": "measured", "memory_bytes": None})\n' +
        "recv()\nrecv()",
    );
    expect(await Promise.all([kernel.measure(5000), kernel.measure(5000)])).toEqual([4096, 4096]);
    expect(await kernel.measure(5000)).toBeUndefined();
    expect(await kernel.measure(50)).toBeUndefined();
    await kernel.close();
    expect(await kernel.measure(5000)).toBeUndefined();
  });

  test("ignores a done for another id and a second done", async () => {
    const { kernel } = await start(
      'hello()\n_, f = recv()\ndone(99, result="forged")\ndone(f["id"], result="mine")\ndone(f["id"], result="again")\n' +
        '_, f = recv()\ndone(f["id"], result="second")\nrecv()',
    );
    expect(await kernel.execute(cell(1))).toMatchObject({ kind: "done", frame: { result: "mine" } });
    expect(await kernel.execute(cell(2))).toMatchObject({ kind: "done", frame: { result: "second" } });
  });

  test("hands on streams, requests and deaths in order", async () => {
    const { kernel, events } = await start(
      'hello()\n_, f = recv()\nsend("s", {"type": "stream", "name": "stdout", "data": "a"})\n' +
        'send("k", {"type": "display", "id": 1, "mime": "image/png", "data": "iVBO"})\n' +
        'send("s", {"type": "spilled", "name": "stdout", "path": "/tmp/x", "bytes": 9, "kept": 9})\n' +
        'send("k", {"type": "rpc", "id": 5, "method": "servers", "params": {}})\n' +
        'send("s", {"type": "died", "generation": 1, "execution": 1, "reason": "signal", "code": None, "signal": "SIGSEGV", "detail": None})\nrecv()',
    );
    expect(await kernel.execute(cell(1))).toMatchObject({ kind: "died", frame: { signal: "SIGSEGV" } });
    expect(events).toEqual([
      "stdout: a",
      "display image/png iVBO",
      "spilled stdout /tmp/x",
      "rpc 5 servers",
      "died 1 signal",
    ]);
  });

  test.each<[string, readonly object[], string, readonly string[]]>([
    ["what is no UTF-8", [{ bytes: "Yf9i" }], 'done(f["id"])', ["a\ufffdb 61ff62"]],
    [
      "a character in two pieces",
      [{ bytes: "YeI=" }, { bytes: "gqw=" }],
      'done(f["id"])',
      ["a 61e2", "€ 82ac"],
    ],
    [
      "half a character before text",
      [{ bytes: "4oI=" }, { data: "é" }, { data: "b" }],
      'done(f["id"])',
      [" e282", "\ufffdé c3a9", "b"],
    ],
    [
      "a byte order mark in two pieces",
      [{ bytes: "77s=" }, { bytes: "v2E=" }],
      'done(f["id"])',
      [" efbb", "\ufeffa bf61"],
    ],
    ["half a character at the end", [{ bytes: "4g==" }], 'done(f["id"])', [" e2", "\ufffd "]],
    ["half a character before a death", [{ bytes: "4g==" }], DIED, [" e2", "\ufffd "]],
    ["half a character at the end of the sandbox", [{ bytes: "4g==" }], "sys.exit(3)", [" e2", "\ufffd "]],
  ])("makes text and bytes of %s", async (_what, pieces, end, expected) => {
    const says = pieces.map((piece) => {
      const frame = { type: "stream", name: "stdout", data: "", ...piece };
      return `send("s", json.loads(${JSON.stringify(JSON.stringify(frame))}))\n`;
    });
    const seen: string[] = [];
    const onStream = (_name: string, text: string, _skipped: number, bytes?: Uint8Array) => {
      seen.push(bytes === undefined ? text : `${text} ${Buffer.from(bytes).toString("hex")}`);
    };
    const { kernel } = await start(`hello()\n_, f = recv()\n${says.join("")}${end}\nrecv()`, 5000, {
      onStream,
    });
    await kernel.execute(cell(1));
    expect(seen).toEqual([...expected]);
  });

  test("waits for a cell that was on its way when the process died: the next one runs it", async () => {
    const { kernel, events } = await start(
      "hello()\n_, f = recv()\n" +
        'send("s", {"type": "died", "generation": 1, "execution": None, "reason": "exit", "code": 1, "signal": None, "detail": None})\n' +
        'done(f["id"], result="ran")\nrecv()',
    );
    expect(await kernel.execute(cell(1))).toMatchObject({ kind: "done", frame: { result: "ran" } });
    expect(events).toEqual(["died 1 exit"]);
  });

  test.each<[string, unknown]>([
    ["JSON makes longer than a frame", "\u0001".repeat(MAX_FRAME_BYTES / 4)],
    ["is nested too deeply", JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)],
  ])("replies with a failure in place of what %s", async (_title, content) => {
    const { kernel } = await start(
      'hello()\nrecv()\n_, f = recv()\ndone(5, result=f["error"]["kind"])\nrecv()',
    );
    const running = kernel.execute(cell(5));
    await kernel.reply(["k", { type: "reply", id: 1, value: { content } }]);
    expect(await running).toMatchObject({ kind: "done", frame: { id: 5, result: "limit" } });
  });

  test("refuses code that JSON makes longer than a frame, and goes on", async () => {
    const { kernel } = await start('hello()\n_, f = recv()\ndone(f["id"], result=f["code"])\nrecv()');
    const code = "\u0001".repeat(MAX_FRAME_BYTES / 4);
    expect(await kernel.execute({ ...cell(4), code })).toMatchObject({
      kind: "done",
      frame: { id: 4, status: "error", error: { ename: "SandboxError" } },
    });
    expect(await kernel.execute(cell(5))).toMatchObject({ kind: "done", frame: { id: 5, result: "1" } });
  });

  test.each([
    ["by itself", 'sys.stderr.write("bye")\nsys.exit(3)', "it ended with code 3: bye"],
    ["with words alone", 'sys.stderr.write("bye")\nsys.stderr.flush()\nkill()', "it ended: bye"],
    ["without a word", "kill()", "it was killed"],
  ])("ends the execution and says why when the sandbox ends %s", async (_how, end, reason) => {
    const kill = "def kill(): __import__('os').kill(__import__('os').getpid(), 9)\n";
    const { kernel, ended } = await start(`${kill}hello()\nrecv()\n${end}`);
    expect(await kernel.execute(cell(1))).toEqual({ kind: "ended", reason });
    expect(await ended).toBe(reason);
    expect(await kernel.execute(cell(2))).toEqual({ kind: "ended", reason });
  });

  test("FRG-10: kills a sandbox that sends a line longer than allowed", async () => {
    const { kernel, ended } = await start('hello()\nrecv()\nraw(b"y" * 40_000_000)\nrecv()');
    const end = await kernel.execute(cell(1));
    expect(end).toEqual({ kind: "ended", reason: "it sent a line longer than the protocol allows" });
    expect(await ended).toBe("it sent a line longer than the protocol allows");
  });

  test("sends large answers in order, and holds up none for a sandbox that is gone", async () => {
    const read =
      "seen = []\nfor line in sys.stdin.buffer:\n    frame = json.loads(line)[1]\n    if frame[\"type\"] == \"execute\": break\n    seen.append(f\"{frame['id']}:{len(frame['value']['text'])}\")\n";
    const { kernel, ended } = await start(`hello()\n${read}done(frame["id"], result=",".join(seen))\nrecv()`);
    const bytes = 4 * 1024 * 1024;
    const value = { text: "x".repeat(bytes) };
    const ids = Array.from({ length: 6 }, (_, id) => id);
    const answer = (id: number) => kernel.reply(["k", { type: "reply", id, value }]);
    await Promise.all(ids.map(answer));
    const end = await kernel.execute(cell(1));
    expect(end).toMatchObject({
      kind: "done",
      frame: { result: ids.map((id) => `${id}:${bytes}`).join(",") },
    });
    await Promise.all([...ids.map(answer), kernel.close()]);
    await ended;
    await answer(7);
  });

  const SLEEP = "import time\ntime.sleep(60)";
  const large = (id: number) =>
    ["k", { type: "reply", id, value: { text: "x".repeat(2 * 1024 * 1024) } }] as const;

  test("EXH-14: ends a sandbox that takes nothing of an answer, but not while we take nothing of it", async () => {
    const held = Promise.withResolvers<void>();
    const says = 'send("s", {"type": "stream", "name": "stdout", "data": "much", "skipped": 0})';
    const options = { answerLookMs: 20, onStream: () => held.promise };
    const { kernel, ended, events } = await start(`hello()\n${says}\n${SLEEP}`, 5000, options);
    await until("it has said something", () => events.length > 0);
    const answers = Promise.all([1, 2].map((id) => kernel.reply(large(id))));
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    await Bun.sleep(200); // three times as long as it is given otherwise
    expect(isOver).toBe(false);
    held.resolve();
    expect(await ended).toBe("it did not take an answer for a minute or longer");
    await answers;
  });

  test("EXH-14: holds no answer for a sandbox that its engine could not remove", async () => {
    const { kernel, sandbox } = await start(`hello()\n${SLEEP}`, 5000, {}, "its engine hangs");
    const answers = Promise.all([1, 2].map((id) => kernel.reply(large(id))));
    expect(await kernel.close().catch(String)).toBe("Error: its engine hangs");
    await answers;
    await sandbox.close();
  });

  test("rejects a reset that is not carried out", async () => {
    const { kernel } = await start("hello()\nrecv()\nrecv()");
    expect(await kernel.reset(100).catch((e: Error) => e.message)).toBe(
      "replacing the Python process took longer than 100 ms",
    );
  });
});
