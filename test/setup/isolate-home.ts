import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** No test reads or writes the developer's home. Engines keep their own storage: they get the real HOME explicitly. */
const home = mkdtempSync(join(tmpdir(), "sandpy-test-home-"));
process.env["SANDPY_TEST_REAL_HOME"] ??= process.env["HOME"] ?? "/";
process.env["HOME"] = home;
for (const name of ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"])
  delete process.env[name];
afterAll(() => rmSync(home, { recursive: true, force: true }));
