import { describe, expect, test } from "bun:test";
import { labelsOf, renderContainerfile, tagOf } from "../../../src/container/image-build/recipe.ts";
import {
  checkRequirements,
  checkSystemPackages,
  parseLock,
  renderLock,
} from "../../../src/container/image-build/requirements.ts";
import { BridgeError } from "../../../src/core/errors.ts";

const HASH = "a".repeat(64);
const LINE = `numpy==2.4.6 --hash=sha256:${HASH}`;

function codeOf(act: () => unknown): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return error instanceof BridgeError ? error.code : String(error);
  }
}

describe("the names of packages", () => {
  test.each([
    "numpy",
    "numpy==2.1.0",
    "a",
    "ruamel.yaml>=0.18",
    "uvicorn[standard]",
    "x~=1.2",
    "torch==2.5.1+cpu",
  ])("%s is one", (name) => {
    expect(codeOf(() => checkRequirements([name]))).toBeUndefined();
  });

  test.each([
    "",
    "-r",
    "--index-url=x",
    "-e.",
    "./numpy",
    "../x.whl",
    "/etc/passwd",
    "https://a.example/x.whl",
    "a @ file:///x",
    "numpy; os.system('x')",
    "numpy\n--extra-index-url x",
    "$(id)",
    "`id`",
    "a b",
    "a;b",
    "a&&b",
    "a|b",
    "x".repeat(200),
    "numpy==",
    "ñ",
  ])("%j is none", (name) => {
    expect(codeOf(() => checkRequirements([name]))).toBe("USAGE");
  });

  test.each([
    ["libgomp1", undefined],
    ["fonts-dejavu-core=2.37-6", undefined],
    ["g++", undefined],
    ["-y", "USAGE"],
    ["a b", "USAGE"],
    ["a;reboot", "USAGE"],
    ["$(x)", "USAGE"],
    ["./a.deb", "USAGE"],
  ])("%j of the distribution: %p", (name, code) => {
    expect(codeOf(() => checkSystemPackages([name]))).toBe(code);
  });

  test("are bounded in number", () => {
    expect(codeOf(() => checkRequirements(Array.from({ length: 501 }, () => "a")))).toBe("USAGE");
  });
});

describe("a lock", () => {
  test("is read as it is written", () => {
    expect(parseLock("x.lock", renderLock([LINE]))).toEqual([LINE]);
  });

  test.each(["numpy==1.0", "-r other.txt", `numpy --hash=sha256:${HASH}`, `numpy==1 --hash=md5:${HASH}`])(
    "with the line %j is refused with its place",
    (line) => {
      expect(() => parseLock("x.lock", `# comment\n${line}\n`)).toThrow(/^x\.lock:2: /);
    },
  );
});

describe("a recipe", () => {
  const ingredients = {
    kind: "packages",
    base: "sha256:1",
    baseName: "python:3.14-slim",
    python: "3.14.0",
    systemPackages: ["b", "a"],
    lock: [LINE],
  } as const;

  test("gives the same name for the same ingredients, and another for others", () => {
    const name = tagOf(ingredients);
    expect(tagOf({ ...ingredients, systemPackages: ["a", "b"] })).toBe(name);
    const others = [
      { ...ingredients, base: "sha256:2" },
      { ...ingredients, lock: [] },
      { ...ingredients, systemPackages: ["a"] },
      { ...ingredients, kind: "from-host" } as const,
    ];
    expect(new Set([name, ...others.map(tagOf)]).size).toBe(5);
    expect(tagOf({ ...ingredients, kind: "from-host", lock: [] })).toBe("localhost/sandpy-python:host");
  });

  test("labels what is in it", () => {
    expect(labelsOf(ingredients)).toMatchObject({
      "org.opencontainers.image.base.name": "python:3.14-slim",
      "io.sandpy.recipe": "packages",
      "io.sandpy.python": "3.14.0",
      "io.sandpy.lock": LINE,
    });
  });

  test("gives names to the shell as arguments, and packages by an archive", () => {
    const text = renderContainerfile({
      from: "python:3.14-slim",
      systemPackages: ["g++"],
      target: "/x/site",
    });
    const [from, , run, add] = text.split("\n");
    expect(from).toBe("FROM python:3.14-slim");
    expect((JSON.parse(run?.slice("RUN ".length) ?? "") as string[]).slice(3)).toEqual(["sh", "g++"]);
    expect(add).toBe('ADD ["packages.tar","/x/site/"]');
  });
});
