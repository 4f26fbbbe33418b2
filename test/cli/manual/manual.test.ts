import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { flatten, loadNode } from "../../../src/cli/command-tree.ts";
import { root } from "../../../src/cli/root.ts";
import { SETTING_NAMES } from "../../../src/config/schema.ts";
import { EXIT_CODES } from "../../../src/core/errors.ts";
import { CliWorld } from "../../helpers/cli-world.ts";

const CLI_MD = join(import.meta.dir, "../../../docs/cli.md");

async function manual(format: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const world = new CliWorld();
  Object.assign(world.env, env);
  const { code, stdout, stderr } = await world.run("__manual", format);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

describe("docs/cli.md", () => {
  test("is what the commands declare; else type ./scripts/docs", async () => {
    expect(readFileSync(CLI_MD, "utf8")).toBe(await manual("markdown"));
  });

  test("has every command, flag and exit code", async () => {
    const text = await manual("markdown");
    for (const { path, args } of flatten(await loadNode(root, "sandpy"))) {
      if (path !== "sandpy") expect(text).toContain(`\n## ${path}\n`);
      for (const [name, arg] of Object.entries(args)) {
        if (arg.type !== "positional" && path !== "sandpy") expect(text).toContain(`--${name}`);
      }
    }
    for (const code of Object.values(EXIT_CODES)) expect(text).toMatch(new RegExp(`\n\\| ${code} +\\| \\S`));
  });
});

describe("the manual page", () => {
  test("has every command and setting, and the day of its source", async () => {
    const text = await manual("man", { SOURCE_DATE_EPOCH: "1750000000" });
    expect(text).toContain("\n.Dd June 15, 2025\n");
    for (const { path } of flatten(await loadNode(root, "sandpy")).slice(1)) {
      expect(text).toContain(`\n.Ss ${path}\n`);
    }
    for (const name of SETTING_NAMES) expect(text).toContain(`"\\&${name}"`);
  });

  test("is of today where nobody says when, and of no day that is none", async () => {
    expect(await manual("man")).toContain(`, ${new Date().getUTCFullYear()}\n`);
    const world = new CliWorld();
    world.env["SOURCE_DATE_EPOCH"] = "soon";
    expect((await world.run("__manual", "man")).code).toBe(2);
  });
});
