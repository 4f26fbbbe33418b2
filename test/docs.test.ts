import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { aliasesOf, flatten, loadNode } from "../src/cli/command-tree.ts";
import { root } from "../src/cli/root.ts";
import { SETTING_NAMES } from "../src/config/schema.ts";
import { EXIT_CODES } from "../src/core/errors.ts";

const ROOT = resolve(import.meta.dir, "..");
const NOT_OURS = new Set(["node_modules", "dist", "__pycache__"]);
const LINE_CAPS = { "README.md": 200, "AGENTS.md": 120 } as const;

/** Every file of the repository as people write it; binary files have no place here. */
const files: readonly string[] = listFiles(ROOT);
const documents = files.filter((file) => file.endsWith(".md"));

function listFiles(folder: string): string[] {
  return (
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !NOT_OURS.has(entry.name))
      // Folders with a dot are caches and tools, but for these.
      .filter(
        (entry) => entry.isFile() || [".ci", ".github"].includes(entry.name) || !entry.name.startsWith("."),
      )
      .flatMap((entry) => {
        const path = join(folder, entry.name);
        return entry.isDirectory() ? listFiles(path) : [relative(ROOT, path)];
      })
      .sort()
  );
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

/** The first cell of each row of a document's tables, where it is a word in back quotes; several words are several. */
function firstCells(file: string, pattern: RegExp): string[] {
  const cells = read(file).matchAll(/^\| ((?:`[^`|]+`(?:, )?)+) *\|/gm);
  const words = [...cells].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word),
  );
  return words.filter((word) => pattern.test(word));
}

describe("the documents", () => {
  test.each(Object.entries(LINE_CAPS))("keep %s to %i lines", (file, cap) => {
    expect(read(file).trimEnd().split("\n").length).toBeLessThanOrEqual(cap);
  });

  test("link only to what exists", () => {
    const broken = documents.flatMap((file) =>
      [...read(file).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = ""]) => target)
        .filter((target) => !/^[a-z]+:/.test(target))
        .filter((target) => !linkResolves(file, target))
        .map((target) => `${file} → ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test("list every setting in docs/config.md, and no other", () => {
    expect(firstCells("docs/config.md", /^MCP_/)).toEqual([...SETTING_NAMES]);
  });

  test("list the dozen that matter in README.md, in the same order", () => {
    const listed = firstCells("README.md", /^MCP_/);
    expect(listed.length).toBeGreaterThanOrEqual(12);
    expect(listed).toEqual(SETTING_NAMES.filter((name) => listed.includes(name)));
  });

  test("name no setting that does not exist", () => {
    const known = new Set<string>(SETTING_NAMES);
    const isFamily = (start: string) => SETTING_NAMES.some((name) => name.startsWith(start));
    const unknown = documents.flatMap((file) =>
      [...read(file).matchAll(/\bMCP_(?:BRIDGE|SERVERS)_[A-Z_]+\b/g)]
        .filter(([name]) => !known.has(name) && !(name.endsWith("_") && isFamily(name)))
        .map(([name]) => `${file}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  test("say what to do about every error code, with its exit code", () => {
    const documented = [...read("README.md").matchAll(/^\| ((?:`[A-Z_]+`(?:, )?)+) *\| (\d) *\|/gm)].flatMap(
      ([, codes = "", exit]) =>
        [...codes.matchAll(/[A-Z_]+/g)].map(([code]) => [code, Number(exit)] as const),
    );
    expect(Object.fromEntries(documented)).toEqual({ ...EXIT_CODES });
  });

  test("and the messages name only commands that exist", () => {
    const commands = Object.keys(root.subCommands ?? {});
    const texts = files.filter((file) => /^src\/.*\.ts$|\.md$/.test(file) && file !== "CHANGELOG.md");
    const unknown = texts.flatMap((file) =>
      [...read(file).matchAll(/["'`]sandpy ([a-z]+)/g)]
        .filter(([, command = ""]) => !commands.includes(command))
        .map(([, command]) => `${file}: sandpy ${command}`),
    );
    expect(unknown).toEqual([]);
  });

  test("and name only flags that their commands take", async () => {
    const flags = new Map(
      flatten(await loadNode(root, "sandpy")).map(({ path, args }) => [
        path,
        new Set(["help", "version", ...Object.keys(args), ...Object.values(args).flatMap(aliasesOf)]),
      ]),
    );
    const texts = files.filter((file) => /^src\/.*\.ts$|\.md$/.test(file) && file !== "CHANGELOG.md");
    const unknown = texts.flatMap((file) =>
      [...read(file).matchAll(/["'`](sandpy [a-z][^"'`\n]*)/g)].flatMap(([, words = ""]) => {
        const [own = ""] = words.split(" -- ");
        const path = [...flags.keys()].findLast((each) => `${own} `.startsWith(`${each} `)) ?? "sandpy";
        const named = [...own.matchAll(/\s--?([a-z][a-z-]*)/g)].map(([, flag = ""]) =>
          flag.replace(/^no-/, ""),
        );
        return named
          .filter((flag) => !flags.get(path)?.has(flag) && !flags.get(path)?.has(`no-${flag}`))
          .map((flag) => `${file}: ${path} has no "${flag}"`);
      }),
    );
    expect(unknown).toEqual([]);
  });

  test("name only scripts that exist", () => {
    const named = documents.flatMap((file) => [...read(file).matchAll(/\.\/(scripts\/[a-z-]+)/g)]);
    expect(named.length).toBeGreaterThan(0);
    expect(
      named.map(([, script = ""]) => script).filter((script) => !existsSync(join(ROOT, script))),
    ).toEqual([]);
  });
});

describe("the repository", () => {
  test("names no path of one machine and no registry's host", () => {
    const registries = ["npmjs.org", "pythonhosted.org", "pypi.org", "crates.io", "golang.org", "debian.org"];
    const images = ["docker.io/", "registry-1.docker.io", "ghcr.io", "quay.io"];
    const folders = ["root", "work"].map((name) => `/${name}/`);
    const foreign = [...folders, ...registries, ...images];
    const found = files
      .filter((file) => file !== "LICENSE" && file !== relative(ROOT, import.meta.path))
      .flatMap((file) =>
        read(file)
          .split("\n")
          .map((line, index) => ({ place: `${file}:${index + 1}`, line })),
      )
      .filter(({ line }) => foreign.some((text) => line.includes(text)))
      .map(({ place, line }) => `${place}: ${line.trim().slice(0, 120)}`);
    expect(found).toEqual([]);
  });
});

function linkResolves(file: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const linked = path === "" ? file : relative(ROOT, resolve(ROOT, dirname(file), path));
  if (linked.startsWith("..") || !existsSync(join(ROOT, linked))) return false;
  return anchor === undefined || headings(linked).includes(anchor);
}

function headings(file: string): string[] {
  return [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}
