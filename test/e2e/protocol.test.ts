import { describe, expect, test } from "bun:test";
import { startBridge } from "./helpers/client.ts";

describe.each(["2024-11-05", "2025-11-25", "2026-07-28"] as const)("a client of %s", (protocol) => {
  test("lists exactly one tool and calls it, with state between the calls", async () => {
    await using bridge = await startBridge({ protocol });
    expect((await bridge.listTools()).map((tool) => tool.name)).toEqual(["run_python"]);
    await bridge.python("None"); // the first result may carry a note about the engine
    expect(await bridge.python("print('hello')\nx = 20\nx + 1")).toEqual({
      text: "hello\n21",
      isError: false,
    });
    expect(await bridge.python("x + 2")).toEqual({ text: "22", isError: false });
  });
});
