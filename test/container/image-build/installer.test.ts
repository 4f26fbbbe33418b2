import { beforeAll, describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { finishInstaller, type InstallOptions } from "../../../src/container/image-build/installer.ts";
import { PROGRAMS } from "../../../src/container/image-build/programs.ts";
import { listWheels } from "../../../src/container/image-build/wheels.ts";
import { startChild } from "../../../src/core/child.ts";
import { makeWheel } from "../../helpers/wheel.ts";
import { failureOf, makeFolder, neverAborted } from "../helpers/engines.ts";

let wheels = "";
beforeAll(async () => {
  wheels = await makeFolder();
  await makeWheel(wheels, "sandpy-fixture", "1.0", "VALUE = 41 + 1\n");
});

const options = (change: Partial<InstallOptions> = {}): InstallOptions => ({
  requirements: ["sandpy-fixture"],
  target: "/usr/lib/python3/site-packages",
  wheels: "-",
  locked: false,
  ...change,
});

/** Runs the installer with the Python of this machine, which has pip where tests run. */
async function install(
  change: Partial<InstallOptions> = {},
  signal = neverAborted(),
  program: string = PROGRAMS.install,
) {
  const tar = join(await makeFolder(), "packages.tar");
  const child = await startChild({
    command: "python3",
    args: ["-B", "-c", program, JSON.stringify(options(change))],
    env: { PATH: process.env["PATH"] ?? "", HOME: await makeFolder(), PYTHONHASHSEED: "0" },
  });
  const lock = await finishInstaller(child, await listWheels(wheels), tar, signal);
  return { lock, bytes: await readFile(tar) };
}

describe("the installer", () => {
  test("gives the same bytes for the same wheels, and their hashes", async () => {
    const [one, other] = [await install(), await install()];
    expect(one.lock).toEqual([expect.stringMatching(/^sandpy-fixture==1\.0 --hash=sha256:[0-9a-f]{64}$/)]);
    expect(Bun.hash(one.bytes)).toBe(Bun.hash(other.bytes));
    const text = one.bytes.toString("latin1");
    expect(text).toContain("sandpy_fixture.py");
    expect(text).toContain("__pycache__/sandpy_fixture.");
  });

  test("takes what a lock says, and nothing else", async () => {
    const { lock } = await install();
    expect((await install({ requirements: lock, locked: true })).lock).toEqual(lock);
    const wrong = lock.map((line) => line.replace(/[0-9a-f]{64}$/, "0".repeat(64)));
    const error = await failureOf(install({ requirements: wrong, locked: true }));
    expect(error.code).toBe("IMAGE_BUILD_FAILED");
  });

  test("tells pip's own reason", async () => {
    const error = await failureOf(install({ requirements: ["sandpy-nowhere==9"] }));
    expect(error.code).toBe("IMAGE_BUILD_FAILED");
    expect(error.message).toContain("No matching distribution found for sandpy-nowhere==9");
    expect(error.hint).toContain("--wheels");
  });

  test.each([
    ["no JSON", "print('x')", /did not say which packages/],
    ["a lock that is an option", `print('{"lock": ["-r x"]}')`, /did not say which packages/],
    ["a line without end", "import sys; sys.stdout.write('x' * (1 << 21))", /never ends/],
    ["no pip", "raise SystemExit(90)", /has no pip/],
  ])("is not believed with %s", async (_what, program, message) => {
    const error = await failureOf(install({}, neverAborted(), program));
    expect(error.message).toMatch(message);
  });

  test("ends when it is told to", async () => {
    const stop = new AbortController();
    const running = install({}, stop.signal, "import time; time.sleep(60)");
    setTimeout(() => stop.abort(), 100);
    expect((await failureOf(running)).code).toBe("CANCELLED");
  });
});

describe("a folder of wheels", () => {
  test("must have some", async () => {
    expect((await failureOf(listWheels(await makeFolder()))).message).toContain("no wheel");
    expect((await failureOf(listWheels("/nowhere"))).message).toContain("ENOENT");
  });
});
