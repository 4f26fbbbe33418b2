import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { type Bridge, startBridge } from "./helpers/client.ts";

let bridge: Bridge;
beforeAll(async () => {
  bridge = await startBridge();
  await bridge.python("1"); // the first result may carry a note about the engine
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
});

test("EXH-15: the first result says where the engine does not enforce limits, and only that one", async () => {
  await using fresh = await startBridge();
  const inForce = await fresh.python(
    "import os\nprint(open('/sys/fs/cgroup/memory/memory.limit_in_bytes' if os.path.exists('/sys/fs/cgroup/memory/memory.limit_in_bytes') else '/sys/fs/cgroup/memory.max').read())",
  );
  const note = "[note] This engine does not enforce memory and process limits";
  expect(inForce.text.includes(note)).toBe(!inForce.text.startsWith(String(512 * 1024 ** 2)));
  expect((await fresh.python("1")).text).toBe("1");
});

describe("a program that takes too much", () => {
  test("EXH-1: of memory is stopped alone, and the result says so", async () => {
    const { text, isError } = await bridge.python("hog = []\nwhile True: hog.append(bytearray(8_000_000))");
    expect(isError).toBe(true);
    expect(text).toMatch(/out of memory|MemoryError/);
    expect((await bridge.python("1 + 1")).text).toBe("2");
    // Podman's monitor writes a file "oom" into the folder it was started in.
    expect(readdirSync(bridge.home.path).filter((name) => !name.startsWith("."))).toEqual([]);
  });

  test("EXH-2: of processes is refused more, and nothing stays behind", async () => {
    const { text } = await bridge.python(
      "import os, time\nmade = []\ntry:\n    for _ in range(2000):\n        pid = os.fork()\n        if pid == 0:\n            time.sleep(30); os._exit(0)\n        made.append(pid)\n" +
        "    print('no limit')\nexcept OSError as e:\n    print('stopped by', type(e).__name__)\nfinally:\n    for pid in made:\n        os.kill(pid, 9); os.waitpid(pid, 0)",
    );
    expect(text).toBe("stopped by BlockingIOError\n");
    expect(
      (
        await bridge.python(
          "len([p for p in os.listdir('/proc') if p.isdigit()]) if 'os' in globals() else 0",
        )
      ).isError,
    ).toBe(false);
  });

  test("EXH-5: of disk gets ENOSPC, and Python goes on", async () => {
    const { text } = await bridge.python(
      "import os\nhog = None\ntry:\n    with open('/tmp/big', 'wb') as f:\n        for _ in range(200): f.write(bytes(1_000_000))\nexcept OSError as e:\n    print(e.strerror)\nos.remove('/tmp/big')",
    );
    expect(text).toBe("No space left on device\n");
  });
});
