import { afterEach, beforeEach, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { JobInputs } from "../../../src/cli/run/job-inputs.ts";
import { addProgram } from "../../../src/cli/run/modules.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sandpy-inputs-")));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, content = ""): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

async function added(
  ...given: string[]
): Promise<{ paths: string[]; folders: readonly string[]; notes: string[] }> {
  const inputs = new JobInputs();
  for (const each of given) await inputs.add(each);
  return { paths: inputs.files.map(({ path }) => path), folders: inputs.folders, notes: inputs.notes };
}

test("copies a file by its name, a folder with all that is in it, and the content of folder/", async () => {
  const file = write("a.txt", "a");
  write("data/x/y.csv");
  mkdirSync(join(folder, "data/empty"));
  expect(await added(file, join(folder, "data"))).toEqual({
    paths: ["a.txt", "data/x/y.csv"],
    folders: ["data", "data/empty", "data/x"],
    notes: [],
  });
  expect((await added(`${join(folder, "data")}/`)).paths).toEqual(["x/y.csv"]);
  expect((await added(`${folder}/data/.`)).paths).toEqual(["x/y.csv"]);
});

test("follows links within the folder alone, and takes nothing that is no file", async () => {
  write("data/real.txt");
  const secret = write("secret");
  symlinkSync("real.txt", join(folder, "data/alias.txt"));
  symlinkSync(secret, join(folder, "data/stolen"));
  symlinkSync("..", join(folder, "data/up"));
  symlinkSync("nowhere", join(folder, "data/broken"));
  execFileSync("mkfifo", [join(folder, "data/pipe")]);
  // macOS refuses such a name
  const unnamed = process.platform === "linux";
  if (unnamed) writeFileSync(Buffer.from(join(folder, "data/z\xff"), "latin1"), "");
  const { paths, notes } = await added(join(folder, "data"));
  expect(paths).toEqual(["data/alias.txt", "data/real.txt"]);
  expect(notes.map((note) => note.replace(`${folder}/data/`, ""))).toEqual([
    'not copied in: "broken" is a symbolic link to no file of that folder',
    'not copied in: "pipe" is no regular file',
    'not copied in: "stolen" is a symbolic link to no file of that folder',
    'not copied in: "up" is a symbolic link to no file of that folder',
    ...(unnamed ? ['not copied in: "z\ufffd" has a name that is not UTF-8'] : []),
  ]);
});

test("refuses what is not there, two files of one name, and more than fits", async () => {
  const one = write("one/same.txt");
  const other = write("other/same.txt");
  const large = write("large");
  truncateSync(large, 129 * 1024 ** 2);
  expect(added(join(folder, "none"))).rejects.toThrow("does not exist");
  expect(added("/dev/null")).rejects.toThrow("is neither a file nor a folder");
  expect(added(one, other)).rejects.toThrow("two files would be /workspace/same.txt");
  expect((await added(one, one)).paths).toEqual(["same.txt"]);
  expect(added(large)).rejects.toMatchObject({
    code: "USAGE",
    message: "the files to copy in are more than 10000, or than 128 MiB",
  });
});

test("takes the modules that a program imports, and what those import, and no other file", async () => {
  write("helper.py", "import second as s, os.path\nfrom . import nothing");
  write("second.py");
  write("package/__init__.py");
  write("package/deep/more.py", "import third");
  write("package/data.json");
  write("package/.hidden/x.py");
  write("third.py");
  write("spaces/thing.py");
  write("late.py");
  write("unrelated.py");
  const secret = write("elsewhere/secret.py");
  mkdirSync(join(folder, "job"));
  symlinkSync(secret, join(folder, "stolen.py"));
  const outside = realpathSync(mkdtempSync(join(tmpdir(), "sandpy-outside-")));
  writeFileSync(join(outside, "secret.py"), "");
  symlinkSync(join(outside, "secret.py"), join(folder, "foreign.py"));
  const code = [
    "import sys, helper, foreign",
    "def f():",
    "    from package.deep import more",
    "    from spaces import thing",
    "importlib.import_module('late')",
    "x = 'unrelated'",
  ].join("\n");
  const inputs = new JobInputs();
  expect(await addProgram(inputs, write("main.py", code), code)).toBe("/workspace/main.py");
  expect(inputs.files.map(({ path }) => path).sort()).toEqual([
    "helper.py",
    "late.py",
    "main.py",
    "package/__init__.py",
    "package/deep/more.py",
    "second.py",
    "spaces/thing.py",
    "third.py",
  ]);
  rmSync(outside, { recursive: true });
});

test("takes a program that is no regular file as it is read", async () => {
  execFileSync("mkfifo", [join(folder, "pipe")]);
  const inputs = new JobInputs();
  expect(await addProgram(inputs, join(folder, "pipe"), "import helper")).toBeUndefined();
  expect(inputs.files).toEqual([]);
});
