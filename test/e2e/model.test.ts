import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { memoryServer, npmServer } from "./helpers/npm-servers.ts";

let home: TestHome;
let bridge: Bridge;
beforeAll(async () => {
  home = createHome();
  home.write("project/notes.txt", "first line\n");
  home.defineServers({
    filesystem: npmServer("filesystem", join(home.path, "project")),
    memory: memoryServer(home),
    everything: npmServer("everything"),
    calendar: { ...npmServer("everything"), disabled: true },
  });
  bridge = await startBridge({ home });
  await bridge.python("None"); // the first result may carry a note about the engine
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

describe("a model that knows the description of the tool alone", () => {
  test.each([
    ["code in a fence", "```python\n1 + 1\n```", "2"],
    ["code with indentation throughout", "    if True:\n        x = 3\n    x", "3"],
    [
      "a server imported",
      "import mcp_everything\n(await mcp_everything.echo(message='a')).text",
      "'Echo: a'",
    ],
    ["content read by attributes", "(await mcp_everything.echo(message='a')).content[0].text", "'Echo: a'"],
    ["tools read by attributes", "(await runtime.list_tools('memory'))[0].name", "'create_entities'"],
    ["a result without `.text`", "await mcp_everything.echo(message='a')", "Echo: a"],
    ["a result that is data", "await mcp_memory.read_graph()", ".data: {'entities': [], 'relations': []}"],
    [
      "an error caught by its name",
      "try:\n    await mcp_filesystem.read_text_file(path='/etc/passwd')\nexcept MCPError as e:\n    print(e.tool)",
      "read_text_file\n",
    ],
    ["asyncio.run", "import asyncio\nasync def f(): return 5\nasyncio.run(f())", "5"],
  ])("succeeds with %s", async (_title, code, expected) => {
    expect(await bridge.python(code)).toEqual({ isError: false, text: expected });
  });

  test("learns from the documentation what a nested argument holds", async () => {
    const { text } = await bridge.python("await runtime.query_tool_docs('memory', 'create_entities')");
    expect(text).toContain("entities: list[{name: str, entityType: str, observations: list[str]}]");
  });

  test("pays for a list of tools far less than its schemas cost", async () => {
    const { text } = await bridge.python("await runtime.list_tools('filesystem')");
    expect(text).toContain(
      "read_text_file(path: str, tail: float = ..., head: float = ...) -> {content: str}  # Read the",
    );
    expect(text.split("\n")).toHaveLength(15);
    const json = await bridge.python(
      "import json\nprint(json.dumps(await runtime.list_tools('filesystem')))",
    );
    expect(text.length).toBeLessThan(json.text.length / 3);
  });

  test("sees an image that a tool returned, and no base64", async () => {
    const { text, images } = await bridge.call({ code: "await mcp_everything.get_tiny_image()" });
    expect(text).toBe(
      "Here's the image you requested:\n[image: image/png, 4035 bytes]\nThe image above is the MCP logo.",
    );
    expect(images.map(({ mimeType }) => mimeType)).toEqual(["image/png"]);
  });

  test.each([
    ["await", "mcp_memory.read_graph().data", "write `await` before the call"],
    ["the right name of a function", "await runtime.search('x')", "did you mean `runtime.search_tool_docs("],
    ["the server of a resource", "await runtime.read_resource('a:b')", "runtime.read_resource(server, uri)"],
    ["a server that is switched on", "await mcp_calendar.today()", "the server 'calendar' is switched off"],
    ["the right name of a server", "await mcp_memry.read_graph()", "did you mean `mcp_memory`?"],
    ["the server's name", "await runtime.list_tools()", "name a server, one of 'filesystem', 'memory'"],
    ["an installed module", "import pandas", "pandas is not in the sandbox and cannot be installed"],
    [
      "network",
      "import socket\nsocket.create_connection(('example.com', 443), 5)",
      "the sandbox has no network",
    ],
    ["IPython", "%pip install pandas", "nothing can be installed"],
    ["a place to write", "open('/etc/x', 'w')", "only /workspace, /tmp and /projects can be written"],
  ])("is told what to do in one line when it lacks %s", async (_title, code, hint) => {
    const { text, isError } = await bridge.python(code);
    expect(isError).toBe(true);
    const hints = text.split("\n").filter((line) => line.startsWith("[hint] "));
    expect(hints).toHaveLength(1);
    expect(hints[0]).toContain(hint);
  });

  test("is told the nearest argument and the signature when it guesses an argument", async () => {
    const { text, isError } = await bridge.python("await mcp_filesystem.read_text_file(paths='x')");
    expect(isError).toBe(true);
    expect(text).toContain("got an unexpected argument 'paths'; did you mean 'path'?");
    expect(text).toContain("The tool is: read_text_file(path: str, tail: float = ..., head: float = ...)");
  });

  test("hears of a call that nobody awaited", async () => {
    const path = join(home.path, "project/new.txt");
    const code = `mcp_filesystem.write_file(path=${JSON.stringify(path)}, content="x")\nprint("written")`;
    const { text } = await bridge.python(code);
    expect(text).toStartWith("written\n[stderr]\nfilesystem.write_file: called without `await`");
  });
});
