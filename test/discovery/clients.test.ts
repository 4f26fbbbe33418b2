// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables as files write them
import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Machine } from "./helpers.ts";

let machine: Machine;
beforeEach(() => {
  machine = new Machine();
});
afterEach(() => rmSync(machine.root, { recursive: true }));

/** What each home of `test/fixtures/homes/clients` gives: a server a line, and what is said of faults after `!`. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  "amazon-q": ["q: q | call 120000"],
  amp: ["a: a s-1 | allow get_* | deny get_secret"],
  antigravity: ['old: auto https://anti.example/mcp OFF "disabled" is true'],
  any: ["beside: node server.js | in .", "a: a", "b: auto https://b.example", "c: sse https://c.example/sse"],
  "claude-code": [
    'refused: r | in . OFF "disabledMcpjsonServers" lists it in ~/.claude.json',
    'denied: d | in . OFF "disabledMcpjsonServers" lists it in ~/.claude/settings.json',
    "tool: ./bin/tool run.js | in .",
    "notes: notes-local",
    "search: http https://search.example/eu/mcp | Authorization=Bearer s-1 | deny delete | call 45000",
    'typeless: auto https://typeless.example/mcp OFF "deny" has "mcp__typeless" in ~/.claude/settings.json',
    'helper: http https://helper.example/mcp NEEDS the headers that the command in "headersHelper" prints, which is never run',
    "literal: lit $HOME ${env:HOME}",
    'quiet: quiet OFF "disabledMcpServers" lists it in ~/.claude.json',
  ],
  "claude-desktop": ["d: d ${HOME} ~/x"],
  cline: ["github.com/org/repo: http https://cline.example/mcp | A=b | call 120000", "flat: f"],
  codex: [
    "files: npx -y files ${HOME} | SEARCH_TOKEN=s-1 | REGION=eu | TOKEN=${TOKEN} | allow read,list | deny list | start 20500 | call 90000",
    "with space: auto https://codex.example/mcp | X-Region=eu | Authorization=Bearer s-1 NEEDS environment variable UNSET_KEY",
    'off: off OFF "enabled" is false',
    "tables: tables",
  ],
  continue: [
    "single: python server.py | in .",
    "first: uvx first | T=s-1 | U=${{ secrets.UNSET_KEY }} NEEDS environment variable UNSET_KEY",
    "web: http https://continue.example/mcp | X-A=b | Authorization=Bearer s-1 | start 4000",
    "! ~/.continue/config.yaml:17:5: mcpServers[2]: expected a name for the server, found empty text",
  ],
  copilot: ["all: c", "some: sse https://copilot.example/sse | allow a,b"],
  crush: [
    'runs: c | T=$(pass show t) | U=`id` | V=s-1 | in . NEEDS the output of the shell command in "env.T", which is never run; the output of the shell command in "env.U", which is never run',
    "fine: http https://crush.example/mcp | deny x | call 15000",
    "literal: npx -y 'my server' | K=V | call 20000",
    "web: http https://rc.example/mcp | X-Key=s-1 | deny rm",
    `risky: '$(which x)' NEEDS the output of the shell command in "command", which is never run`,
  ],
  cursor: [
    'web: auto https://cursor.example/mcp | oauth {"clientId":"eu","clientSecret":"s","scopes":["a","b"]}',
    "run: ~/bin/run ./x ${REGION}",
  ],
  factory: ["same: user", "tools: t | allow a | call 1500"],
  gemini: [
    "plain: g s-1 aeub eu | allow a,b | deny b | call 5000",
    "both: http https://gemini.example/mcp",
    'google: auto https://run.example/mcp NEEDS a sign-in by "authProviderType" "google_credentials"',
    "missing: g | A=$UNSET_KEY NEEDS environment variable UNSET_KEY",
    'dropped: g OFF "excluded" lists it in ~/.gemini/settings.json',
  ],
  goose: [
    "web: http https://goose.example/mcp | A=b | call 300000",
    "keyed: keyed a | SEARCH_TOKEN=s-1 | X=1 NEEDS environment variable UNSET_KEY, which Goose keeps in a keyring",
    'off: off | allow one OFF "enabled" is false',
    '! ~/.config/goose/config.yaml:3:14: extensions.developer: is a part of its client ("builtin") and no server; it is left out',
  ],
  jan: ["web: http https://jan.example/mcp", 'placeholder: npx x OFF "active" is false'],
  kilo: ["l: l | in .", "k: k"],
  kiro: ["k: k eu | in . | deny x"],
  "lm-studio": ["l: auto https://lm.example/mcp"],
  mcporter: [
    "line: python server.py --x | in .",
    "list: npx -y l | N=1 | B=true | in .",
    'web: auto https://porter.example/mcp | A=eu | Authorization=Bearer s-1 | oauth {"clientId":"c","callbackPort":8765} | allow  | deny x',
  ],
  opencode: [
    "one: npx -y one | T=s-1 | deny write* | start 7000",
    'two: auto https://two.example/mcp | K=k-1 | oauth "off"',
    'servers: servers OFF "enabled" is false',
    'toggled: t OFF "enabled" is false in ./opencode.json',
    'toolless: u OFF "tools" has "toolless_*" in ~/.config/opencode/opencode.jsonc',
    'sleeping: s OFF "enabled" is false',
  ],
  "opencode-2": [
    'one: one OFF "disabled" is true',
    'two: auto https://two.example/mcp | oauth {"clientId":"c"} | start 3000 | call 9000',
  ],
  qwen: [
    "on-sse: sse https://qwen.example/sse",
    "on-http: http https://qwen.example/mcp",
    'else: q | in . OFF "allowed" does not list it in ./.qwen/settings.json',
  ],
  roo: [
    "one line: npx -y 'roo server' --x | in .",
    'off: http https://roo.example/mcp OFF "disabled" is true',
    "some: c | in . | deny rm | call 60000",
    '! ./.roo/mcp.json:3:13: mcpServers.both: expected "command" or "url", found both',
  ],
  vibe: ["listed: http https://vibe.example/mcp"],
  vscode: [
    'org/asks: c | KEY=${input:key} | N=5 | in . NEEDS an answer to the prompt "Your API key"',
    "file: c | A=1 | B=entry | C=x y | D= | in .",
    'no-file: c | in . NEEDS file ./nowhere.env, which "envFile" names',
    "web: auto https://vscode.example/mcp | K=s-1",
    'editor: c ${command:pick} project | in . NEEDS a value of "${command:pick}" that only the editor knows',
    "inside: d | in .",
    "profile: p",
    "old: old",
    '! ./.vscode/mcp.json:8:13: servers.pipe: expected an address that begins with http:// or https://, found one with "unix:"',
  ],
  templates: [
    `made: '{{ .Command }}' a NEEDS the template "{{ .Command }}" to be filled in`,
    "format: docker ps --format '{{json .}}'",
    'site: auto https://{% host %}/mcp NEEDS the template "{% host %}" to be filled in',
  ],
  warp: ["loose: l ${UNSET_KEY} | in . NEEDS environment variable UNSET_KEY", "bare: w | in /srv"],
  windsurf: [
    "w: auto https://wind.example/mcp | K=s-1 | deny x",
    'f: f ${file:/no/such/file} OFF "disabled" is true',
  ],
  zed: [
    "old: old a | X=1",
    "new: new ${HOME} | call 30000",
    "web: auto https://zed.example/mcp",
    "! ~/.config/zed/settings.json:7:18: context_servers.extension: is an extension of its client, which alone can start it; it is left out",
  ],
};

test.each(Object.entries(EXPECTED))("reads the files of %s", async (client, expected) => {
  machine.copy(client);

  const { servers, problems } = await machine.discover({ SEARCH_TOKEN: "s-1", REGION: "eu" });

  const faults = problems.map(({ where, message }) => `! ${machine.strip(`${where}: ${message}`)}`);
  expect([...servers.map((server) => machine.render(server)), ...faults]).toEqual([...expected]);
});

test("has an expectation for every home", () => {
  const homes = readdirSync(join(import.meta.dir, "../fixtures/homes/clients"));

  expect(homes.sort()).toEqual(Object.keys(EXPECTED).sort());
});

/** One server, in the shape of each kind of file. */
const SHAPES = {
  mcpServers: (name: string) => ({ mcpServers: { [name]: { command: "x" } } }),
  servers: (name: string) => ({ servers: { [name]: { command: "x" } } }),
  settings: (name: string) => ({ mcp: { servers: { [name]: { command: "x" } } } }),
  workspace: (name: string) => ({ settings: { mcp: { servers: { [name]: { command: "x" } } } } }),
  mcp: (name: string) => ({ mcp: { [name]: { type: "local", command: ["x"] } } }),
  zed: (name: string) => ({ context_servers: { [name]: { command: "x" } } }),
  amp: (name: string) => ({ "amp.mcpServers": { [name]: { command: "x" } } }),
  underscore: (name: string) => ({ mcp_servers: { [name]: { command: "x" } } }),
  toml: (name: string) => `[mcp_servers."${name}"]\ncommand = "x"\n`,
  continue: (name: string) => `mcpServers:\n  - name: "${name}"\n    command: x\n`,
  goose: (name: string) => `extensions:\n  "${name}":\n    type: stdio\n    cmd: x\n    args: []\n`,
  hermes: (name: string) => `mcp_servers:\n  "${name}":\n    command: x\n`,
  crushrc: (name: string) => `mcp add '${name}' --type stdio --command x\n`,
} as const;

