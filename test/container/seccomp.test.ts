import { describe, expect, test } from "bun:test";
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { openPrivateCache } from "../../src/container/private-cache.ts";
import { installSeccompProfile } from "../../src/container/seccomp.ts";
import { buildSeccompProfile } from "../../src/container/seccomp-profile.ts";
import { detect, ENGINES, makeFolder, runPython, specOf } from "./helpers/engines.ts";

const REFUSED = await Bun.file(join(import.meta.dir, "programs/refused_calls.py")).text();
const ALLOWED = await Bun.file(join(import.meta.dir, "programs/allowed_calls.py")).text();
const ENGINE_DEADLINE_MS = 60_000;

describe("the profile", () => {
  const profile = buildSeccompProfile();

  test("refuses what it does not list, and knows no 32-bit architecture", () => {
    expect(profile.defaultAction).toBe("SCMP_ACT_ERRNO");
    expect(profile.archMap.map(({ architecture }) => architecture)).toEqual([
      "SCMP_ARCH_X86_64",
      "SCMP_ARCH_AARCH64",
    ]);
    expect(profile.archMap.flatMap(({ subArchitectures }) => subArchitectures)).toEqual([]);
  });

  test("lists none of the calls that the program for the engines tries", () => {
    const refused = [...REFUSED.matchAll(/^ {4}"(\w+)": \(/gm)].map(([, name]) => name);
    expect(refused.length).toBeGreaterThan(60);
    const listed = profile.syscalls.flatMap((rule) => rule.names);
    expect(refused.filter((name) => listed.includes(name ?? ""))).toEqual([]);
  });

  test("lists each unconditional call once", () => {
    const names = profile.syscalls.filter((rule) => rule.args === undefined).flatMap((rule) => rule.names);
    expect(names).toEqual([...new Set(names)]);
  });

  test("never allows without a condition what it allows under one", () => {
    const free = new Set(
      profile.syscalls.filter((rule) => rule.args === undefined).flatMap((rule) => rule.names),
    );
    const bound = profile.syscalls.filter((rule) => rule.args !== undefined).flatMap((rule) => rule.names);
    expect(bound.filter((name) => free.has(name))).toEqual([]);
  });

  test("lets gVisor start threads, which it refuses by EPERM alone", () => {
    const rulesOf = (interpreter: "kernel" | "gvisor") =>
      buildSeccompProfile(interpreter).syscalls.filter(({ names }) => names.includes("clone3"));
    expect(rulesOf("kernel")).toEqual([{ names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: 38 }]);
    expect(rulesOf("gvisor")).toEqual([{ names: ["clone3"], action: "SCMP_ACT_ALLOW" }]);
  });

  test("has one condition for each argument in a rule, for runc joins two by OR", () => {
    for (const { args = [] } of profile.syscalls) {
      expect(new Set(args.map(({ index }) => index)).size).toBe(args.length);
    }
  });
});

test("is written once, for nobody else to read, under a name that carries its hash", async () => {
  const cache = await openPrivateCache({ XDG_CACHE_HOME: await makeFolder() });
  const path = await installSeccompProfile(cache);
  expect(path).toMatch(/\/sandpy\/seccomp-[0-9a-f]{16}\.json$/);
  expect(JSON.parse(await Bun.file(path).text())).toEqual(JSON.parse(JSON.stringify(buildSeccompProfile())));
  const [file, folder] = [await stat(path), await stat(dirname(path))];
  expect([file.mode & 0o777, folder.mode & 0o777]).toEqual([0o600, 0o700]);
  expect(await installSeccompProfile(cache)).toBe(path);
  expect((await stat(path)).mtimeMs).toBe(file.mtimeMs);
});

test("is written again when the file was damaged", async () => {
  const cache = await openPrivateCache({ XDG_CACHE_HOME: await makeFolder() });
  const path = await installSeccompProfile(cache);
  await Bun.write(path, "{}");
  expect(await installSeccompProfile(cache)).toBe(path);
  expect(JSON.parse(await Bun.file(path).text()).defaultAction).toBe("SCMP_ACT_ERRNO");
});

describe.each(ENGINES)("on %s", (name) => {
  test(
    "ISO-9: refuses every call that reaches further than the sandbox",
    async () => {
      const { engine } = await detect({ engine: name });
      const answers: Record<string, string> = JSON.parse(await runPython(engine, REFUSED));
      const reached = Object.entries(answers).filter(([, answer]) => answer !== "EPERM");
      expect(Object.fromEntries(reached)).toEqual({ clone3: "ENOSYS" });
      expect(Object.keys(answers).length).toBeGreaterThan(200);
    },
    ENGINE_DEADLINE_MS,
  );

  test(
    "ISO-16: allows what ordinary Python programs do",
    async () => {
      const { engine } = await detect({ engine: name });
      // From a file, because multiprocessing's "spawn" imports the main module again.
      const program = `open("/workspace/main.py","w").write(${JSON.stringify(ALLOWED)})
import runpy, sys
sys.argv = ["/workspace/main.py"]
import subprocess
sys.exit(subprocess.run([sys.executable, "-I", "/workspace/main.py"]).returncode)`;
      expect(JSON.parse(await runPython(engine, program, specOf(program)))).toEqual({});
    },
    ENGINE_DEADLINE_MS,
  );
});
