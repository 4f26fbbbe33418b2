import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { memoryServer, npmServer } from "./helpers/npm-servers.ts";

const off = { disabled: true, description: "an old notebook" };
let home: TestHome;
let bridge: Bridge;
beforeAll(async () => {
  home = createHome();
  home.write("project/notes.txt", "first line\n");
  home.defineServers({
    "file-system": {
      ...npmServer("filesystem", join(home.path, "project")),
      description: "Files of the project",
    },
    memory: memoryServer(home),
    everything: npmServer("everything"),
    "old-notes": { ...npmServer("everything"), ...off },
    "other-notes": { ...npmServer("everything"), ...off },
    keyed: { ...npmServer("everything"), env: { TOKEN: `\${MISSING_TOKEN}` } },
  });
  bridge = await startBridge({ home, env: { MCP_BRIDGE_ADD_SERVERS: "old-*" } });
  await bridge.python("None"); // the first result may carry a note about the engine
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

describe("a model that looks for a tool", () => {
  test("finds it by what it does, before any server was started, and calls it as printed", async () => {
    const { text } = await bridge.python("await runtime.search_tool_docs('read the content of a text file')");
    expect(text).toMatch(
      /^5 of \d+ for 'read the content of a text file', 3\d tools searched\nawait mcp_file_system\./,
    );
    expect(text).toContain("await mcp_file_system.read_text_file(path: str");
    expect(text).toContain("details: await runtime.query_tool_docs(server, tool)");
    const path = JSON.stringify(join(home.path, "project/notes.txt"));
    expect((await bridge.python(`(await mcp_file_system.read_text_file(path=${path})).text`)).text).toBe(
      "'first line\\n'",
    );
  });

  test.each([
    ["runtime.search_tool_docs_sync('echo', limit=1)[0].toolAlias", "'echo'"],
    ["(await runtime.search_tool_docs('graph', server='memory'))[0]['server']", "'memory'"],
    ["(await runtime.search_tool_docs('', limit=3))[2].serverAlias in runtime.list_servers()", "True"],
    ["'inputSchema' in (await runtime.search_tool_docs('echo', detail='full'))[0]", "True"],
  ])("uses %s", async (code, expected) => {
    expect((await bridge.python(code)).text).toBe(expected);
  });

  test("is not left alone with a search that finds nothing", async () => {
    const { text } = await bridge.python("await runtime.search_tool_docs('zzzqqq')");
    expect(text).toContain("no tool for 'zzzqqq' in ");
    expect(text).toContain("runtime.discovered_servers(detailed=True)");
  });

  test("can call every tool that is printed, also of servers with dashes in their names", async () => {
    const code =
      "docs = [*await runtime.search_tool_docs('', limit=100)]\n" +
      "for s in runtime.discovered_servers(): docs += await runtime.query_tool_docs(s)\n" +
      "calls = [repr(d)[len('await '):].partition('(')[0] for d in docs]\n" +
      "print(len(calls) > 60, [c for c in calls if not callable(eval(c))])";
    expect((await bridge.python(code)).text).toBe("True []\n");
  });
});

describe("resources and prompts", () => {
  test.each([
    ["[r.uri for r in await runtime.list_resources('everything')][0]", "demo://"],
    ["runtime.list_resources('everything').result().templates[0]['uriTemplate']", "demo://"],
    ["(await runtime.read_resource('everything', 'demo://resource/dynamic/text/1')).text", "Resource 1"],
    ["len((await runtime.read_resource('everything', 'demo://resource/dynamic/blob/1')).bytes) > 0", "True"],
    [
      "await runtime.list_prompts('everything')",
      "await runtime.get_prompt('everything', 'args-prompt', {'city': str",
    ],
    ["(await runtime.get_prompt('everything', 'args-prompt', {'city': 'Lyon'})).text", "Lyon"],
    ["await runtime.list_resources('file-system')", "[]"],
  ])("%s", async (code, part) => {
    const { text, isError } = await bridge.python(code);
    expect([isError, text]).toEqual([false, expect.stringContaining(part)]);
  });

  test.each([
    ["await runtime.read_resource('everything', 'demo://nothing')", "demo://nothing"],
    ["await runtime.get_prompt('everything', 'nothing')", "nothing"],
    ["await runtime.list_prompts('everythin')", 'Did you mean "everything"?'],
  ])("fail with a reason: %s", async (code, part) => {
    const { text, isError } = await bridge.python(code);
    expect([isError, text]).toEqual([true, expect.stringContaining("MCPError")]);
    expect(text).toContain(part);
  });
});

describe("servers that are not usable", () => {
  test("are found with the reason", async () => {
    const { text } = await bridge.python("await runtime.find_servers('notes')");
    expect(text).toContain("2 of 2 for 'notes', 6 servers are known");
    expect(text).toContain("old-notes: not usable  # an old notebook ('old-notes' is switched off: ");
    expect((await bridge.python("await runtime.find_servers('keyed')")).text).toContain("MISSING_TOKEN");
  });

  test("are added where the user permits it, and nowhere else", async () => {
    const { text } = await bridge.python(
      "info = await runtime.add_server('old-notes')\nprint((await mcp_old_notes.echo(message='hi')).text, info.status)",
    );
    expect(text).toBe("Echo: hi connected\n");
    expect((await bridge.python("'old-notes' in runtime.discovered_servers()")).text).toBe("True");
    const denied = await bridge.python("await runtime.add_server('other-notes')");
    expect(denied.isError).toBe(true);
    expect(denied.text).toContain("MCP_BRIDGE_ADD_SERVERS=other-notes");
    expect((await bridge.python("await runtime.add_server('keyed')")).isError).toBe(true);
    await using other = await startBridge({ home });
    await other.python("None");
    expect((await other.python("await runtime.add_server('old-notes')")).isError).toBe(true);
  });
});

describe("what a client sees before any call", () => {
  test("names the servers within 200 tokens", async () => {
    const tools = await bridge.listTools();
    expect(tools[0]?.description).toContain("file_system");
    expect(encode(JSON.stringify({ tools })).length).toBeLessThanOrEqual(200);
  });

  test("is told when a server is added to a file", async () => {
    using fresh = createHome();
    fresh.defineServers({ one: npmServer("everything") });
    await using watched = await startBridge({ home: fresh });
    const changed = Promise.withResolvers<void>();
    const described = async () => (await watched.listTools())[0]?.description;
    while (!(await described())?.endsWith("\nServers: one")) await Bun.sleep(20); // a busy machine reads files later
    watched.onToolsChanged = changed.resolve;
    fresh.write("MCPs/two.json", JSON.stringify({ mcpServers: { two: memoryServer(fresh) } }));
    await changed.promise;
    while (!(await described())?.includes("two")) await Bun.sleep(20);
  });

  test("has the manual, the same as in Python", async () => {
    const uri = "resource://mcp-server-code-execution-mode/capabilities";
    const contents = await bridge.readResource(uri);
    const manual = await bridge.python("print(runtime.capability_summary())");
    expect(contents).toEqual([{ uri, mimeType: "text/markdown", text: manual.text.trimEnd() }]);
  });
});