const EVERYWHERE: Readonly<Record<string, keyof typeof SHAPES>> = {
  "home/.claude.json": "mcpServers",
  "home/.cursor/mcp.json": "mcpServers",
  "home/.codeium/windsurf/mcp_config.json": "mcpServers",
  "home/.codeium/mcp_config.json": "mcpServers",
  "home/.config/devin/mcp_config.json": "mcpServers",
  "home/.copilot/mcp-config.json": "mcpServers",
  "home/.codex/config.toml": "toml",
  "home/.gemini/settings.json": "mcpServers",
  "home/.gemini/config/mcp_config.json": "mcpServers",
  "home/.gemini/antigravity/mcp_config.json": "mcpServers",
  "home/.qwen/settings.json": "mcpServers",
  "home/.config/opencode/opencode.json": "mcp",
  "home/.config/opencode/opencode.jsonc": "mcp",
  "home/.cline/data/settings/cline_mcp_settings.json": "mcpServers",
  "home/.config/kilo/kilo.jsonc": "mcp",
  "home/.kilocode/cli/global/settings/mcp_settings.json": "mcpServers",
  "home/.continue/config.yaml": "continue",
  "home/.continue/mcpServers/a.yaml": "continue",
  "home/.continue/mcpServers/b.json": "mcpServers",
  "home/.aws/amazonq/mcp.json": "mcpServers",
  "home/.aws/amazonq/cli-agents/a.json": "mcpServers",
  "home/.aws/amazonq/agents/default.json": "mcpServers",
  "home/.kiro/settings/mcp.json": "mcpServers",
  "home/.kiro/agents/a.json": "mcpServers",
  "home/.config/amp/settings.json": "amp",
  "home/.warp/.mcp.json": "underscore",
  "home/.lmstudio/mcp.json": "mcpServers",
  "home/.junie/mcp/mcp.json": "mcpServers",
  "home/.ai/mcp/mcp.json": "mcpServers",
  "home/.factory/mcp.json": "mcpServers",
  "home/.config/crush/crush.json": "mcp",
  "home/.config/crush/crushrc": "crushrc",
  "home/.mcporter/mcporter.json": "mcpServers",
  "home/.config/mcp/servers/a.json": "mcpServers",
  "home/.augment/settings.json": "mcpServers",
  "home/.rovodev/mcp.json": "mcpServers",
  "home/.grok/config.toml": "toml",
  "home/.vibe/config.toml": "toml",
  "home/.config/muse/settings.json": "underscore",
  "home/.hermes/config.yaml": "hermes",
  "home/.kimi-code/mcp.json": "mcpServers",
  "home/.pi/agent/mcp.json": "mcpServers",
  "home/.deepagents/.mcp.json": "mcpServers",
  "home/.config/nanocoder/.mcp.json": "mcpServers",
  "home/.mux/mcp.jsonc": "servers",
  "home/.codeartsdoer/codearts_cli.jsonc": "mcp",
  "home/.abacusai/mcp.json": "mcpServers",
  "home/MCPs/a.json": "mcpServers",
  "home/MCPs/b.toml": "toml",
  "project/.mcp.json": "mcpServers",
  "project/.cursor/mcp.json": "mcpServers",
  "project/.devin/mcp_config.json": "mcpServers",
  "project/.devin/mcp_config.local.json": "mcpServers",
  "project/.vscode/mcp.json": "servers",
  "project/.vscode/settings.json": "settings",
  "project/x.code-workspace": "workspace",
  "project/.github/mcp.json": "mcpServers",
  "project/.codex/config.toml": "toml",
  "project/.gemini/settings.json": "mcpServers",
  "project/.agents/mcp_config.json": "mcpServers",
  "project/.qwen/settings.json": "mcpServers",
  "project/opencode.json": "mcp",
  "project/.opencode/opencode.jsonc": "mcp",
  "project/.zed/settings.json": "zed",
  "project/.roo/mcp.json": "mcpServers",
  "project/kilo.json": "mcp",
  "project/.kilo/kilo.jsonc": "mcp",
  "project/.kilocode/mcp.json": "mcpServers",
  "project/.continue/config.yaml": "continue",
  "project/.continue/mcpServers/a.yaml": "continue",
  "project/.amazonq/mcp.json": "mcpServers",
  "project/.amazonq/cli-agents/a.json": "mcpServers",
  "project/.kiro/settings/mcp.json": "mcpServers",
  "project/.kiro/agents/a.json": "mcpServers",
  "project/.amp/settings.jsonc": "amp",
  "project/.warp/.mcp.json": "servers",
  "project/.junie/mcp/mcp.json": "mcpServers",
  "project/.ai/mcp/mcp.json": "mcpServers",
  "project/.factory/mcp.json": "mcpServers",
  "project/.crush.json": "mcp",
  "project/crush.json": "mcp",
  "project/.crushrc": "crushrc",
  "project/config/mcporter.json": "mcpServers",
  "project/mcp-servers/a.json": "mcpServers",
  "project/mcp.json": "mcpServers",
  "project/.augment/settings.local.json": "mcpServers",
  "project/.codegeex/mcp.json": "mcpServers",
};
const MAC = "home/Library/Application Support";
const ROAMING = "home/AppData/Roaming";

