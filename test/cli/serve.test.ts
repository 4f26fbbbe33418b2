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

describe("sandpy serve --http", () => {
  test("says where it listens, and closes everything at a signal", async () => {
    const world = new CliWorld();
    const running = world.run(
      "serve",
      "--http",
      "--port",
      "0",
      "--allow-host",
      "a.example",
      "--allow-host=b.example",
    );
    await until("serving", () => world.events.includes("serving by HTTP"));
    expect(world.config?.http).toMatchObject({ port: 0, allowHosts: ["a.example", "b.example"] });
    await world.signal("SIGTERM");
    const { code, stdout, stderr } = await running;
    expect([code, stdout, stderr]).toEqual([0, "", "sandpy: serving MCP at http://127.0.0.1:1/mcp\n"]);
    expect(world.events).toEqual(["bridge created", "serving by HTTP", "asked to close", "bridge closed"]);
  });

  test("goes on when stdin ends", async () => {
    const world = new CliWorld();
    world.stdin.end();
    const running = world.run("serve", "--http");
    await until("serving", () => world.events.includes("serving by HTTP"));
    await world.signal("SIGINT");
    expect((await running).code).toBe(0);
  });

  test.each([
    [["--port", "1"], 2, "--port is for serving by HTTP"],
    [["--http", "--port", "70000"], 3, '--port is "70000": expected a port from 0 to 65535'],
    [["--http", "--path", "mcp"], 3, '--path is "mcp": expected a path such as /mcp'],
    [["--http", "--host", "a b"], 3, '--host is "a b": expected an address or a name'],
    [["--http", "--allow-origin", "example.com"], 3, "expected origins such as https://app.example.com"],
    [["--http", "--issuer", "http://idp.example.com"], 3, "expected an https:// address"],
    [["--http", "--audience", "x"], 3, "expected an issuer (--issuer) beside it"],
  ] as const)("refuses %j", async (flags, exit, message) => {
    const world = new CliWorld();
    const { code, stderr } = await world.run("serve", ...flags);
    expect([code, world.events]).toEqual([exit, []]);
    expect(stderr).toContain(message);
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
