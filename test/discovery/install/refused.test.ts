import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { applyChanges } from "../../../src/discovery/install/apply.ts";
import { InstallRig } from "./rig.ts";

const isRoot = process.geteuid?.() === 0;

let rig: InstallRig;
beforeEach(() => {
  rig = new InstallRig();
});
afterEach(() => rig.close());

describe("a file that cannot be changed safely is refused and stays as it is:", () => {
  test.each([
    [
      "broken",
      "cursor",
      ".cursor/mcp.json",
      '{"mcpServers": {"a": }}',
      '"~/.cursor/mcp.json:1:22" is not valid JSON',
    ],
    ["broken TOML", "codex", ".codex/config.toml", "a = \n", '"~/.codex/config.toml:1:5" is not valid TOML'],
    ["a template", "cursor", ".cursor/mcp.json", "{{ servers }}", "it looks like a template"],
    ["no object", "cursor", ".cursor/mcp.json", "[]", "is no object in braces"],
    [
      "servers in a list",
      "cursor",
      ".cursor/mcp.json",
      '{"mcpServers": []}',
      'has "mcpServers", which is no object',
    ],
    ["no braces", "cursor", ".cursor/mcp.json", '"mcpServers": {}', "cannot be changed: expected JSON"],
    [
      "a key twice",
      "cursor",
      ".cursor/mcp.json",
      '{"mcpServers": {"a": {}}, "mcpServers": {}}',
      'has "mcpServers" more than once',
    ],
    [
      "a server twice",
      "cursor",
      ".cursor/mcp.json",
      '{"mcpServers": {"a": {}, "a": {}}}',
      'has "mcpServers.a" more than once',
    ],
    [
      "an inline table",
      "codex",
      ".codex/config.toml",
      'mcp_servers = { a = { command = "x" } }\n',
      "cannot be changed without touching the rest",
    ],
    ["deep nesting", "cursor", ".cursor/mcp.json", `{"a": ${"[".repeat(200_000)}`, "is not valid JSON"],
  ])("%s", async (_what, id, path, text, message) => {
    const file = rig.machine.write(`home/${path}`, text);

    const { code, message: said } = await rig.refusal(rig.install(id));
    expect(code).toBe("CONFIG_INVALID");
    expect(said).toContain(message);
    expect(readFileSync(file, "utf8")).toBe(text);
    expect(existsSync(`${file}.sandpy-backup`)).toBe(false);
  });

  test("too large, or not UTF-8", async () => {
    rig.machine.write("home/.cursor/mcp.json", " ".repeat(9 * 1024 ** 2));
    expect((await rig.refusal(rig.install("cursor"))).message).toContain(
      "has 9437184 bytes, more than the 8388608 that are read",
    );
    const file = join(rig.machine.home, ".cursor/mcp.json");
    writeFileSync(file, Buffer.from([0xff, 0xfe, 0x7b, 0, 0x7d, 0]));
    expect((await rig.refusal(rig.install("cursor"))).message).toContain("is not UTF-8 text");
  });

  test("read-only, also to root", async () => {
    const file = rig.machine.write("home/.cursor/mcp.json", "{}");
    chmodSync(file, 0o444);
    expect((await rig.refusal(rig.install("cursor"))).message).toBe('"~/.cursor/mcp.json" is read-only');
  });

  test("a link that leads nowhere, and a folder in its place", async () => {
    mkdirSync(join(rig.machine.home, ".cursor"));
    symlinkSync("/nowhere/mcp.json", join(rig.machine.home, ".cursor/mcp.json"));
    expect((await rig.refusal(rig.install("cursor"))).message).toContain("is a link that leads nowhere");
    mkdirSync(join(rig.machine.home, ".gemini/settings.json"), { recursive: true });
    expect((await rig.refusal(rig.install("gemini"))).message).toContain("is not a file");
  });

  test.if(isRoot)("somebody else's", async () => {
    const file = rig.machine.write("home/.cursor/mcp.json", "{}");
    chownSync(file, 12_345, 12_345);
    expect((await rig.refusal(rig.install("cursor"))).message).toBe(
      '"~/.cursor/mcp.json" belongs to another user',
    );
    mkdirSync(join(rig.machine.home, ".codex"));
    chownSync(join(rig.machine.home, ".codex"), 12_345, 12_345);
    expect((await rig.refusal(rig.install("codex"))).message).toContain('"~/.codex" belongs to another user');
  });

  test("changed by another program meanwhile", async () => {
    const file = rig.machine.write("home/.cursor/mcp.json", "{}");
    const { changes } = await rig.prepare("cursor");
    writeFileSync(file, '{"new": 1}');

    expect((await rig.refusal(applyChanges(changes))).message).toContain(
      "was changed by another program meanwhile",
    );
    expect(readFileSync(file, "utf8")).toBe('{"new": 1}');
  });
});