const ONLY_ON: Readonly<Record<"linux" | "darwin" | "win32", Readonly<Record<string, keyof typeof SHAPES>>>> =
  {
    linux: {
      "home/.config/Claude/claude_desktop_config.json": "mcpServers",
      "home/.config/Code/User/mcp.json": "servers",
      "home/.config/Code - Insiders/User/mcp.json": "servers",
      "home/.config/VSCodium/User/profiles/a/mcp.json": "servers",
      "home/.config/Code/User/settings.json": "settings",
      "home/.config/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json":
        "mcpServers",
      "home/.config/github-copilot/intellij/mcp.json": "servers",
      "home/.config/zed/settings.json": "zed",
      "home/.config/goose/config.yaml": "goose",
      "home/.local/share/Jan/data/mcp_config.json": "mcpServers",
    },
    darwin: {
      [`${MAC}/Claude/claude_desktop_config.json`]: "mcpServers",
      [`${MAC}/Code/User/mcp.json`]: "servers",
      [`${MAC}/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json`]: "mcpServers",
      [`${MAC}/Jan/data/mcp_config.json`]: "mcpServers",
      [`${MAC}/Factory Bridge/mcp.json`]: "mcpServers",
      "home/.config/github-copilot/intellij/mcp.json": "servers",
      "home/.config/zed/settings.json": "zed",
      "home/.config/goose/config.yaml": "goose",
    },
    win32: {
      [`${ROAMING}/Claude/claude_desktop_config.json`]: "mcpServers",
      "home/AppData/Local/Packages/Claude_abc/LocalCache/Roaming/Claude/claude_desktop_config.json":
        "mcpServers",
      [`${ROAMING}/Code/User/mcp.json`]: "servers",
      [`${ROAMING}/Code - Insiders/User/profiles/a/mcp.json`]: "servers",
      [`${ROAMING}/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json`]:
        "mcpServers",
      [`${ROAMING}/Zed/settings.json`]: "zed",
      [`${ROAMING}/Block/goose/config/config.yaml`]: "goose",
      [`${ROAMING}/Jan/data/mcp_config.json`]: "mcpServers",
      [`${ROAMING}/Factory Bridge/mcp.json`]: "mcpServers",
      "home/AppData/Local/github-copilot/intellij/mcp.json": "servers",
    },
  };

