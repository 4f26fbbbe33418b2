import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { runChild } from "../../src/core/child.ts";

const LIB = resolve(import.meta.dir, "../../scripts/lib");
const home = mkdtempSync(join(tmpdir(), "sandpy-pythons-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** What stands for an interpreter: says these facts of itself, or fails as a shim without a version does. */
function writePython(path: string, facts: string | undefined): void {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, facts === undefined ? "#!/bin/sh\nexit 127\n" : `#!/bin/sh\necho "${facts}"\n`);
  chmodSync(file, 0o755);
}

test("finds one interpreter of each promised version, and names what is missing", async () => {
  // Versions that no machine has, so that this one's own are out of the way.
  writePython("bin/python3", "91 /default/python3.91");
  writePython("bin/python3.91", "91 /other/python3.91");
  writePython("bin/python3.92", undefined);
  writePython(".pyenv/versions/3.92.0/bin/python3.92", "92 /pyenv versions/python3.92");
  writePython("bin/python3.93", "92 /link to another version");
  writePython("bin/python3.94", "");
  writePython("uv/cpython-3.95.1-linux/bin/python3.95", "95 /uv/python3.95");
  const script = [
    "set -euo pipefail",
    `. "${LIB}/common.sh"; . "${LIB}/engine.sh"; . "${LIB}/pythons.sh"`,
    "OLDEST_MINOR=90 NEWEST_MINOR=95",
    "find_pythons",
    `for minor in "\${!PYTHONS[@]}"; do echo "$minor \${PYTHONS[minor]}"; done`,
    "missing_pythons",
  ].join("\n");
  const { stdout, stderr, code } = await runChild({
    command: "bash",
    args: ["-c", script],
    env: {
      HOME: home,
      PATH: `${join(home, "bin")}:${process.env["PATH"]}`,
      UV_PYTHON_INSTALL_DIR: join(home, "uv"),
    },
    timeoutMs: 20_000,
  });
  expect({ lines: stdout.trim().split("\n"), stderr, code }).toEqual({
    lines: ["91 /default/python3.91", "92 /pyenv versions/python3.92", "95 /uv/python3.95", "3.90 3.93 3.94"],
    stderr: "",
    code: 0,
  });
});
