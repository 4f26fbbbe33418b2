import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSelfJudge } from "../../../src/discovery/judges/self.ts";
import type { ServerDefinition } from "../../../src/discovery/server-definition.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "sandpy-self-"));
  mkdirSync(join(root, "bin"));
  writeFileSync(join(root, "program"), "");
  symlinkSync(join(root, "program"), join(root, "bin/py"));
  linkSync(join(root, "program"), join(root, "bin/hard"));
  writeFileSync(join(root, "bin/other"), "");
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function define(words: readonly string[]): ServerDefinition {
  const [command = "", ...args] = words.map((word) => word.replace("ROOT", root));
  return {
    name: "x",
    alias: "x",
    description: "",
    transport: { kind: "stdio", command, args, env: {}, cwd: undefined },
    availability: { kind: "usable" },
    tools: { allow: undefined, deny: [] },
    startMs: undefined,
    callMs: undefined,
    origins: [{ client: "sandpy", scope: "user", file: "/f.json", key: "x" }],
    fingerprint: "",
    sources: [],
    pin: "",
  };
}

const judge = (words: readonly string[]) =>
  createSelfJudge({ selfPath: join(root, "program"), searchPath: join(root, "bin") })(define(words));

describe("the bridge recognises itself", () => {
  test.each([
    [["sandpy"]],
    [["/opt/any/Sandpy.exe"]],
    [["C:\\Tools\\sandpy.EXE", "serve"]],
    [["py"]],
    [["hard"]],
    [["ROOT/bin/py", "serve"]],
    [["ROOT/bin/../program"]],
    [["npx", "-y", "sandpy"]],
    [["npx", "-y", "sandpy@latest"]],
    [["npx.cmd", "--yes", "@scope/sandpy@1.2.3", "serve"]],
    [["bunx", "sandpy"]],
    [["npm", "exec", "--", "sandpy"]],
    [["pnpm", "dlx", "sandpy"]],
    [["cmd", "/c", "npx", "-y", "sandpy"]],
    [["env", "A=b", "sandpy", "serve"]],
    [["timeout", "-k", "5", "60s", "ROOT/bin/py"]],
    [["bash", "-lc", "exec py serve"]],
    [["sh", "-c", "A=b sandpy"]],
    [["sudo", "nice", "-n", "5", "sandpy"]],
  ])("in %j", async (words) => {
    expect(await judge(words)).toEqual({ kind: "self" });
  });

  test.each([
    [["other"]],
    [["missing"]],
    [["npx", "-y", "@scope/server", "sandpy"]],
    [["npx", "-y", "sandpy-notes"]],
    [["node", "server.js", "--name", "sandpy"]],
    [["bash", "-c", "echo sandpy"]],
    [["bash"]],
    [["npx"]],
    [["server", "ROOT/program"]],
  ])("and nobody else, in %j", async (words) => {
    expect(await judge(words)).toBeUndefined();
  });
});
