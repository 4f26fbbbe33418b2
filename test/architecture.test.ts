import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

const ROOT = join(import.meta.dir, "..");
const MAX_LINES = 400;

/** Which rooms a room may import values from, and from which others only types. Every room may import itself. */
const ROOMS: Readonly<
  Record<string, { readonly values: readonly string[]; readonly types: readonly string[] }>
> = {
  main: { values: ["cli", "core"], types: [] },
  cli: { values: ["app", "config", "discovery", "core"], types: ["session", "upstream", "memory", "kernel"] },
  app: {
    values: ["mcp", "session", "kernel", "container", "upstream", "memory", "discovery", "config", "core"],
    types: [],
  },
  mcp: { values: ["core"], types: ["upstream"] },
  session: { values: ["core"], types: ["kernel"] },
  kernel: { values: ["core"], types: ["container"] },
  container: { values: ["core"], types: [] },
  upstream: { values: ["core"], types: ["discovery", "kernel"] },
  memory: { values: ["core"], types: ["kernel"] },
  discovery: { values: ["core"], types: ["config"] },
  config: { values: ["core"], types: [] },
  core: { values: [], types: [] },
};

/** Packages, and text, that only some rooms may name. */
const SOLE_RIGHTS: readonly {
  readonly what: string;
  readonly pattern: RegExp;
  readonly rooms: readonly string[];
}[] = [
  { what: "citty", pattern: /from "citty"/, rooms: ["cli"] },
  { what: "the SDK's server", pattern: /from "@modelcontextprotocol\/server/, rooms: ["mcp"] },
  { what: "the SDK's client", pattern: /from "@modelcontextprotocol\/client/, rooms: ["upstream"] },
  { what: "Hono", pattern: /from "hono/, rooms: ["mcp"] },
  { what: "OpenTelemetry", pattern: /from "@opentelemetry\//, rooms: ["app"] },
  { what: "jose", pattern: /from "jose"/, rooms: ["mcp"] },
  { what: "zod", pattern: /from "zod/, rooms: ["mcp", "kernel", "discovery", "config", "upstream"] },
  {
    what: "a parser of configuration files",
    pattern: /from "(jsonc-parser|yaml|smol-toml)"/,
    rooms: ["discovery", "config"],
  },
  { what: "the sandbox's Python", pattern: /from "[^"]*\.py"/, rooms: ["kernel", "container"] },
  { what: "node:child_process", pattern: /from "node:child_process"/, rooms: ["core"] },
  { what: "process.env", pattern: /process\.env\b/, rooms: ["config", "main"] },
  { what: "the end of the process", pattern: /process\.exit\(/, rooms: ["main"] },
  { what: "Bun.spawn", pattern: /Bun\.spawn/, rooms: [] },
];

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly text: string;
}

const files: readonly SourceFile[] = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path) && !path.endsWith(".d.ts"))
  .map((path) => ({
    path: `src/${path}`,
    room: path.includes("/") ? (path.split("/")[0] ?? "") : path.replace(/\.tsx?$/, ""),
    text: withoutComments(readFileSync(join(ROOT, "src", path), "utf8")),
  }));

interface Import {
  readonly from: SourceFile;
  readonly path: string;
  readonly room: string;
  readonly typeOnly: boolean;
  /** When that line runs, and not with the file. */
  readonly isLate: boolean;
}

/** The imports of other files of `src`. */
function importsOf(file: SourceFile): Import[] {
  const statements = file.text.matchAll(
    /(?:import|export)\s+(type\s)?([^;"]*?)\sfrom\s+"(\.[^"]+\.tsx?)"|import\("(\.[^"]+)"\)/g,
  );
  return [...statements].map(([, type, names = "", from, dynamic]) => {
    const target = relative(join(ROOT, "src"), join(ROOT, file.path, "..", from ?? dynamic ?? ""));
    const named = names
      .replace(/[{}]/g, "")
      .split(",")
      .filter((name) => name.trim() !== "");
    return {
      from: file,
      path: `src/${target}`,
      isLate: dynamic !== undefined,
      room: target.includes("/") ? (target.split("/")[0] ?? "") : target.replace(/\.tsx?$/, ""),
      typeOnly:
        type !== undefined || (named.length > 0 && named.every((name) => name.trim().startsWith("type "))),
    };
  });
}

describe("the house", () => {
  test("has files, each in a known room", () => {
    expect(files.length).toBeGreaterThan(20);
    expect(files.filter((file) => !(file.room in ROOMS)).map((file) => file.path)).toEqual([]);
  });

  test("imports only downwards", () => {
    const breaches = files.flatMap(importsOf).filter(({ from, room, typeOnly }) => {
      const rule = ROOMS[from.room];
      return room !== from.room && !rule?.values.includes(room) && !(typeOnly && rule?.types.includes(room));
    });
    expect(breaches.map(({ from, room }) => `${from.path} imports ${room}`)).toEqual([]);
  });

  test.each(SOLE_RIGHTS.map((right) => [right.what, right] as const))(
    "keeps %s to its rooms",
    (_what, right) => {
      const breaches = files.filter(
        (file) => right.pattern.test(file.text) && !right.rooms.includes(file.room),
      );
      expect(breaches.map((file) => file.path)).toEqual([]);
    },
  );

  test("lets core import nothing but built-in modules", () => {
    const foreign = files
      .filter((file) => file.room === "core")
      .flatMap((file) =>
        [...file.text.matchAll(/^import[^"]*from "([^".][^"]*)"/gm)].map(([, from]) => from ?? ""),
      )
      .filter((from) => !from.startsWith("node:"));
    expect(foreign).toEqual([]);
  });

  test("has no barrels and no grab bags", () => {
    const names = files.map((file) => file.path.split("/").at(-1) ?? "");
    expect(names.filter((name) => /^(index|utils?|helpers?|.*-manager|manager)\.tsx?$/.test(name))).toEqual(
      [],
    );
  });
});

describe("what is loaded before the first container begins", () => {
  const waiting = ["src/main.ts", "src/cli/serve.ts", "src/app/bridge.ts"];
  const loaded = new Set<SourceFile>();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const file = files.find((each) => each.path === path);
    if (file === undefined || loaded.has(file)) continue;
    loaded.add(file);
    for (const { path, typeOnly, isLate } of importsOf(file)) if (!typeOnly && !isLate) waiting.push(path);
  }

  test("is what begins it", () => {
    expect([...loaded].map(({ path }) => path)).toContain("src/container/cli-engine.ts");
  });

  // Who waits for the first result waits for each of these; they have time while the engine works.
  test.each([
    ["zod", /^import (?!type )[^;]* from "zod/m],
    ["the SDK", /^import (?!type )[^;]* from "@modelcontextprotocol\//m],
    ["the Python that is sent", /^import [^;]* from "[^"]*\/kernel\/(?!bootstrap)\w+\.py"/m],
  ])("is not %s", (_what, pattern) => {
    expect([...loaded].filter(({ text }) => pattern.test(text)).map(({ path }) => path)).toEqual([]);
  });
});

describe("every file", () => {
  const sources = ["src", "sandbox", "test", "scripts"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => /\.(tsx?|js|css|py)$/.test(path))
      .map((path) => join(folder, path)),
  );

  test(`is at most ${MAX_LINES} lines long`, () => {
    const long = sources.filter(
      (path) => readFileSync(join(ROOT, path), "utf8").split("\n").length > MAX_LINES + 1,
    );
    expect(long).toEqual([]);
  });

  test("of TypeScript is kebab-case", () => {
    const names = sources.filter((path) => /\.tsx?$/.test(path)).map((path) => path.split("/").at(-1) ?? "");
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.d|\.test)?\.tsx?$/.test(name))).toEqual([]);
  });
});

/** The rules are about code; a comment may name what it likes. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}
