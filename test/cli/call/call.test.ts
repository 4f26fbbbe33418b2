import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliWorld } from "../../helpers/cli-world.ts";
import { until } from "../../helpers/until.ts";
import { createJournal, livingWith } from "../../upstream/harness.ts";

const SCRIPTED = join(import.meta.dir, "../../fixtures/servers/scripted-server.ts");
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-call-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function define(script: object): void {
  mkdirSync(join(home, "MCPs"), { recursive: true });
  const fx = { command: process.execPath, args: [SCRIPTED, JSON.stringify(script)] };
  writeFileSync(join(home, "MCPs/all.json"), JSON.stringify({ mcpServers: { fx } }));
}

function createWorld(env: Readonly<Record<string, string>> = {}): CliWorld {
  const world = new CliWorld();
  Object.assign(world.env, { HOME: home, PATH: process.env["PATH"] ?? "", ...env });
  return world;
}

const raw = (result: object) => ({ result: JSON.stringify(result) });
const block = (text: string) => ({ type: "text", text });

describe("sandpy call", () => {
  test("prints the text of the result, and stops the server", async () => {
    using journal = createJournal();
    const tools = { hi: raw({ content: [block("one"), block("two\n")] }) };
    define({ journal: journal.path, tools });
    expect(await createWorld().run("call", "fx", "hi")).toEqual({
      code: 0,
      stdout: "one\ntwo\n",
      stderr: "",
    });
    await until("the server is gone", () => livingWith(journal.path).length === 0);
  });

  test("prints structured content where there is no text, and the whole result with --json", async () => {
    define({ tools: { get: {} } });
    const { stdout } = await createWorld().run("call", "fx", "get", '{"id": 12345678901234567890}', "--json");
    expect(stdout).toContain('"id": 12345678901234567890');
    define({ tools: { get: raw({ content: [], structuredContent: { a: [1] } }) } });
    expect((await createWorld().run("call", "fx", "get")).stdout).toBe(
      `${JSON.stringify({ a: [1] }, undefined, 2)}\n`,
    );
  });

  test("says of images that they are not shown, and writes them with --save", async () => {
    const image = { type: "image", data: btoa("picture"), mimeType: "image/../../png" };
    const file = { type: "resource", resource: { uri: "file:///etc/x", blob: btoa("bytes") } };
    const link = { type: "resource_link", uri: "https://example.org/a", name: "a" };
    define({ tools: { draw: raw({ content: [image, file, link, { type: "new", x: 1 }] }) } });

    expect(await createWorld().run("call", "fx", "draw")).toEqual({
      code: 0,
      stdout: 'https://example.org/a\n{"type":"new","x":1}\n',
      stderr:
        "sandpy: not shown: an image (image/../../png, 7 bytes); --save=<folder> writes it\n" +
        "sandpy: not shown: a file file:///etc/x (application/octet-stream, 5 bytes); --save=<folder> writes it\n",
    });

    const folder = join(home, "new/folder");
    const { code, stdout, stderr } = await createWorld().run("call", "fx", "draw", "--save", folder);
    expect([code, stderr]).toEqual([0, ""]);
    const paths = stdout.trimEnd().split("\n").slice(2);
    expect(paths.map((path) => readFileSync(path, "utf8"))).toEqual(["picture", "bytes"]);
    expect(readdirSync(folder).length).toBe(2);
  });

  test.each([
    ["an error of the tool", ["fx", "bad"], 6, 'tool "bad" of server "fx" reported an error:\nno luck\n'],
    ["a tool that is not there", ["fx", "nope"], 6, "For its tools, type: sandpy tools fx\n"],
    ["a server that is not there", ["nope", "bad"], 6, 'no server is called "nope"'],
    ["too slow a tool", ["fx", "mute", "--timeout", "1"], 6, "took longer than 1 s\n"],
    ["a timeout that is none", ["fx", "bad", "--timeout", "x"], 2, '--timeout is "x"'],
    ["no tool", ["fx"], 2, "TOOL is missing"],
  ])("says %s on stderr", async (_title, words, code, message) => {
    define({ tools: { bad: raw({ isError: true, content: [block("no luck")] }), mute: { mute: true } } });
    const ended = await createWorld().run("call", ...words);
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
    expect(ended.stderr).toContain(message);
  });

  test("says of a server that never answered that nothing was called", async () => {
    define({ mute: ["initialize"] });
    const { code, stderr } = await createWorld().run("call", "fx", "hi", "--timeout", "1");
    expect(code).toBe(6);
    expect(stderr).toStartWith('sandpy: the start of server "fx" took longer than 1 s\nNothing was called. ');
  });

  test("names the arguments of a tool that refused others", async () => {
    const inputSchema = { type: "object", properties: { path: {}, head: {} }, required: ["path"] };
    const refused = raw({ isError: true, content: [block("Invalid input")] });
    define({ tools: { open: { ...refused, inputSchema } } });
    const said = async (...words: string[]) =>
      (await createWorld().run("call", "fx", "open", ...words)).stderr;
    const none = 'Invalid input\nIts arguments are path, [head]; missing: "path"';
    expect(await said()).toContain(`${none}.\n`);
    expect(await said("file=x")).toContain(`${none}; not known: "file".\n`);
    expect(await said("path=x")).toEndWith("Invalid input\n");
  });

  test("gives the result of an error with --json, and its exit code", async () => {
    define({ tools: { bad: raw({ isError: true, content: [] }) } });
    const { code, stdout } = await createWorld().run("call", "fx", "bad", "--json");
    expect([code, JSON.parse(stdout)]).toEqual([6, { isError: true, content: [] }]);
  });

  test("ends with 130 at Ctrl-C", async () => {
    using journal = createJournal();
    define({ journal: journal.path, tools: { mute: { mute: true } } });
    const world = createWorld();
    const ended = world.run("call", "fx", "mute");
    await until("the call is made", () => journal.lines().some((line) => line.includes("tools/call")));
    await world.signal("SIGINT");
    expect(await ended).toEqual({ code: 130, stdout: "", stderr: "" });
  });
});

