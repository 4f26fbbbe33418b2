/** What a client gets of a call besides its text: structured content, images, files, and what is said of lost time and state. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { decode } from "@toon-format/toon";
import { patient } from "../helpers/patient.ts";
import { peakMib } from "./helpers/attack.ts";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { containersOf, flavour, until } from "./helpers/engine.ts";

const PNG = `
import struct, zlib
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def png(side=2): return b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">2I5B", side, side, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress((b"\\0" + b"\\xff\\0\\0" * side) * side)) + chunk(b"IEND", b"")
class Picture:
    def _repr_png_(self): return png(3)
`;

let bridge: Bridge;
beforeAll(async () => {
  bridge = await startBridge();
  await bridge.python(PNG); // the first result may carry a note about the engine
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
});

/** The structured content of a call, with any duration as 0. */
async function structured(code: string, more: object = {}): Promise<Readonly<Record<string, unknown>>> {
  const { structured: all } = await bridge.call({ code, ...more });
  return "durationMs" in all ? { ...all, durationMs: 0 } : all;
}

describe("the structured content", () => {
  test.each<[string, string, Record<string, unknown>]>([
    ["of nothing", "None", { status: "success", durationMs: 0 }],
    [
      "of a value",
      "print('out')\n6 * 7",
      { status: "success", stdout: "out\n", result: "42", durationMs: 0 },
    ],
    [
      "of both streams",
      "import sys\nprint('err', file=sys.stderr)",
      { status: "success", stderr: "err\n", durationMs: 0 },
    ],
    ["of sys.exit(0)", "import sys\nsys.exit(0)", { status: "success", exitCode: 0, durationMs: 0 }],
    ["of sys.exit(3)", "import sys\nsys.exit(3)", { status: "error", exitCode: 3, durationMs: 0 }],
    [
      "of an exception",
      "[][1]",
      {
        status: "error",
        error: {
          type: "IndexError",
          message: "list index out of range",
          traceback: expect.stringContaining("[][1]"),
        },
        durationMs: 0,
      },
    ],
  ])("%s has only what is not empty", async (_title, code, expected) => {
    expect(await structured(code)).toEqual(expected);
  });

  test("of a timeout says so in status and notes", async () => {
    expect(await structured("import time\nwhile True: time.sleep(1)", { timeout: 1 })).toEqual({
      status: "timeout",
      error: { type: "KeyboardInterrupt", message: "", traceback: expect.any(String) },
      notes: [
        "The code was stopped after its timeout of 1 s; give a longer `timeout` or do less at once. Variables are kept.",
      ],
      durationMs: 0,
    });
  });

  test("of wrong arguments is a validation error", async () => {
    const { isError, structured: refusal } = await bridge.call({ code: "1", timeout: -1 });
    expect([isError, refusal["status"]]).toEqual([true, "validation_error"]);
    expect(Object.keys(refusal).sort()).toEqual(["error", "status"]);
  });

  test("measures the code and not the wait for its turn", async () => {
    const [, second] = await Promise.all([
      bridge.call({ code: "import time\ntime.sleep(2)" }),
      bridge.call({ code: "1" }),
    ]);
    expect(Number(second.structured["durationMs"])).toBeLessThan(2000);
  });
});

describe("long output", () => {
  test("is a file that the text names and the next call reads", async () => {
    const { text, structured: all } = await bridge.call({
      code: "for n in range(50_000): print(f'line {n}')",
    });
    expect(all["truncated"]).toBe(true);
    const bytes = Array.from({ length: 50_000 }, (_, n) => `line ${n}\n`.length).reduce((a, b) => a + b);
    const marker = /\n\[… (\d+) characters left out; all of it is in the sandbox: (\S+) …\]\n/.exec(text);
    expect(marker?.[2]).toMatch(/^\/tmp\/\.sandpy-output\/\d+-stdout\.txt$/);
    expect(Number(marker?.[1])).toBe(bytes - (text.length - (marker?.[0].length ?? 0)));
    const read = `lines = open(${JSON.stringify(marker?.[2])}).read().splitlines()\n[len(lines), lines[25_000]]`;
    expect((await bridge.python(read)).text).toBe("[50000, 'line 25000']");
  });

  test("of 300 MB neither grows the bridge nor slows the next call", async () => {
    const before = peakMib(bridge.pid);
    const { structured: all } = await bridge.call({
      code: "line = 'x' * 9_999\nfor _ in range(30_000): print(line)",
      timeout: 60,
    });
    expect(all).toMatchObject({ status: "success", truncated: true });
    const startedAt = performance.now();
    expect((await bridge.python("1")).text).toBe("1");
    expect(performance.now() - startedAt).toBeLessThan(patient(500));
    expect(peakMib(bridge.pid) - before).toBeLessThan(100);
  });
});

