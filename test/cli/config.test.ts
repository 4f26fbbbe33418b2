import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliWorld } from "../helpers/cli-world.ts";

let home: string;
let world: CliWorld;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-config-cli-"));
  world = new CliWorld();
  Object.assign(world.env, { HOME: home });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(text: string): void {
  mkdirSync(join(home, ".config/sandpy"), { recursive: true });
  writeFileSync(join(home, ".config/sandpy/config.jsonc"), text);
}

test("lists every setting with its value and who set it", async () => {
  write('{ "image": "python:3.13" }');
  Object.assign(world.env, { MCP_BRIDGE_PIDS: "9", MCP_BRIDGE_PIDDS: "8" });

  const { code, stdout, stderr } = await world.run("config", "--port", "0");

  expect(code).toBe(0);
  expect(stdout).toMatch(/^SETTING +VALUE +FROM\n/);
  expect(stdout).toMatch(/^image +python:3\.13 +~\/\.config\/sandpy\/config\.jsonc:1:12$/m);
  expect(stdout).toMatch(/^pids +9 +MCP_BRIDGE_PIDS$/m);
  expect(stdout).toMatch(/^http\.port +0 +--port$/m);
  expect(stdout).toMatch(/^timeout +30 +default$/m);
  expect(stderr).toBe(
    "sandpy: MCP_BRIDGE_PIDDS is no setting and is ignored; did you mean MCP_BRIDGE_PIDS?\n",
  );
});

test("prints the same as JSON", async () => {
  const { stdout } = await world.run("config", "--json");

  expect(JSON.parse(stdout)).toMatchObject({
    file: null,
    unknown: [],
    settings: { length: expect.any(Number) },
  });
});

test.each([
  ["image", "python:3.14-slim\n"],
  ["MCP_BRIDGE_PIDS", "128\n"],
  ["policy.tools.deny", "[]\n"],
  ["cpus", "null\n"],
])("prints %s alone", async (key, stdout) => {
  expect(await world.run("config", "get", key)).toEqual({ code: 0, stdout, stderr: "" });
});

test("says which setting was meant", async () => {
  expect(await world.run("config", "get", "polcy.tools.deny")).toEqual({
    code: 2,
    stdout: "",
    stderr: 'sandpy: no setting is called "polcy.tools.deny"\nDid you mean "policy.tools.deny"?\n',
  });
});

test("fails where the file has a fault, with its place, and still says where the file is", async () => {
  write('{\n  "policy": { "tools": { "dney": [] } }\n}');

  const { code, stderr } = await world.run("config");
  expect(code).toBe(3);
  expect(stderr).toContain(
    '~/.config/sandpy/config.jsonc:2:26: unknown key "policy.tools.dney": did you mean',
  );
  expect((await new CliWorldIn(home).run("config", "path")).stdout).toBe(
    `${join(home, ".config/sandpy/config.jsonc")}\n`,
  );
});

test("writes a file to begin with, once", async () => {
  const path = join(home, "mine.jsonc");
  const first = await world.run("config", "init", "--config", path);
  const text = readFileSync(path, "utf8");
  const second = await new CliWorldIn(home).run("config", "init", "--config", path);

  expect(first).toEqual({ code: 0, stdout: `${path}\n`, stderr: "" });
  expect(existsSync(join(home, "config.schema.json"))).toBe(true);
  expect(second.code).toBe(2);
  expect(readFileSync(path, "utf8")).toBe(text);
  expect((await new CliWorldIn(home).run("config", "--config", path)).code).toBe(0);
});

test("prints the schema", async () => {
  const { stdout } = await world.run("config", "schema");

  expect(JSON.parse(stdout)).toEqual(
    JSON.parse(readFileSync(join(import.meta.dir, "../../docs/config.schema.json"), "utf8")),
  );
});

class CliWorldIn extends CliWorld {
  constructor(folder: string) {
    super();
    Object.assign(this.env, { HOME: folder });
  }
}
