import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bringIn } from "../../../src/cli/run/bring-in.ts";
import { JobInputs } from "../../../src/cli/run/job-inputs.ts";
import { WorkspaceFiles } from "../../../src/kernel/workspace-files.ts";
import { CliWorld } from "../../helpers/cli-world.ts";

const folder = mkdtempSync(join(tmpdir(), "sandpy-faults-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a program that is a link to itself is refused in words, not with an error of Node", async () => {
  const file = join(folder, "loop.py");
  symlinkSync("loop.py", file);
  const { code, stderr } = await new CliWorld().run("run", file);
  expect([code, stderr]).toEqual([
    2,
    `sandpy: ${JSON.stringify(file)} cannot be read: it is a symbolic link, which is not followed\n` +
      'Give the path of a Python file, or "-" for stdin.\n',
  ]);
});

test("a file that went before it was copied in is told in words", async () => {
  const inputs = new JobInputs();
  const source = join(folder, "gone");
  inputs.addFile({ source, path: "gone", bytes: 1 });
  const workspace = new WorkspaceFiles({ ask: async () => ({ value: {} }) });
  await expect(bringIn(inputs, workspace, new AbortController().signal)).rejects.toMatchObject({
    code: "FILES_FAILED",
    message: `${JSON.stringify(source)} could not be copied in: there is no such file or folder`,
  });
});

test("a summary for GitHub that cannot be written is told in words", async () => {
  const world = new CliWorld();
  writeFileSync(join(folder, "job.py"), "");
  Object.assign(world.env, { GITHUB_ACTIONS: "true", GITHUB_STEP_SUMMARY: join(folder, "no", "summary.md") });
  const { code, stderr } = await world.run("run", join(folder, "job.py"));
  expect([code, stderr]).toEqual([
    0,
    "sandpy: the summary could not be written: there is no such file or folder\n",
  ]);
});
