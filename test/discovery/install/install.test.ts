import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { parse as parseJson } from "jsonc-parser";
import { discover } from "../../../src/discovery/discover.ts";
import { findOwnCommand } from "../../../src/discovery/install/own-command.ts";
import { TARGETS } from "../../../src/discovery/install/targets.ts";
import { GOLDEN } from "./golden.ts";
import { InstallRig, PROGRAM } from "./rig.ts";

let rig: InstallRig;
beforeEach(() => {
  rig = new InstallRig();
});
afterEach(() => rig.close());

const parse = (text: string) => parseJson(text.replace("\uFEFF", ""));

describe("the file of each client", () => {
  test.each(GOLDEN)("%s gets our entry and loses it again", async (id, path, before, after) => {
    const file = rig.machine.write(`home/${path}`, before);
    chmodSync(file, 0o640);

    expect((await rig.install(id)).plan).toMatchObject({ action: "add", found: { file, isPresent: true } });
    expect(readFileSync(file, "utf8")).toBe(after);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(readFileSync(`${file}.sandpy-backup`, "utf8")).toBe(before);
    expect(statSync(`${file}.sandpy-backup`).mode & 0o777).toBe(0o640);

    const again = await rig.install(id);
    expect([again.plan.action, again.changes, readFileSync(file, "utf8")]).toEqual(["none", [], after]);

    const { servers } = await discover(rig.config);
    const own = servers.find(({ name }) => name === "sandpy");
    expect([own?.availability.kind, own?.origins[0].file]).toEqual(["self", file]);

    expect((await rig.uninstall(id)).plan.action).toBe("remove");
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(existsSync(`${file}.sandpy-backup`)).toBe(false);
    expect((await rig.uninstall(id)).changes).toEqual([]);
  });

  test.each(GOLDEN)("%s keeps what somebody has changed since", async (id, path, before) => {
    const file = rig.machine.write(`home/${path}`, before);
    await rig.install(id);
    writeFileSync(file, `${readFileSync(file, "utf8")}\n\n`);

    await rig.uninstall(id);

    const left = readFileSync(file, "utf8");
    if (["claude-desktop", "vscode", "codex", "opencode", "zed"].includes(id))
      expect(left).toBe(`${before}\n\n`);
    // An object that has lost its last entry is empty, and nothing says that it was not there.
    else expect(parse(left)).toEqual({ ...parse(before), mcpServers: {} });
    expect(existsSync(`${file}.sandpy-backup`)).toBe(true);
  });

  test.each(TARGETS.map(({ id }) => id))("%s is made where there is none, and goes again", async (id) => {
    const { plan } = await rig.install(id);
    const { file } = plan.found;

    expect(plan.found.isPresent).toBe(false);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await discover(rig.config)).servers).toMatchObject([
      { name: "sandpy", availability: { kind: "self" } },
    ]);

    await rig.uninstall(id);
    expect(existsSync(file)).toBe(false);
  });

  test.each(TARGETS.filter(({ project }) => project !== undefined).map(({ id }) => id))(
    "%s has one in a project",
    async (id) => {
      const { plan } = await rig.install(id, { scope: "project" });

      expect(plan.found.file).toStartWith(rig.machine.project);
      expect(plan.note).toContain(`names "${PROGRAM}"`);
      const [own] = (await discover(rig.config)).servers;
      expect([own?.availability.kind, own?.origins[0].scope]).toEqual(["self", "project"]);
      await rig.uninstall(id, "project");
      expect(existsSync(plan.found.file)).toBe(false);
    },
  );

  test("says which clients have none in a project", async () => {
    expect(await rig.refusal(rig.target("windsurf", "project"))).toMatchObject({
      code: "USAGE",
      message: "Windsurf has no file for a project",
    });
    expect(await rig.refusal(rig.target("curser"))).toMatchObject({ hint: 'Did you mean "cursor"?' });
  });
});

test("gives back the bytes of any file, installed and uninstalled", async () => {
  const space = fc.constantFrom("", " ", "\n", "\r\n", "\t", "/* c */", "// l\n");
  const inner = fc.constantFrom(
    '"a": {"command": "x"}',
    '"b":{"url":"https://x"},',
    "",
    '"c": {"command": ["y"]}, // z\n',
  );
  const text = fc
    .tuple(space, space, inner, space, fc.boolean(), fc.boolean())
    .map(([a, b, servers, c, hasBom, isNested]) => {
      const body = isNested ? `{${a}"mcpServers"${b}: {${servers}${c}}${a}}` : `{${a}}`;
      return `${hasBom ? "\uFEFF" : ""}${b}${body}${c}`;
    });
  await fc.assert(
    fc.asyncProperty(text, async (before) => {
      const file = rig.machine.write("home/.cursor/mcp.json", before);
      await rig.install("cursor");
      expect(readFileSync(file, "utf8")).not.toBe(before);
      await rig.uninstall("cursor");
      expect(readFileSync(file, "utf8")).toBe(before);
    }),
    { numRuns: 150 },
  );
});

