// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables as files write them
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { patient } from "../helpers/patient.ts";
import { Machine } from "./helpers.ts";

let machine: Machine;
beforeEach(() => {
  machine = new Machine();
  machine.write("home/MCPs/good.json", { good: { command: "x" } });
});
afterEach(() => rmSync(machine.root, { recursive: true }));

describe("a file that is not as it should be leaves the others alone", () => {
  const bomb = Array.from(
    { length: 9 },
    (_, level) => `a${level + 1}: &a${level + 1} [${`*a${level},`.repeat(9)}]`,
  );
  test.each([
    ["home/.cursor/mcp.json", "[".repeat(200_000), /nested too deeply/],
    ["home/.cursor/mcp.json", `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)} // x`, /nested too deeply/],
    ["home/.cursor/mcp.json", "\0\0", /not valid JSON/],
    ["home/.cursor/mcp.json", '{"mcpServers": {{{ servers }}}}', /looks like a template/],
    ["home/.codex/config.toml", "[mcp_servers.a]\ncommand = x\n", /not valid TOML/],
    ["home/.codex/config.toml", `a = ${"[".repeat(100_000)}`, /not valid TOML/],
    ["home/.codex/config.toml", "{% if x %}\n[a]\n{% endif %}\n", /looks like a template/],
    ["home/.config/goose/config.yaml", "extensions: [a\nb: {", /not valid YAML/],
    ["home/.config/goose/config.yaml", `a0: &a0 [x]\n${bomb.join("\n")}\n`, /not valid YAML/],
    ["home/.config/goose/config.yaml", "[".repeat(20_000), /not valid YAML/],
    ["home/.config/goose/config.yaml", `a: ${"x".repeat(1024 ** 2)}`, /expected at most 1048576/],
  ])("%s: %#", async (path, text, message) => {
    const file = machine.write(path, text);

    const { servers, problems } = await machine.discover();

    expect(servers.map(({ name }) => name)).toEqual(["good"]);
    expect(problems.map(({ where }) => where.replace(/(:\d+){2}$/, ""))).toEqual([file]);
    expect(problems[0]?.message).toMatch(message);
  });

  test.each([
    ["home/.claude.json", "null"],
    ["home/.claude.json", '"text"'],
    ["home/.claude.json", '{"projects": [1], "mcpServers": null}'],
    ["home/.gemini/settings.json", '{"mcp": {"allowed": "x", "excluded": {}}, "mcpServers": {}}'],
    ["home/.config/opencode/opencode.json", '{"mcp": {"servers": {}}, "tools": []}'],
    ["home/.config/goose/config.yaml", "- 1\n"],
    ["home/.config/goose/config.yaml", "# nothing\n"],
    ["home/.codex/config.toml", "mcp_servers_off = 1\nbig = 9223372036854775807\nat = 1979-05-27\n"],
  ])("%s may have other shapes: %s", async (path, text) => {
    machine.write(path, text);

    const { servers, problems } = await machine.discover();

    expect([servers.map(({ name }) => name), problems]).toEqual([["good"], []]);
  });
});

