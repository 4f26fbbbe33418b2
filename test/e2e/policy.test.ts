/** What the user's settings forbid is refused outside the sandbox, and what was called is written down. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBridge } from "./helpers/client.ts";
import { command } from "./helpers/command.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { npmServer } from "./helpers/npm-servers.ts";

const TOKEN = "tok-4f9a8b7c6d5e";

let home: TestHome;
let notes: string;
let config: Readonly<Record<string, string>>;
beforeEach(() => {
  home = createHome();
  config = {};
  notes = home.write("notes/a.txt", "one\n");
  home.defineServers({
    "file-system": { ...npmServer("filesystem", join(home.path, "notes")), env: { API_TOKEN: TOKEN } },
    everything: npmServer("everything"),
  });
});
afterEach(() => home[Symbol.dispose]());

const auditFile = () => join(home.path, ".local/share/sandpy/audit.jsonl");

function audited(file = auditFile()): readonly Readonly<Record<string, unknown>>[] {
  return readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Runs a program of which one statement fails, and returns what that says. */
async function failureOf(statement: string, ...flags: string[]): Promise<string> {
  const code = `try:\n    ${statement}\nexcept runtime.MCPError as e:\n    print(e.kind, e, sep="|")`;
  const servers = flags.includes("--servers") ? [] : ["--servers", "file-system,everything"];
  const { stdout, stderr } = await command(["run", home.write("job.py", code), ...servers, ...flags], {
    home,
    env: config,
  });
  return stdout.trimEnd() || stderr;
}

const CONFIG = "~/.config/sandpy/config.jsonc";

/** Settings of the user's; they are named, since on some engines our own folders are not below the home. */
function configure(settings: object): void {
  config = {
    MCP_BRIDGE_CONFIG: home.write(".config/sandpy/config.jsonc", `// mine\n${JSON.stringify(settings)}`),
  };
}

describe("a call that the settings refuse", () => {
  test.each<[string, readonly string[], object]>([
    ["a flag", ["--deny-tool", "no*", "--deny-tool", "file*/write_*"], {}],
    ["the file", [], { policy: { tools: { deny: ["file*/write_*"] } } }],
  ])("by %s raises in Python and names the rule", async (_title, flags, settings) => {
    configure(settings);
    const where = flags.length > 0 ? "--deny-tool" : `policy.tools.deny in ${CONFIG}`;

    for (const statement of [
      "await runtime.call_tool('file-system', 'write_file', {'path': 'x', 'content': 'y'})",
      "await runtime.call_tool('file_system', 'write_file', {'path': 'x', 'content': 'y'})",
    ]) {
      expect(await failureOf(statement, ...flags)).toBe(
        `denied|file-system.write_file: tool "write_file" of server "file-system" may not be used: "file*/write_*" of ${where} forbids it (Only the user can allow it, by changing ${where}.)`,
      );
    }
    expect(
      await failureOf("print([t['name'] for t in await runtime.list_tools('file-system')])", ...flags),
    ).not.toContain("write_file");
  });

  test("of a tool that writes is refused where only reading is allowed", async () => {
    const flag = "--read-only";
    expect(
      await failureOf(
        `print((await mcp_file_system.read_text_file(path=${JSON.stringify(notes)})).text)`,
        flag,
      ),
    ).toBe("one");
    expect(
      await failureOf(
        "await runtime.call_tool('file-system', 'write_file', {'path': 'x', 'content': 'y'})",
        flag,
      ),
    ).toContain("may not be used: --read-only is on for tools that only read");
    expect(await failureOf("await mcp_file_system.write_file(path='x', content='y')", flag)).toContain(
      'denied|tool "write_file" of server "file-system" may not be used: --read-only is on',
    );
    expect(existsSync(join(home.path, "notes/x"))).toBe(false);
  });

  test("to a server that is forbidden says so, and so does the list", async () => {
    configure({ policy: { servers: { allow: ["every*"] } } });
    const rule = `policy.servers.allow in ${CONFIG}, which does not name it`;

    expect(await failureOf("await runtime.list_tools('file-system')", "--servers", "everything")).toBe(
      `denied|file-system: server "file-system" is forbidden by ${rule} (Use another server.)`,
    );
    expect(await failureOf("print(runtime.discovered_servers())", "--servers", "everything")).toBe(
      "['everything']",
    );
    const { stdout } = await command(["servers", "--json"], { home, env: config });
    expect(JSON.parse(stdout).servers).toMatchObject([
      { name: "file-system", state: "forbidden", reason: `is forbidden by ${rule}` },
      { name: "everything", state: "usable" },
    ]);
  });

  test("beyond the limit of a run raises, and the next run may call again", async () => {
    await using bridge = await startBridge({ home, args: ["serve", "--max-calls", "5"] });
    const code =
      "import asyncio\nfound = await asyncio.gather(*(mcp_everything.echo(message=str(n)) for n in range(400)), return_exceptions=True)\n" +
      "failed = [e for e in found if isinstance(e, runtime.MCPError)]\nprint(len(found) - len(failed), {e.kind for e in failed})\nprint(failed[0])";
    for (let run = 0; run < 2; run++) {
      const { text } = await bridge.python(code);
      expect(text).toContain(
        "5 {'limit'}\neverything.echo: this run has made 5 calls to servers, as many as --max-calls allows (Make fewer, or the others in another run, or ask the user to raise --max-calls.)",
      );
    }
  });
});