describe("an entry that is there", () => {
  const write = (entry: unknown) =>
    rig.machine.write("home/.cursor/mcp.json", JSON.stringify({ mcpServers: entry }, undefined, 2));

  test("gets the path of this program, and keeps the rest", async () => {
    const entry = {
      command: "/old/place/sandpy",
      args: ["serve", "--read-only"],
      env: { MCP_BRIDGE_PIDS: "9" },
    };
    const file = write({ sandpy: entry });

    expect((await rig.install("cursor")).plan.action).toBe("update");
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      mcpServers: { sandpy: { ...entry, command: PROGRAM } },
    });
    const toml = rig.machine.write(
      "home/.codex/config.toml",
      '[mcp_servers.sandpy]\ncommand = "/old/sandpy" # x\nargs = []\n',
    );
    await rig.install("codex");
    expect(readFileSync(toml, "utf8")).toBe(`[mcp_servers.sandpy]\ncommand = "${PROGRAM}" # x\nargs = []\n`);
  });

  test.each([
    ["under another name", { python: { command: "/x/sandpy" } }, 'is there already, as "python"'],
    [
      "that is switched off",
      { sandpy: { command: "/opt/tools/sandpy", disabled: true } },
      'is there already, but switched off: "disabled" is true',
    ],
    ["through a runner", { sandpy: { command: "npx", args: ["sandpy"] } }, 'starts it by "npx" already'],
  ])("%s is enough", async (_how, entry, note) => {
    write(entry);

    expect((await rig.install("cursor")).plan).toMatchObject({ action: "none", note });
    expect((await rig.uninstall("cursor")).plan.action).toBe("python" in entry ? "none" : "remove");
  });

  test("does not mind names that mean something to JavaScript", async () => {
    const text =
      '{\n  "mcpServers": {\n    "__proto__": { "command": "x" },\n    "constructor": { "command": "y" }\n  }\n}\n';
    const file = rig.machine.write("home/.cursor/mcp.json", text);

    await rig.install("cursor", { move: true });
    expect(Object.keys(JSON.parse(readFileSync(file, "utf8")).mcpServers)).toContain("sandpy");
    await rig.uninstall("cursor");
    const names = (await discover(rig.config)).servers.map(({ name }) => name);
    expect(names.sort()).toEqual(["__proto__", "constructor"]);
  });

  test("stays where it starts something else", async () => {
    const file = write({ sandpy: { command: "/x/other" } });
    const before = readFileSync(file, "utf8");

    expect((await rig.refusal(rig.install("cursor"))).message).toBe(
      '"~/.cursor/mcp.json" has a server "sandpy" already, which starts something else',
    );
    expect((await rig.uninstall("cursor")).plan.note).toBe(
      'the server "sandpy" there starts something else; it stays',
    );
    expect(readFileSync(file, "utf8")).toBe(before);
  });
});

test("follows the link of a dotfile, and does not replace it", async () => {
  const real = rig.machine.write("dotfiles/mcp.json", "{}\n");
  mkdirSync(join(rig.machine.home, ".cursor"));
  const link = join(rig.machine.home, ".cursor/mcp.json");
  symlinkSync(real, link);

  await rig.install("cursor");

  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(real, "utf8")).toContain(PROGRAM);
  await rig.uninstall("cursor");
  expect([lstatSync(link).isSymbolicLink(), readFileSync(real, "utf8")]).toEqual([true, "{}\n"]);
});

describe("the program that clients start", () => {
  test("is the path that the PATH leads to, and its name for those that a shell starts", async () => {
    const real = rig.machine.write("cellar/1.0/sandpy", "x");
    mkdirSync(join(rig.machine.root, "bin"));
    const link = join(rig.machine.root, "bin/sandpy");
    symlinkSync(real, link);

    expect(await findOwnCommand(real, `/nowhere:${dirname(link)}`, undefined)).toEqual({
      forTerminals: "sandpy",
      forDesktops: link,
    });
    expect(await findOwnCommand(real, `/nowhere`, undefined)).toEqual({
      forTerminals: real,
      forDesktops: real,
    });
    const other = rig.machine.write("other/sandpy", "y");
    expect(await findOwnCommand(real, dirname(other), undefined)).toEqual({
      forTerminals: real,
      forDesktops: real,
    });
  });

  test("has to be named when it runs from source, and has to be there", async () => {
    expect(await rig.refusal(findOwnCommand(undefined, "", undefined))).toMatchObject({ code: "USAGE" });
    expect(await rig.refusal(findOwnCommand(undefined, "", "/nowhere/sandpy"))).toMatchObject({
      code: "USAGE",
    });
    expect(await findOwnCommand(undefined, "", "sandpy")).toEqual({
      forTerminals: "sandpy",
      forDesktops: "sandpy",
    });
  });
});
