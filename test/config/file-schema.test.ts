import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import * as z from "zod";
import { explainSettings } from "../../src/config/explain.ts";
import { createFileSchema, listFileSettings } from "../../src/config/file-schema.ts";
import { loadConfig } from "../../src/config/load.ts";
import { loadSettings } from "../../src/config/load-file.ts";
import { parseSettings } from "../../src/config/settings-file.ts";
import { renderStarterFile, writeStarterFile } from "../../src/config/starter-file.ts";

const PUBLISHED = join(import.meta.dir, "../../docs/config.schema.json");

let home: string;
let file: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-schema-"));
  file = join(home, "config.jsonc");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const load = () => loadSettings({ HOME: home, MCP_BRIDGE_CONFIG: file });
const nest = (path: readonly string[], value: unknown) =>
  path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);

const published = z.fromJSONSchema(createFileSchema() as z.core.JSONSchema.JSONSchema);

/** What an editor that knows the published schema says. */
function isValid(value: unknown): boolean {
  return published.safeParse(value).success;
}

describe("the published schema", () => {
  test("is what the settings' own table makes; else type bun scripts/config-schema.ts", () => {
    expect(JSON.parse(readFileSync(PUBLISHED, "utf8"))).toEqual(createFileSchema());
  });

  test.each(listFileSettings().map((setting) => [setting.path.join("."), setting] as const))(
    "describes %s, and its default or example is one that both accept",
    (_key, { path, about, fallback, example }) => {
      const value = nest(path, fallback ?? example);

      expect(about).toMatch(/^[A-Z].*\.$/);
      expect(isValid(value)).toBe(true);
      parseSettings("x", JSON.stringify(value));
    },
  );

  test.each([
    { timeout: 0 },
    { timeout: "soon" },
    { runtime: "runc" },
    { memory: "much" },
    { policy: { servers: { alow: [] } } },
    { policy: { tools: { deny: ["a,b"] } } },
    { policy: { readOnly: "perhaps" } },
    { http: { port: 70_000 } },
    { audit: { arguments: "all" } },
    { colour: "red" },
  ])("refuses %j, as loading does", async (value) => {
    writeFileSync(file, JSON.stringify(value));

    expect(isValid(value)).toBe(false);
    await expect(load()).rejects.toThrow(/^~\/config\.jsonc:1:\d+: /);
  });

  test("accepts nothing that loading refuses", () => {
    const scalar = fc.oneof(
      fc.integer({ min: -2, max: 200 }),
      fc.double({ min: -1, max: 10_000, noNaN: true }),
      fc.boolean(),
      fc.string({ maxLength: 8 }),
      fc.constantFrom(
        "512m",
        "1 GiB",
        "0m",
        "auto",
        "DEBUG",
        "a,b",
        " ",
        "",
        "1:1",
        "0:0",
        "/mcp",
        "-x",
        "x y",
      ),
      fc.array(fc.string({ maxLength: 6 }), { maxLength: 3 }),
    );
    // Which of them fit together is another matter, and addresses are more than a pattern can say.
    const settings = listFileSettings().filter(
      ({ name }) =>
        !/ISSUER|AUDIENCE|JWKS|SCOPES|PUBLIC_URL|HTTP_HOST|ALLOW_ORIGINS|ALLOW_HOSTS|TIMEOUT/.test(name),
    );
    let accepted = 0;
    fc.assert(
      fc.property(fc.constantFrom(...settings), scalar, ({ name, path }, value) => {
        const written = nest(path, value);
        if (!isValid(written) || /\0/.test(JSON.stringify(written))) return;
        accepted++;
        const { texts } = parseSettings("x", JSON.stringify(written));
        const text = texts[name];
        // What is blank as a variable counts as none, and a size has a least value.
        if (text === "" || /QUOTA|MEMORY/.test(name)) return;
        loadConfig({ HOME: home, [name]: text });
      }),
      { numRuns: 3000 },
    );
    expect(accepted).toBeGreaterThan(300);
  });
});

describe("a file to begin with", () => {
  test("changes nothing", async () => {
    await writeStarterFile(file);
    const plain = await loadSettings({ HOME: home });

    expect({ ...(await load()), env: {} }).toEqual({ ...plain, env: {} });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(home, "config.schema.json"), "utf8"))).toEqual(createFileSchema());
  });

  test("says nothing but defaults and examples that hold, once the slashes are gone", async () => {
    writeFileSync(file, renderStarterFile().replace(/^( *)\/\/ "/gm, '$1"'));
    const { settings } = await explainSettings({ HOME: home, MCP_BRIDGE_CONFIG: file });

    const known = listFileSettings();
    expect(known.length).toBeGreaterThan(40);
    const without = known.filter(
      ({ name }) => settings.find((each) => each.name === name)?.source !== "file",
    );
    expect(without.map(({ name }) => name)).toEqual([]);
    for (const { name, fallback } of known) {
      if (fallback === undefined || name === "MCP_BRIDGE_AUDIT" || name === "MCP_BRIDGE_STATE_DIR") continue;
      expect({ name, value: settings.find((each) => each.name === name)?.value }).toEqual({
        name,
        value: fallback,
      });
    }
  });

  test("never takes the place of one that is there", async () => {
    writeFileSync(file, "// mine\n");

    await expect(writeStarterFile(file)).rejects.toMatchObject({ code: "USAGE" });
    expect(readFileSync(file, "utf8")).toBe("// mine\n");
  });
});
