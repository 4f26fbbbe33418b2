import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { memoryServer, npmServer } from "./helpers/npm-servers.ts";

let home: TestHome;
let bridge: Bridge;
beforeAll(async () => {
  home = createHome();
  home.write("project/notes.txt", "first line\nsecond line\n");
  home.defineServers({
    "file-system": {
      ...npmServer("filesystem", join(home.path, "project")),
      description: "Files of the project",
    },
    memory: memoryServer(home),
    everything: npmServer("everything"),
  });
  bridge = await startBridge({ home });
  await bridge.python("None"); // the first result may carry a note about the engine
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

describe("Python that calls real servers", () => {
  test("finds them without starting them, and their tools", async () => {
    expect((await bridge.python("sorted(runtime.discovered_servers())")).text).toBe(
      "['everything', 'file-system', 'memory']",
    );
    const { text } = await bridge.python("[t['name'] for t in await runtime.list_tools('memory')]");
    expect(text).toContain("'create_entities'");
  });

  test.each([
    ["mcp_<alias>", "await mcp_file_system.read_text_file(path=path)"],
    ["mcp_servers[name]", "await mcp_servers['file-system'].read_text_file(path=path)"],
    ["mcp_servers[name][tool]", "await mcp_servers['file-system']['read_text_file'](path=path)"],
    ["runtime.call_tool", "await runtime.call_tool('file-system', 'read_text_file', {'path': path})"],
    ["mcp.runtime.call_tool", "await mcp.runtime.call_tool('file-system', 'read_text_file', {'path': path})"],
    ["a plain cell", "mcp_file_system.read_text_file(path=path).result()"],
  ])("reaches a tool by %s", async (_title, call) => {
    const { text } = await bridge.python(
      `path = ${JSON.stringify(join(home.path, "project/notes.txt"))}\nprint((${call}).text)`,
    );
    expect(text).toBe("first line\nsecond line\n\n");
  });

  test("preloads the servers that a call lists", async () => {
    const { text, isError } = await bridge.python("print((await mcp_everything.echo(message='hi')).text)", {
      servers: ["everything"],
    });
    expect([isError, text]).toEqual([false, "Echo: hi\n"]);
  });

  test("keeps one server for all calls", async () => {
    await bridge.python(
      "await mcp_memory.create_entities(entities=[{'name': 'a', 'entityType': 't', 'observations': ['o']}])",
    );
    const { text } = await bridge.python("(await mcp_memory.read_graph()).data['entities'][0]['name']");
    expect(text).toBe("'a'");
    expect(readFileSync(join(home.path, "graph.json"), "utf8")).toContain('"name":"a"');
  });

  test("raises a tool's own error, with the tool's name, to be caught as usual", async () => {
    const code =
      "try:\n    await mcp_file_system.read_text_file(path='/etc/passwd')\nexcept runtime.MCPError as e:\n    print(type(e).__name__, e)";
    const { text, isError } = await bridge.python(code);
    expect(isError).toBe(false);
    expect(text).toContain("MCPError");
    expect(text).toContain("/etc/passwd");
    expect((await bridge.python(code.split("\n")[1]?.trim() ?? "")).isError).toBe(true);
  });

  test("gathers calls that really run at the same time", async () => {
    const { text } = await bridge.python(
      "import asyncio, time\nt = time.monotonic()\n" +
        "rs = await asyncio.gather(*[mcp_everything.trigger_long_running_operation(duration=1, steps=1) for _ in range(10)])\n" +
        "print(len(rs), time.monotonic() - t < 5)",
    );
    expect(text).toBe("10 True\n");
  });

  test("gathers hundreds of calls", async () => {
    const { text } = await bridge.python(
      "rs = await asyncio.gather(*[mcp_everything.echo(message=str(n)) for n in range(500)])\nprint([r.text for r in rs] == [f'Echo: {n}' for n in range(500)])",
    );
    expect(text).toBe("True\n");
  });

  test("works in asyncio.run and in threads", async () => {
    const { text } = await bridge.python(
      "import asyncio, threading\nasync def one():\n    return (await mcp_everything.echo(message='run')).text\nprint(asyncio.run(one()))\n" +
        "out = []\nt = threading.Thread(target=lambda: out.append(mcp_everything.echo(message='thread').result().text))\nt.start(); t.join()\nprint(out)",
    );
    expect(text).toBe("Echo: run\n['Echo: thread']\n");
  });

  test("finds a server that was defined after the start", async () => {
    home.write("MCPs/later.json", JSON.stringify({ mcpServers: { later: npmServer("everything") } }));
    const { text } = await bridge.python(
      "(await runtime.call_tool('later', 'echo', {'message': 'new'})).text",
    );
    expect(text).toBe("'Echo: new'");
  });

  test("does not start a server that was not used", async () => {
    using other = createHome();
    const marker = join(other.path, "started");
    other.defineServers({ lazy: { command: "sh", args: ["-c", `echo > '${marker}'; exec cat >/dev/null`] } });
    await using quiet = await startBridge({ home: other });
    await quiet.python("runtime.discovered_servers()");
    expect(await Bun.file(marker).exists()).toBe(false);
  });
});

test("MCP_SERVERS_CONFIG names one more file", async () => {
  using other = createHome();
  const file = other.write(
    "elsewhere/config.json",
    JSON.stringify({ mcpServers: { extra: npmServer("everything") } }),
  );
  await using bridge = await startBridge({ home: other, env: { MCP_SERVERS_CONFIG: file } });
  await bridge.python("None");
  expect((await bridge.python("(await mcp_extra.echo(message='x')).text")).text).toBe("'Echo: x'");
});
