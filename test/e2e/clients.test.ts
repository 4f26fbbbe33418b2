// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables as files write them
/** The binary with servers that stand in the files of other clients: its parsers are loaded only when they are needed. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { command } from "./helpers/command.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { memoryServer, npmServer } from "./helpers/npm-servers.ts";

let home: TestHome;
let bridge: Bridge;
beforeAll(async () => {
  home = createHome();
  home.write("notes/a.txt", "from a\n");
  const files = npmServer("filesystem", join(home.path, "notes"));
  const everything = npmServer("everything");
  const { args, ...rest } = files;
  home.write(
    ".codex/config.toml",
    `[mcp_servers.toml-files]\ncommand = ${JSON.stringify(rest.command)}\nargs = ${JSON.stringify(args)}\n`,
  );
  const [script = ""] = everything.args;
  home.write(
    ".config/goose/config.yaml",
    `extensions:\n  yaml-all:\n    type: stdio\n    cmd: ${everything.command}\n    args: ["${script}"]\n    enabled: true\n`,
  );
  home.write(
    ".cursor/mcp.json",
    JSON.stringify({
      mcpServers: {
        "json-memory": { ...memoryServer(home), env: { MEMORY_FILE_PATH: "${userHome}/graph.json" } },
        "toml-files": files,
        missing: { command: "x", env: { TOKEN: "${env:NO_SUCH_TOKEN}" } },
      },
    }),
  );
  bridge = await startBridge({ home });
  await bridge.python("None"); // the first result may carry a note about the engine
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

test("sandpy servers lists each once, and what one needs", async () => {
  const { stdout } = await command(["servers", "--json"], { home });
  const { servers } = JSON.parse(stdout) as {
    servers: { name: string; state: string; reason: string | null; origins: { client: string }[] }[];
  };

  expect(
    servers.map(({ name, state, origins }) => [name, state, origins.map(({ client }) => client)]),
  ).toEqual([
    ["toml-files", "usable", ["Codex", "Cursor"]],
    ["yaml-all", "usable", ["Goose"]],
    ["json-memory", "usable", ["Cursor"]],
    ["missing", "needs", ["Cursor"]],
  ]);
  expect(servers.at(-1)?.reason).toContain("needs environment variable NO_SUCH_TOKEN");
});

test.each([
  ["TOML", "(await mcp_toml_files.read_text_file(path=PATH)).text", "from a\n"],
  ["YAML", "(await mcp_yaml_all.echo(message='hi')).text", "Echo: hi"],
  ["JSON", "str(await mcp_json_memory.read_graph())[:0] + 'read'", "read"],
])("code calls a server that a %s file defines", async (_format, call, expected) => {
  const { text } = await bridge.python(
    `print(${call.replace("PATH", JSON.stringify(join(home.path, "notes/a.txt")))})`,
  );

  expect(text).toBe(`${expected}\n`);
});