test.each(["linux", "darwin", "win32"] as const)("finds the file of every client on %s", async (platform) => {
  const files = { ...EVERYWHERE, ...ONLY_ON[platform] };
  for (const [path, shape] of Object.entries(files)) machine.write(path, SHAPES[shape](`of ${path}`));

  const { servers, problems } = await machine.discover({}, { platform });

  const found = servers.flatMap(({ origins }) =>
    origins.map(({ key, file, scope }) => [key, machine.strip(file), scope]),
  );
  const wanted = Object.keys(files).map((path) => [
    `of ${path}`,
    path.replace(/^home/, "~").replace(/^project/, "."),
    path.startsWith("home") ? "user" : "project",
  ]);
  expect(problems).toEqual([]);
  expect(found.sort()).toEqual(wanted.sort());
});

test.each([
  ["CLAUDE_CONFIG_DIR", "moved/.claude.json", "mcpServers"],
  ["CODEX_HOME", "moved/config.toml", "toml"],
  ["COPILOT_HOME", "moved/mcp-config.json", "mcpServers"],
  ["XDG_CONFIG_HOME", "moved/zed/settings.json", "zed"],
  ["XDG_DATA_HOME", "moved/Jan/data/mcp_config.json", "mcpServers"],
  ["JAN_DATA_FOLDER", "moved/mcp_config.json", "mcpServers"],
  ["OPENCODE_CONFIG_DIR", "moved/opencode.json", "mcp"],
  ["CLINE_DIR", "moved/data/settings/cline_mcp_settings.json", "mcpServers"],
  ["CLINE_DATA_DIR", "moved/settings/cline_mcp_settings.json", "mcpServers"],
  ["CRUSH_GLOBAL_CONFIG", "moved/crush.json", "mcp"],
] as const)("follows %s", async (variable, path, shape) => {
  const file = machine.write(path, SHAPES[shape]("moved"));

  const { servers } = await machine.discover({ [variable]: join(machine.root, "moved") });

  expect(servers.map(({ name, origins }) => [name, origins[0].file])).toEqual([["moved", file]]);
});

test.each([
  ["OPENCODE_CONFIG", "x.json", "mcp"],
  ["MCPORTER_CONFIG", "x.json", "mcpServers"],
  ["CLINE_MCP_SETTINGS_PATH", "x.json", "mcpServers"],
  ["GEMINI_CLI_SYSTEM_SETTINGS_PATH", "x.json", "mcpServers"],
] as const)("reads the file that %s names", async (variable, path, shape) => {
  const file = machine.write(path, SHAPES[shape]("named"));

  const { servers } = await machine.discover({ [variable]: file });

  expect(servers.map(({ name }) => name)).toEqual(["named"]);
});

test.each([
  ["home/.lmstudio/mcp.json", "home/.cache/lm-studio/mcp.json"],
  [
    "home/.cline/data/settings/cline_mcp_settings.json",
    "home/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
  ],
])("leaves alone what an older version left beside %s", async (current, old) => {
  machine.write(current, SHAPES.mcpServers("current"));
  machine.write(old, SHAPES.mcpServers("old"));

  expect((await machine.discover()).servers.map(({ name }) => name)).toEqual(["current"]);
});