describe("a call that needs approval", () => {
  const env = { MCP_BRIDGE_ASK: "*" };

  test("is refused where nobody can be asked", async () => {
    define({ tools: { wipe: raw({ content: [block("wiped")] }) } });
    const { code, stdout, stderr } = await createWorld(env).run("call", "fx", "wipe");
    expect([code, stdout]).toEqual([6, ""]);
    expect(stderr).toEndWith("Call it at a terminal, where you can be asked, or change that rule.\n");
  });

  test.each([
    ["1\n", 0, "wiped\n"],
    ["deny\n", 6, ""],
    ["7\n\n", 6, ""],
  ])("is asked about at a terminal; %j ends with %d", async (typed, code, printed) => {
    define({ tools: { wipe: raw({ content: [block("wiped")] }) } });
    const world = createWorld(env);
    world.stdinIsTerminal = true;
    const ended = world.run("call", "fx", "wipe", "path=/x");
    world.stdin.write(typed);
    const { code: real, stdout, stderr } = await ended;
    expect([real, stdout]).toEqual([code, printed]);
    expect(stderr).toContain('wants to call the tool "wipe" of the server "fx"');
    expect(stderr).toContain('{"path":"/x"}');
    expect(stderr).toContain("  1. Allow this call\n");
  });

  test("asks what a server wants to know", async () => {
    const requestedSchema = {
      type: "object",
      properties: {
        name: { type: "string", title: "Your \u001b[31mname" },
        age: { type: "integer" },
        ok: { type: "boolean", description: "Sure?" },
        pets: { type: "array", items: { type: "string", enum: ["cat", "dog"] } },
        note: { type: "string" },
      },
      required: ["name", "ok"],
    };
    const asks = { method: "elicitation/create", params: { message: "Who?", requestedSchema } };
    define({ tools: { form: { asks } } });
    const world = createWorld();
    world.stdinIsTerminal = true;
    const ended = world.run("call", "fx", "form", "--json");
    world.stdin.write("Ann\nold\n7\ny\n1,2\n\n");
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout).structuredContent.result).toMatchObject({
      action: "accept",
      content: { name: "Ann", age: 7, ok: true, pets: ["cat", "dog"] },
    });
    expect(stderr).not.toContain("\u001b");
    expect(stderr).toContain("age [integer; may be left out]: That is none of what can be answered here.\n");
  });
});
