import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { LOCAL_CALLER } from "../../../src/core/caller.ts";
import { ProjectFiles } from "../../../src/memory/projects/project-files.ts";
import { CallerRoot } from "../../../src/memory/root.ts";

test("has a state that changes whenever the file of saved tools does", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandpy-projects-"));
  try {
    const root = new CallerRoot(folder, LOCAL_CALLER);
    const files = new ProjectFiles(root);
    const states = [await files.state()];
    mkdirSync(dirname(root.toolsFile), { recursive: true });
    for (const text of ["a", "b", "c"]) {
      writeFileSync(`${root.toolsFile}.new`, text);
      renameSync(`${root.toolsFile}.new`, root.toolsFile);
      states.push(await files.state());
    }
    expect(states[0]).toBe("");
    expect(new Set(states).size).toBe(4);
    expect(await files.state()).toBe(states[3] ?? "");
    rmSync(root.toolsFile);
    expect(await files.state()).toBe("");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
