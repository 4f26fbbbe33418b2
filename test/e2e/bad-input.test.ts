import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { memoryServer } from "./helpers/npm-servers.ts";

let home: TestHome;
let bridge: Bridge;
beforeAll(async () => {
  home = createHome();
  home.defineServers({
    memory: memoryServer(home),
    broken: {
      command: process.execPath,
      args: ["-e", "console.error('cannot open the vault'); process.exit(3)"],
    },
    missing: { command: "no-such-command-here" },
  });
  home.write("MCPs/half.json", '{\n  "mcpServers": {\n    "x": { "command" "y" }\n  }\n}\n');
  bridge = await startBridge({ home });
  await bridge.python("state = 'kept'");
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

describe("bad input", () => {
  test.each<[string, Record<string, unknown>, string[]]>([
    ["no code", {}, ["code"]],
    ["blank code", { code: "  \n" }, ["code"]],
    ["code that is no text", { code: 5 }, ["code", "5"]],
    ["servers as a text", { code: "1", servers: "memory" }, ["servers", '"memory"', "array"]],
    ["servers of numbers", { code: "1", servers: [1] }, ["servers", "1"]],
    ["a timeout as a text", { code: "1", timeout: "soon" }, ["timeout", '"soon"']],
    ["a fractional timeout", { code: "1", timeout: 2.5 }, ["timeout", "2.5"]],
    ["a timeout of nothing", { code: "1", timeout: 0 }, ["timeout", "0"]],
    ["a timeout without end", { code: "1", timeout: 100_000 }, ["timeout", "100000", "120"]],
    ["an unknown argument", { code: "1", langage: "py" }, ["langage"]],
    ["an unknown server", { code: "1", servers: ["memroy"] }, ["memroy", "memory", "broken", "missing"]],
    [
      "a server that fails to start",
      { code: "1", servers: ["broken"] },
      [
        "broken",
        "cannot open the vault",
        'Nothing was run. Leave "broken" out of the servers to run without it.',
      ],
    ],
    [
      "two servers that fail to start",
      { code: "1", servers: ["missing", "memory", "broken"] },
      ["no-such-command-here", 'Leave "missing" and "broken" out of the servers to run without them.'],
    ],
    [
      "a server whose command does not exist",
      { code: "1", servers: ["missing"] },
      ["missing", "no-such-command-here"],
    ],
  ])("%s gets a clear result, and the session stays usable", async (_title, args, parts) => {
    const { text, isError } = await bridge.call(args);
    expect(isError).toBe(true);
    for (const part of parts) expect(text).toContain(part);
    expect((await bridge.python("state")).text).toBe("'kept'");
  });

  test("says what to do where Python calls a server that cannot start", async () => {
    const { text, isError } = await bridge.python("await mcp_broken.anything()");
    expect(isError).toBe(true);
    expect(text).toContain("cannot open the vault");
  });

  test("names the nearest tool when a tool does not exist", async () => {
    const { text } = await bridge.python("await mcp_memory.read_grpah()");
    expect(text).toContain("read_graph");
  });

  test("loads the other files when one does not parse, and says where", async () => {
    expect((await bridge.python("'memory' in runtime.discovered_servers()")).text).toBe("True");
  });

  test("explains a settings error before anything is served", async () => {
    const error = await startBridge({ env: { MCP_BRIDGE_MEMORY: "lots" } }).then(
      () => "started",
      () => "refused",
    );
    expect(error).toBe("refused");
  });
});

describe("an image that is missing", () => {
  test("HOST-7: and cannot be pulled is an error that says what to do; the server goes on", async () => {
    await using other = await startBridge({ env: { MCP_BRIDGE_IMAGE: "localhost/no-such-image:here" } });
    const { text, isError } = await other.python("1");
    expect(isError).toBe(true);
    for (const part of ["localhost/no-such-image:here", "MCP_BRIDGE_IMAGE"]) expect(text).toContain(part);
    expect(await other.listTools()).toHaveLength(1);
  });

  test("ISO-19: with a name that would be a flag is refused", async () => {
    await using other = await startBridge({ env: { MCP_BRIDGE_IMAGE: "--privileged" } }).catch(() => ({
      python: async () => ({ text: "--privileged is refused at start", isError: true }),
      [Symbol.asyncDispose]: async () => undefined,
    }));
    const { text, isError } = await other.python("1");
    expect([isError, text.includes("--privileged")]).toEqual([true, true]);
  });
});