describe("an image", () => {
  test.each([
    ["that is displayed", "display(png())", 2],
    ["of an object that can draw itself", "Picture()", 3],
    ["that is the last value", "png(4)", 4],
  ])("%s comes back as an image", async (_title, code, side) => {
    const { images, text } = await bridge.call({ code });
    expect(images.map(({ mimeType }) => mimeType)).toEqual(["image/png"]);
    expect(Buffer.from(images[0]?.data ?? "", "base64").readUInt32BE(16)).toBe(side);
    expect(text).toBe("(no output but what is shown)");
  });

  test("comes beside text, in the order in which they were shown", async () => {
    const { images, text } = await bridge.call({ code: "display(png(5), 'and')\nprint('text')\npng(6)" });
    const sides = images.map(({ data }) => Buffer.from(data, "base64").readUInt32BE(16));
    expect([sides, text]).toEqual([[5, 6], "and\ntext\n"]);
  });

  test("beyond the twentieth is left out, and the result says so", async () => {
    const { images, text } = await bridge.call({ code: "for _ in range(30): display(png())" });
    expect(images).toHaveLength(20);
    expect(text).toMatch(/20 images/);
  });
});

describe("MCP_BRIDGE_OUTPUT_MODE=toon", () => {
  test("writes the structured content as one TOON block", async () => {
    await using toon = await startBridge({ env: { MCP_BRIDGE_OUTPUT_MODE: "toon" } });
    await toon.python("1");
    const { text, structured: all } = await toon.call({ code: "print('a, b: \"c\"')\n{'k': [1, None]}" });
    expect(decode(text) as unknown).toEqual(all);
    expect(all).toMatchObject({ status: "success", stdout: 'a, b: "c"\n', result: "{'k': [1, None]}" });
  });
});

describe("MCP_BRIDGE_STATELESS=1", () => {
  test("gives every call a fresh Python, and says nothing of it", async () => {
    await using stateless = await startBridge({ env: { MCP_BRIDGE_STATELESS: "1" } });
    await stateless.python("kept = 1");
    expect((await stateless.python("'kept' in globals()")).text).toBe("False");
    expect((await stateless.python("import os\nos._exit(3)")).text).toContain("exit code 3");
    expect((await stateless.python("len('ab')")).text).toBe("2");
  });
});

describe("a Python that dies", () => {
  test("for want of memory names the limit and how to raise it", async () => {
    await using small = await startBridge({ env: { MCP_BRIDGE_MEMORY: "100m" } });
    await small.python("1");
    const { text, structured: all } = await small.call({
      code: "hog = []\nwhile True: hog.append(bytearray(4_000_000))",
    });
    expect(all["status"]).toBe("error");
    // Where rlimits stand in, Python itself is refused the memory.
    if (flavour === "podman-rootless" && text.includes("MemoryError")) return;
    expect(text).toBe(
      "[note] Python was restarted: killed: out of memory, limit 100m; work on smaller pieces, or have the user raise " +
        "MCP_BRIDGE_MEMORY. Variables, imports and functions of this session are gone; define them again.",
    );
  });

  test("leaves a fresh one at once, and is spoken of once", async () => {
    await bridge.python("import os\nos._exit(1)");
    const startedAt = performance.now();
    expect((await bridge.python("1")).text).toBe("1");
    expect(performance.now() - startedAt).toBeLessThan(patient(500));
  });
});

describe("a sandbox that was idle for too long", () => {
  test("EXH-17: is gone, and the next result says so once", async () => {
    await using idle = await startBridge({ env: { MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: "1" } });
    await idle.python("kept = 1");
    await until("the sandbox is gone", async () => (await containersOf(idle.pid)).length === 0);
    expect((await idle.python("'kept' in globals()")).text).toContain(
      "False\n[note] The sandbox was stopped after 1 s without a call. Variables, imports and functions of this session are gone; define them again.",
    );
    expect((await idle.python("1")).text).toBe("1");
  });
});

test("a call that waits for its turn can be cancelled, and never runs", async () => {
  const abort = new AbortController();
  const first = bridge.call(
    { code: "import time\nran = []\nprint('runs', flush=True)\ntime.sleep(0.5)\nran.append('first')" },
    { onProgress: () => abort.abort() },
  );
  const second = bridge.call({ code: "ran.append('second')" }, { signal: abort.signal });
  const third = bridge.python("ran");
  expect(await second.catch(() => "cancelled")).toBe("cancelled");
  expect((await first).structured["status"]).toBe("success");
  expect((await third).text).toBe("['first']");
});