test.each([
  ["UTF-8 with a mark", (text: string) => Buffer.from(`\uFEFF${text}`)],
  ["UTF-16 of PowerShell", (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le")],
  ["lines of Windows", (text: string) => Buffer.from(text.replaceAll("\n", "\r\n"))],
])("a file in %s is read", async (_what, encode) => {
  const file = machine.write("home/.cursor/mcp.json", "");
  writeFileSync(file, encode('{\n  // ü\n  "mcpServers": { "高": { "command": "é" } }\n}\n'));
  const toml = machine.write("home/.codex/config.toml", "");
  writeFileSync(toml, encode('# ü\n[mcp_servers.t]\ncommand = "t"\n'));
  const yaml = machine.write("home/.config/goose/config.yaml", "");
  writeFileSync(yaml, encode("# ü\nextensions:\n  y:\n    type: stdio\n    cmd: y\n"));

  const { servers, problems } = await machine.discover();

  expect(problems).toEqual([]);
  expect(servers.map((server) => machine.render(server))).toEqual(["good: x", "t: t", "y: y", "高: é"]);
});

test("names of JavaScript's own are names like others", async () => {
  machine.write(
    "home/.cursor/mcp.json",
    '{ /* comment */ "mcpServers": {"__proto__": {"command": "p"}, "constructor": {"command": "c", "env": {"toString": "y"}}} }',
  );
  machine.write("home/.codex/config.toml", '[mcp_servers.__proto__]\ncommand = "t"\n');

  const { servers } = await machine.discover();

  expect(servers.map((server) => machine.render(server))).toEqual([
    "good: x",
    "__proto__: t",
    "__proto__@cursor: p",
    "constructor: c | toString=y",
  ]);
  expect(({} as Record<string, unknown>)["command"]).toBeUndefined();
});

test("secrets of a broken file are not quoted", async () => {
  machine.write("home/.cursor/mcp.json", '{"a": "1" "ghp_secretsecretsecret"}');
  machine.write("home/.codex/config.toml", 'a = "ghp_secretsecretsecret\nb = ghp_secretsecretsecret\n');
  machine.write(
    "home/.config/goose/config.yaml",
    'a: \'ghp_secretsecretsecret\nb: ]\n"ghp_secretsecretsecret" x: [',
  );
  machine.write("home/.codeium/mcp_config.json", {
    a: { url: "ghp_secretsecretsecret" },
    b: { command: "x 'ghp_secret" },
  });

  const { problems } = await machine.discover();

  expect(problems).toHaveLength(5);
  expect(JSON.stringify(problems)).not.toContain("ghp_s");
});

test("the faults of one file are counted, not listed without end", async () => {
  machine.write("home/.cursor/mcp.json", {
    mcpServers: Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`s${index}`, index])),
  });

  const { problems } = await machine.discover();

  expect(problems).toHaveLength(101);
  expect(problems.at(-1)?.message).toBe("has more faults, which are not listed");
});

test("at most 10,000 servers and 500 files of a folder are read", async () => {
  const many = (prefix: string) =>
    Object.fromEntries(
      Array.from({ length: 6000 }, (_, index) => [
        `${prefix}${index}`,
        { command: "npx", args: [`${prefix}${index}`] },
      ]),
    );
  machine.write("home/.cursor/mcp.json", { mcpServers: many("a") });
  machine.write("home/.codeium/mcp_config.json", { mcpServers: many("b") });
  for (let index = 0; index < 600; index++)
    machine.write(`home/MCPs/f${String(index).padStart(3, "0")}.json`, "");

  const { servers, problems } = await machine.discover();

  expect(servers).toHaveLength(10_000);
  expect(problems.map(({ where, message }) => `${machine.strip(where)} ${message}`)).toEqual([
    "~/MCPs has too many files: only the first 500 are read",
    "~/.codeium/mcp_config.json has servers beyond the 10000 that are read; they are left out",
  ]);
});

test("a project with very many servers leaves room for the user's", async () => {
  machine.write(
    "project/.mcp.json",
    Object.fromEntries(Array.from({ length: 12_000 }, (_, index) => [`p${index}`, { command: `p${index}` }])),
  );
  machine.write("home/.cursor/mcp.json", { mcpServers: { own: { command: "own" } } });

  const { servers, problems } = await machine.discover();

  expect(servers).toHaveLength(2002);
  expect(servers.map(({ name }) => name)).toContain("own");
  expect(problems.map(({ message }) => message)).toEqual([
    "has servers beyond the 2000 that are read; they are left out",
  ]);
});

test("a project with very large files leaves room for the user's", async () => {
  for (let index = 0; index < 12; index++) {
    machine.write(`project/mcp-servers/${index}.json`, `{"a": {"command": "${"x".repeat(7 * 1024 ** 2)}"}}`);
  }

  const { servers, problems } = await machine.discover();

  expect(servers.map(({ name }) => name)).toContain("good");
  expect(problems.filter(({ message }) => message.includes("too large together"))).toHaveLength(3);
});

