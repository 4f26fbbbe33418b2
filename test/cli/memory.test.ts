import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliWorld } from "../helpers/cli-world.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-cli-memory-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function createWorld(stdin = ""): CliWorld {
  const world = new CliWorld();
  Object.assign(world.env, { HOME: home });
  world.stdin.end(stdin);
  return world;
}

const run = (...words: string[]) => createWorld().run("memory", ...words);
const memories = () => join(home, "MCPs/user_tools/memory");

function write(name: string, text: string): string {
  mkdirSync(memories(), { recursive: true });
  writeFileSync(join(memories(), name), text);
  return join(memories(), name);
}

test("sandpy memory tools says where there is none yet, and prints nothing that is no source", async () => {
  const none = "No tool is saved yet. Python saves a function with save_tool(function).\n";
  expect(await run("tools", "list")).toEqual({ code: 0, stdout: none, stderr: "" });
  expect(await run("tools", "show")).toEqual({ code: 0, stdout: "", stderr: `sandpy: ${none}` });
});

describe("sandpy memory", () => {
  test("keeps, shows and deletes a value with all its digits, also of keys that look like flags", async () => {
    const value = '{"a": [1.10, 12345678901234567890]}';
    expect((await run("list")).stdout).toStartWith("Nothing is kept yet.");
    expect(await run("set", "k", value)).toEqual({ code: 0, stdout: 'Saved "k".\n', stderr: "" });
    expect((await run("set", "k", value)).stdout).toBe('Replaced "k".\n');
    expect((await run("show", "k")).stdout).toBe(`${value}\n`);
    expect((await run("set", "--", "-rf", "-5")).code).toBe(0);
    expect((await run("show", "--", "-rf")).stdout).toBe("-5\n");
    expect(await createWorld("[1]").run("memory", "set", "s", "-")).toMatchObject({ code: 0 });
    expect(
      JSON.parse((await run("list", "--json")).stdout).memories.map(({ key }: { key: string }) => key),
    ).toEqual(["-rf", "k", "s"]);
    expect((await run("delete", "k", "s")).stdout).toBe('Deleted "k", "s".\n');
    expect((await run("path")).stdout).toBe(`${memories()}\n`);
  });

  test.each([
    [["show", "nam"], 7, 'there is no memory "nam"\nDid you mean "name"?'],
    [["delete", "name", "other"], 7, 'there is no memory "other"'],
    [["delete"], 2, "KEY is missing"],
    [["set", "k", "text"], 2, 'VALUE is "text": expected JSON'],
    [["set", "k", "NaN"], 2, 'VALUE is "NaN": expected JSON'],
    [["set", "", "1"], 7, 'the key is ""'],
    [["nope"], 2, 'unknown command "nope"'],
    [["import", "/nowhere"], 2, '"/nowhere" cannot be read (ENOENT)'],
  ])("%j is refused, and changes nothing", async (words, code, message) => {
    await run("set", "name", "1");
    const answer = await run(...words);
    expect([answer.code, answer.stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(JSON.parse((await run("list", "--json")).stdout).memories).toHaveLength(1);
  });

  test("asks at a terminal before it deletes", async () => {
    await run("set", "k", "1");
    for (const [answer, code] of [
      ["n\n", 1],
      ["y\n", 0],
    ] as const) {
      const world = createWorld(answer);
      world.stdinIsTerminal = true;
      expect((await world.run("memory", "delete", "k")).code).toBe(code);
    }
    expect((await run("list")).stdout).toStartWith("Nothing is kept yet.");
  });

  test("says in JSON what was set, imported and deleted", async () => {
    const parsed = async (...args: string[]) => JSON.parse((await run(...args, "--json")).stdout) as unknown;
    expect(await parsed("set", "n", "1")).toEqual({ key: "n", replaced: false });
    expect(await parsed("set", "n", "2")).toEqual({ key: "n", replaced: true });
    const file = join(home, "all.json");
    await run("export", file);
    expect(await parsed("delete", "n", "--yes")).toEqual({ deleted: ["n"] });
    expect(await parsed("import", file)).toEqual({ created: 1, replaced: 0 });
    expect((await run("show", "n")).stdout).toContain("2");
  });

  test("exports what another home imports: values, times, metadata and fields that it does not know", async () => {
    const old = {
      key: "ü/1",
      value: { n: [1] },
      metadata: { by: "x" },
      created_at: 1.5,
      updated_at: 2.25,
      more: [true],
    };
    write("_1.json", JSON.stringify(old));
    await run("set", "k", "1");
    const file = join(home, "all.json");
    expect((await run("export", file)).stdout).toBe(`Wrote 2 memories to ${JSON.stringify(file)}.\n`);
    expect((await run("export")).stdout).toBe(readFileSync(file, "utf8"));
    await run("delete", "ü/1");
    await run("set", "k", "2");
    expect((await run("import", file)).stdout).toBe("Imported 2 memories: 1 new, 1 replaced.\n");
    const again = JSON.parse((await run("export")).stdout);
    expect(again.find(({ key }: { key: string }) => key === "ü/1")).toEqual(old);
    expect((await run("show", "k")).stdout).toBe("1\n");
  });

  test.each([
    ["[", "1: this is not a JSON array"],
    ["{", "1: [0] is not a JSON object"],
    ['[{"key": "a", "value": 1},\n\n {"value": 1}]', '3: [1] has no "key" that is text'],
    ['[{"key": "a", "value": 1},\n{"key": "a", "value": 2}]', "2: [1]: has the same key as [0]"],
    ['[{"key": "a", "value": 1},\n{"key": "", "value": 2}]', '2: [1]: the key is ""'],
    ['[{"key": "a", "value": 1, "metadata": 3}]', '1: [0]: the metadata of "a" is not a JSON object'],
    ["[1]", "1: [0] is not a JSON object"],
  ])("imports nothing of %j", async (text, message) => {
    const file = join(home, "in.json");
    writeFileSync(file, text);
    const answer = await run("import", file);
    expect([answer.code, answer.stderr]).toEqual([7, expect.stringContaining(`${file}:${message}`)]);
    expect((await run("list")).stdout).toStartWith("Nothing is kept yet.");
  });

  test("imports all or nothing where there is no room for all", async () => {
    await run("set", "a", '"old"');
    const entries = ["a", "b", "c"].map((key) => ({ key, value: "x".repeat(2000) }));
    const world = createWorld(JSON.stringify(entries));
    Object.assign(world.env, { MCP_BRIDGE_PROJECTS_QUOTA: "5k" });
    const answer = await world.run("memory", "import", "-");
    expect([answer.code, answer.stderr]).toEqual([7, expect.stringContaining('saving the memory "c" needs')]);
    expect((await run("show", "a")).stdout).toBe('"old"\n');
    expect(JSON.parse((await run("list", "--json")).stdout).memories).toHaveLength(1);
  });

  test("names what lies among the memories and is none, and shows the others", async () => {
    write("broken.json", "{");
    await run("set", "k", "1");
    const answer = await run("list");
    expect(answer.stdout).toContain("k    ");
    expect(answer.stderr).toBe(`sandpy: ${join(memories(), "broken.json")} is not a JSON object\n`);
  });
});
