/** An OCI runtime that says that it is an old runc, and is another one in truth. */
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { knownHoles } from "../../src/container/oci-runtime.ts";
import { startBridge } from "./helpers/client.ts";
import { examineWith } from "./helpers/doctor.ts";
import { engine, runEngine, until } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";
import { startServed } from "./helpers/served.ts";

const TOKEN = "oci-runtime-0123456789";
const WORDS = "code got out of containers of this OCI runtime";
const home = createHome();
afterAll(() => home[Symbol.dispose]());

/** The path of a program that is the machine's own runtime but for its version. */
function standIn(version: string): string {
  const folder = join(home.path, version);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "runc");
  writeFileSync(
    path,
    `#!/bin/sh
case "$1" in --version) printf 'runc version ${version}\\nspec: 1.0.2-dev\\n'; exit 0;; esac
PATH=/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin
exec "$(command -v runc || command -v crun)" "$@"
`,
  );
  chmodSync(path, 0o755);
  return path;
}

test.if(engine === "docker")("ISO-14: that docker's daemon has is looked at by its own word", async () => {
  const { Server: server } = JSON.parse(await runEngine("version", "--format", "json"));
  const { Version: version } = server.Components.find(({ Name: name }: { Name: string }) => name === "runc");
  const { report } = await examineWith(home);
  const finding = report.findings.find(({ check }) => check === "oci-runtime");
  const hasHoles = knownHoles({ name: "runc", version, path: undefined }) !== undefined;
  expect(finding?.found).toStartWith(`runc ${version}`);
  expect(finding?.status).toBe(hasHoles ? "warning" : "ok");
});

// Docker's daemon knows its runtimes by names of its own, and says the version of none but its runc.
describe.skipIf(engine === "docker")("an OCI runtime", () => {
  test("ISO-14: with a known way out is named in the log of the bridge, once, and by doctor", async () => {
    const env = { MCP_BRIDGE_OCI_RUNTIME: standIn("1.2.7"), MCP_BRIDGE_HTTP_TOKEN: TOKEN };
    await using served = await startServed(home, [], env);
    await using client = await served.connect(TOKEN);
    expect(await client.python("1")).toBe("success");
    await until("the runtime is named", () => served.stderr().includes(WORDS), 20_000);
    expect(await client.python("import os; os._exit(1)")).toBe("error");
    expect(await client.python("1")).toBe("success");
    const lines = served.stderr().split("\n");
    expect(lines.filter((line) => line.includes(WORDS))).toEqual([
      expect.stringMatching(/^WARNING .*runtime="runc 1\.2\.7" holes="CVE-2025-31133, CVE-2025-52565 and/),
    ]);
    const { code, report } = await examineWith(home, env);
    expect(code).toBe(0); // a distribution may have mended it
    const finding = report.findings.find(({ check }) => check === "oci-runtime");
    expect(finding).toMatchObject({ status: "warning", remedy: expect.stringContaining("newer runc") });
    expect(finding?.found).toContain("CVE-2025-31133");
  });

  test("ISO-14: that is mended is not named", async () => {
    await using bridge = await startBridge({ home, env: { MCP_BRIDGE_OCI_RUNTIME: standIn("1.3.3") } });
    expect((await bridge.python("1")).text).toStartWith("1");
    const { report } = await examineWith(home, { MCP_BRIDGE_OCI_RUNTIME: standIn("1.3.3") });
    expect(report.findings.find(({ check }) => check === "oci-runtime")).toMatchObject({
      status: "ok",
      found: "runc 1.3.3",
    });
  });
});
