import { describe, expect, test } from "bun:test";
import { CliWorld } from "../helpers/cli-world.ts";
import { until } from "../helpers/until.ts";

describe.each([["sandpy"], ["sandpy serve"]])("%s with a client at stdin", (words) => {
  const argv = words.split(" ").slice(1);

  test("serves until the client is gone, then closes everything", async () => {
    const world = new CliWorld();
    const running = world.run(...argv);
    await until("serving", () => world.events.includes("serving"));
    world.hangUp();
    const { code, stdout } = await running;
    expect([code, stdout]).toEqual([0, ""]);
    expect(world.events).toEqual(["bridge created", "serving", "bridge closed"]);
    expect(world.listens).toBe(false);
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("ends with 0 at %s", async (signal) => {
    const world = new CliWorld();
    const running = world.run(...argv);
    await world.signal(signal);
    expect((await running).code).toBe(0);
    expect(world.events).toEqual(["bridge created", "serving", "asked to close", "bridge closed"]);
  });
});

describe("a copy that sandpy started", () => {
  test("refuses to serve", async () => {
    const world = new CliWorld();
    world.env["SANDPY_DEPTH"] = "1";
    const { code, stderr } = await world.run();
    expect([code, world.events]).toEqual([3, []]);
    expect(stderr).toBe(
      "sandpy: this is a copy of sandpy that sandpy itself started (SANDPY_DEPTH=1)\n" +
        "Remove sandpy from the servers it is to call, or set MCP_BRIDGE_ALLOW_SELF_SERVER=1.\n",
    );
  });

  test("serves where that is allowed", async () => {
    const world = new CliWorld();
    Object.assign(world.env, { SANDPY_DEPTH: "1", MCP_BRIDGE_ALLOW_SELF_SERVER: "1" });
    world.hangUp();
    expect((await world.run()).code).toBe(0);
  });
});