describe("a file that is made to take long does not", () => {
  const LONG = 60_000; // twice as long is as long as a text may be
  const one = (entry: Readonly<Record<string, unknown>>) => ({ mcpServers: { s: entry } });
  const named = (count: number, entry: (index: number) => unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, entry(index)]));

  test.each<[string, string, unknown]>([
    ["a text that no program can be given", "home/MCPs/a.json", one({ command: "x".repeat(7 * 1024 ** 2) })],
    ["a long name", "home/MCPs/a.json", { mcpServers: { ["n".repeat(7 * 1024 ** 2)]: { command: "x" } } }],
    ["spaces in a variable", "home/MCPs/a.json", one({ command: "x", args: [`\${{${" ".repeat(LONG)}`] })],
    ["braces without end", "home/MCPs/a.json", one({ command: "x", args: [`\${${"{}".repeat(LONG)}`] })],
    ["a variable without end", "home/MCPs/a.json", one({ command: "x", args: [`\${${"a".repeat(LONG)}`] })],
    ["openings of variables", "home/MCPs/a.json", one({ command: "x", args: ["${".repeat(LONG)] })],
    ["openings of templates", "home/MCPs/a.json", one({ command: "{{".repeat(LONG) })],
    ["signs in a command line", "home/MCPs/a.json", one({ command: `x ${"$".repeat(LONG)}` })],
    ["words in a command line", "home/MCPs/a.json", one({ command: `./x ${"y ".repeat(LONG)}` })],
    ["slashes in a URL", "home/MCPs/a.json", one({ url: `https://a.example${"/".repeat(LONG)}x` })],
    ["slashes in a folder", "home/.claude.json", { projects: { [`${"/".repeat(LONG)}x`]: {} } }],
    ["files in an argument", "home/MCPs/a.json", one({ command: "x", args: ["{file:no}".repeat(14_000)] })],
    [
      "many files",
      "home/MCPs/a.json",
      one({ command: "x", args: Array.from({ length: 50_000 }, (_, i) => `{file:${i}}`) }),
    ],
    ["large values", "home/MCPs/a.json", one({ command: "x", args: ["${LARGE}".repeat(16_000)] })],
    [
      "large values in defaults",
      "home/MCPs/a.json",
      one({ command: "x", args: ["${NO:-${LARGE}}".repeat(8000)] }),
    ],
    [
      "servers that are alike",
      "home/.cursor/mcp.json",
      { mcpServers: named(5000, () => ({ command: "x" })) },
    ],
    [
      "one name in a list",
      "project/mcp-servers/a.json",
      Array.from({ length: 10_000 }, (_, index) => ({ name: "s", command: `x${index}` })),
    ],
    [
      "switches of one name",
      "project/.cursor/mcp.json",
      {
        mcpServers: Array.from({ length: 20_000 }, (_, i) =>
          i % 2 ? { name: "s", enabled: false } : { name: "s", command: `${i}` },
        ),
      },
    ],
    [
      "patterns of tools",
      "home/.config/opencode/opencode.json",
      {
        mcp: named(5000, () => ({ command: ["x"] })),
        tools: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`s${i}_x`, false])),
      },
    ],
    [
      "globs of servers",
      "home/.gemini/settings.json",
      {
        mcp: { excluded: Array.from({ length: 50_000 }, (_, index) => `${"*a".repeat(20)}${index}`) },
        mcpServers: named(5000, () => ({ command: "x" })),
      },
    ],
  ])("%s", async (_what, path, content) => {
    machine.write(path, content);
    const start = performance.now();

    const { servers, problems } = await machine.discover({ LARGE: "x".repeat(10_000) });

    expect(servers.map(({ name }) => name)).toContain("good");
    expect(JSON.stringify(problems).length).toBeLessThan(100_000);
    expect(JSON.stringify(servers).length).toBeLessThan(64 * 1024 ** 2);
    expect(performance.now() - start).toBeLessThan(patient(4000));
  });
});

test.skipIf(process.getuid?.() === 0)("a file that may not be read is said", async () => {
  const file = machine.write("home/.cursor/mcp.json", "{}");
  chmodSync(file, 0);

  const { problems } = await machine.discover();

  expect(problems).toEqual([{ where: file, message: "cannot be read: permission denied" }]);
});

test("no command of a file is run while it is read", async () => {
  const witness = join(machine.root, "ran");
  const command = `touch '${witness}'`;
  machine.write("home/.claude.json", {
    mcpServers: { a: { type: "http", url: "https://a.example", headersHelper: command } },
  });
  machine.write("project/crush.json", {
    mcp: { b: { type: "stdio", command: "x", env: { A: `$(${command})` } } },
  });
  writeFileSync(
    join(machine.project, ".crushrc"),
    `${command}\nmcp add c --type stdio --command "$(${command})"\n`,
  );
  machine.write("home/MCPs/line.json", { d: { command: `x && ${command}` } });

  const { servers } = await machine.discover();

  expect(servers.map(({ name, availability: { kind } }) => [name, kind]).sort()).toEqual([
    ["a", "needs"],
    ["b", "needs"],
    ["c", "needs"],
    ["d", "needs"],
    ["good", "usable"],
  ]);
  expect(await Bun.file(witness).exists()).toBe(false);
});
