import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandGuard } from "../../../../src/cli/run/github/command-guard.ts";
import { BridgeError } from "../../../../src/core/errors.ts";
import type { Outcome } from "../../../../src/session/outcome.ts";
import { CliWorld, OK } from "../../../helpers/cli-world.ts";

describe("text of a program", () => {
  test.each<[string, string]>([
    ["::error::x", "\\::error::x"],
    ["a\n::set-output name=x::y\n", "a\n\\::set-output name=x::y\n"],
    ["a\r::debug::x", "a\r\\::debug::x"],
    [" \t ::error::x", " \t \\::error::x"],
    ["\u200b::error::x", "\u200b\\::error::x"],
    ["x ##[error]y ###[group]z", "x ##\\[error]y ###\\[group]z"],
    ["a::b # [x] #[y] std::vector\n{'a':: 1}", "a::b # [x] #[y] std::vector\n{'a':: 1}"],
    [": one\n", "\\: one\n"],
    ["plain", "plain"],
  ])("%j becomes %j, also byte by byte", (text, expected) => {
    expect(new CommandGuard().pass("stdout", text)).toBe(expected);
    const guard = new CommandGuard();
    expect([...text].map((character) => guard.pass("stderr", character)).join("")).toBe(expected);
  });

  test("is no command either where a step joins both streams", () => {
    const pieces = [
      ["stderr", "abc"],
      ["stdout", "\n"],
      ["stderr", "::error::x\n"],
      ["stdout", ":"],
      ["stderr", ":add-mask::x\n#"],
      ["stdout", "#"],
      ["stderr", "[group]"],
    ] as const;
    const guard = new CommandGuard();
    const joined = pieces.map(([name, text]) => guard.pass(name, text)).join("");
    expect(joined).not.toMatch(/^\s*::|##\[/m);
  });
});

describe("a step", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "sandpy-step-"));
    writeFileSync(join(folder, "job.py"), "import helper");
    writeFileSync(join(folder, "helper.py"), "");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function step(outcome: Partial<Outcome>, ...more: string[]) {
    const world = new CliWorld();
    const summary = join(folder, "summary.md");
    Object.assign(world.env, {
      GITHUB_ACTIONS: "true",
      GITHUB_WORKSPACE: folder,
      GITHUB_STEP_SUMMARY: summary,
    });
    world.execute = async ({ onOutput }) => {
      await onOutput?.("stdout", "::add-mask::x\nno line end", 0);
      return { ...OK, ...outcome };
    };
    const result = await world.run("run", join(folder, "job.py"), ...more);
    return { ...result, summary: readFileSync(summary, "utf8") };
  }

  const traceback = [
    'File "/workspace/job.py", line 3, in <module>',
    'File "/workspace/helper.py", line 7, in f',
    'File "/etc/passwd", line 1, in f',
    'File "/workspace/../../etc/passwd", line 1',
    "Bad: 50%\n::error file=/x::forged",
  ].join("\n");
  const error = { ename: "Bad", evalue: "50%, a:b\n::error::x", traceback };

  test("shows an exception at the line of the program, and obeys nothing that it says", async () => {
    const { code, stdout, stderr, summary } = await step({ status: "error", error });
    expect([code, stdout]).toEqual([1, "\\::add-mask::x\nno line end"]);
    expect(stderr.split("\n").filter((line) => /^\s*::|##\[/.test(line))).toEqual([
      "::error file=helper.py,line=7,title=Bad::50%25, a:b%0A::error::x",
    ]);
    expect(summary).toContain("### ❌ sandpy run");
    expect(summary).toContain(`\`\`\`text\n${traceback}\n\`\`\``);
  });

  test("says which fault kept it from running", async () => {
    const world = new CliWorld();
    world.env["GITHUB_ACTIONS"] = "true";
    world.execute = async () => {
      throw new BridgeError("ENGINE_NOT_FOUND", "none", { hint: "Install one." });
    };
    const { code, stderr } = await world.run("run", "-c", "pass");
    expect([code, stderr]).toEqual([
      4,
      "::error title=sandpy%3A ENGINE_NOT_FOUND::none%0AInstall one.\nsandpy: none\nInstall one.\n",
    ]);
  });

  test("obeys nothing that a fault quotes of a server", async () => {
    const world = new CliWorld();
    world.env["GITHUB_ACTIONS"] = "true";
    world.execute = async () => {
      throw new BridgeError("UPSTREAM_FAILED", "fx said:\n::add-mask::x\u001b[2J", {
        hint: "a ##[group]b",
      });
    };
    const { code, stderr } = await world.run("run", "-c", "pass");
    expect(code).toBe(6);
    expect(stderr).toEndWith("\nsandpy: fx said:\n\\::add-mask::x\\u{1b}[2J\na ##\\[group]b\n");
    expect(stderr.split("\n").filter((line) => /^\s*::|##\[/.test(line))).toHaveLength(1);
  });

  test.each<[Partial<Outcome>, string]>([
    [{ status: "timeout" }, "::error title=sandpy run%3A timeout::the program was stopped after 30 s%0A"],
    [{ status: "exit", exitCode: 3 }, "::error title=sandpy run%3A exit::the program ended with exit code 3"],
  ])("says of %j why it failed", async (outcome, words) => {
    expect((await step(outcome)).stderr).toContain(words);
  });

  test("that succeeds has no annotation, and text of others is plain in its summary", async () => {
    const { stderr, summary } = await step(
      { notes: ["</table>\n````\n# <b>x</b>"], durationMs: 1234 },
      "--json",
    );
    expect(stderr).toBe("");
    expect(summary).toContain("### ✅ sandpy run");
    expect(summary).toContain("Status `ok`, exit code 0, 1.2 s.");
    expect(summary).toContain("`````text\n</table>\n````\n# <b>x</b>\n`````");
  });

  test("prints JSON that has no command in it", async () => {
    const { stdout } = await step({ stdout: { text: "##[error]x\n::error::y", dropped: 0 } }, "--json");
    expect(stdout).not.toMatch(/^\s*::|##\[/m);
    expect(JSON.parse(stdout).stdout).toBe("##[error]x\n::error::y");
  });
});