describe("what was called", () => {
  const program = `
print((await mcp_file_system.read_text_file(path=${JSON.stringify("PATH")})).text)
try:
    await mcp_file_system.read_text_file(path="/${TOKEN}")
except runtime.MCPError as e:
    print(e.kind)`;

  async function run(env = {}, ...flags: string[]) {
    const file = home.write("job.py", program.replace('"PATH"', JSON.stringify(notes)));
    const { stdout, stderr } = await command(["run", file, "--servers", "file-system", ...flags], {
      home,
      env: { MCP_BRIDGE_LOG_LEVEL: "WARNING", ...env },
    });
    expect(stdout).toBe("one\n\ntool\n");
    return stderr;
  }

  test("is written down, for the user alone, without arguments or secrets", async () => {
    await run();
    await run();

    const lines = audited();
    expect(lines).toMatchObject(
      [1, 2].flatMap(() => [
        { server: "file-system", tool: "read_text_file", outcome: "ok" },
        { server: "file-system", tool: "read_text_file", outcome: "error" },
      ]),
    );
    expect(lines[0]?.["argumentsHash"]).toBe(lines[2]?.["argumentsHash"] as string);
    expect(lines[0]?.["session"]).not.toBe(lines[2]?.["session"] as string);
    const text = readFileSync(auditFile(), "utf8");
    for (const hidden of [TOKEN, "a.txt"]) expect(text).not.toContain(hidden);
    expect(statSync(auditFile()).mode & 0o777).toBe(0o600);
  });

  test("has the arguments without secrets where that is asked for", async () => {
    await run({ MCP_BRIDGE_AUDIT_ARGUMENTS: "masked", MCP_BRIDGE_AUDIT: join(home.path, "calls.jsonl") });
    const lines = audited(join(home.path, "calls.jsonl"));
    expect(lines.map((line) => line["arguments"])).toEqual([{ path: notes }, { path: "/***" }]);
    expect(existsSync(auditFile())).toBe(false);
  });

  test("is written nowhere where it is switched off", async () => {
    await run({}, "--no-audit");
    await run({ MCP_BRIDGE_AUDIT: "0" });
    expect(existsSync(auditFile())).toBe(false);
  });

  test("makes room when the file is full", async () => {
    mkdirSync(join(home.path, ".local/share/sandpy"), { recursive: true });
    writeFileSync(auditFile(), `${"x".repeat(10 * 1024 ** 2 - 10)}\n`);
    await run();
    expect(audited().length).toBe(2);
    expect(statSync(`${auditFile()}.1`).size).toBe(10 * 1024 ** 2 - 9);
  });

  test("does not stop calls where it cannot be written, and that is said once", async () => {
    mkdirSync(join(home.path, ".local/share"), { recursive: true });
    writeFileSync(
      join(home.path, ".local/share/sandpy"),
      "in the way, as on a file system that is read-only",
    );
    const stderr = await run();
    expect(stderr.match(/calls of tools cannot be written down/g)?.length).toBe(1);
  });
});

test("a configuration file that is wrong stops the start, with every place", async () => {
  configure({ policy: { tools: { denny: ["x"] } }, pids: "many", audit: 1 });
  const { code, stderr } = await command(["run", home.write("job.py", "print(1)")], { home, env: config });
  expect([code, stderr]).toEqual([
    3,
    `sandpy: ${CONFIG}:2:21: unknown key "policy.tools.denny": did you mean "policy.tools.deny"?\n` +
      `${CONFIG}:2:44: pids is "many": expected a whole number of processes from 3 to 4194304\n` +
      `${CONFIG}:2:51: "audit" is 1: expected file, arguments in "{" and "}"\nCorrect the file, or move it away.`,
  ]);
  const named = await command(["run", "job.py", "--config", "other.jsonc"], { home });
  expect([named.code, named.stderr]).toEqual([
    3,
    `sandpy: the configuration file ${JSON.stringify(join(home.path, "other.jsonc"))} does not exist\n` +
      "Correct that, or name another file with MCP_BRIDGE_CONFIG, or /dev/null for none.",
  ]);
});
