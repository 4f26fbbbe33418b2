import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../../src/core/log.ts";
import type { ToolSummary } from "../../../src/kernel/host-tools.ts";
import { Catalogue } from "../../../src/upstream/catalogue/catalogue.ts";
import { createRig, define, scripted, soon } from "../harness.ts";

const log = createLog("ERROR", () => undefined);
const INFO = { name: "fx", version: "1", title: "Fixture", instructions: "Be nice." };
let folder: string;

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "sandpy-catalogue-")), "tools");
});
afterEach(() => rmSync(join(folder, ".."), { recursive: true, force: true }));

function tool(name: string, more: Partial<ToolSummary> = {}): ToolSummary {
  return {
    name,
    alias: name.replaceAll("-", "_"),
    description: `does ${name}`,
    inputSchema: { type: "object" },
    ...more,
  };
}

function onlyFile(): string {
  const [name = "", ...others] = readdirSync(folder);
  expect(others).toEqual([]);
  return join(folder, name);
}

async function write(name: string, tools: readonly ToolSummary[]): Promise<void> {
  await using catalogue = new Catalogue({ folder, log, now: () => 5000 });
  catalogue.store(define(name, {}), INFO, tools);
}

describe("what one bridge learned", () => {
  test("is known to the next, whole and with its age", async () => {
    const tools = [
      tool("a-b", {
        outputSchema: {
          type: "object",
          properties: { big: { const: JSON.rawJSON("12345678901234567890") } },
        },
        annotations: { title: "A", readOnlyHint: true },
      }),
      tool("a_b"),
    ].map((each, index) => ({ ...each, alias: ["a_b_2", "a_b"][index] ?? "" }));
    await write("fx", tools);

    const next = new Catalogue({ folder, log });
    expect(next.known(define("fx", {}))).toBeUndefined();
    await next.load([define("fx", {}), define("other", {})]);

    expect(JSON.stringify(next.known(define("fx", {})))).toBe(
      JSON.stringify({ tools, fetchedAt: 5000, info: INFO }),
    );
    expect(next.known(define("other", {}))).toBeUndefined();
    expect(next.known({ ...define("fx", {}), fingerprint: "changed" })).toBeUndefined();
  });

  test("lies in a file that only the user can read", async () => {
    await write("fx", [tool("a")]);

    expect([statSync(folder).mode & 0o777, statSync(onlyFile()).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(onlyFile()).toMatch(/\/[0-9a-f]{64}\.json$/);
  });

  test.each([
    ["half of it", (text: string) => text.slice(0, 40)],
    ["nothing", () => ""],
    ["another version", (text: string) => text.replace('"version":1', '"version":2')],
    ["another shape", () => "[1,2]"],
  ])("is not known when the file has %s", async (_what, damage) => {
    await write("fx", [tool("a")]);
    const text = readFileSync(onlyFile(), "utf8");
    writeFileSync(onlyFile(), damage(text));

    const next = new Catalogue({ folder, log });
    await next.load([define("fx", {})]);

    expect(next.known(define("fx", {}))).toBeUndefined();
  });

  test("is seen by a bridge that runs already, after a while", async () => {
    let now = 0;
    const running = new Catalogue({ folder, log, now: () => now });
    const changed: string[] = [];
    running.onChange((name) => changed.push(name));
    await running.load([define("fx", {})]);
    await write("fx", [tool("a")]);

    await running.load([define("fx", {})]);
    expect(running.known(define("fx", {}))).toBeUndefined();
    now += 31_000;
    await running.load([define("fx", {})]);

    expect(running.known(define("fx", {}))?.tools.map(({ name }) => name)).toEqual(["a"]);
    expect(changed).toEqual(["fx"]);
  });
});

test("works without a folder, and where none can be made", async () => {
  const file = join(folder, "..", "file");
  writeFileSync(file, "");
  for (const nowhere of [undefined, join(file, "tools")]) {
    await using catalogue = new Catalogue({ folder: nowhere, log });
    catalogue.store(define("fx", {}), INFO, [tool("a")]);
    await catalogue.load([define("fx", {})]);
    expect(catalogue.known(define("fx", {}))?.tools.length).toBe(1);
  }
});

test("shows what the filter lets through, with the same names as without it", async () => {
  await using catalogue = new Catalogue({ folder, log });
  catalogue.store(define("fx", {}), INFO, [tool("get-x"), tool("get-y"), tool("set-x")]);

  const shown = (allow: readonly string[] | undefined, deny: readonly string[]) =>
    catalogue.known({ ...define("fx", {}), tools: { allow, deny } })?.tools.map(({ name }) => name);

  expect(shown(undefined, [])).toEqual(["get-x", "get-y", "set-x"]);
  expect(shown(["get-*"], ["*-y"])).toEqual(["get-x"]);
});

test("keeps what it knows as one object, and tells of changes alone", async () => {
  await using catalogue = new Catalogue({ folder, log });
  const changed: string[] = [];
  const forget = catalogue.onChange((name) => changed.push(name));
  const definition = define("fx", {});
  catalogue.store(definition, INFO, [tool("a")]);
  const known = catalogue.known(definition);
  expect(catalogue.known(define("fx", {}))).toBe(known as NonNullable<typeof known>);

  catalogue.store(definition, INFO, [tool("a")]);
  catalogue.store(definition, INFO, [tool("b")]);
  forget();
  catalogue.store(definition, INFO, [tool("c")]);

  expect(changed).toEqual(["fx", "fx"]);
});

test("removes the oldest files when there are too many", async () => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (let index = 0; index < 4001; index++) {
    const path = join(folder, `${index}.json`);
    writeFileSync(path, "");
    utimesSync(path, index + 1, index + 1);
  }

  await write("fx", [tool("a")]);

  const left = new Set(readdirSync(folder));
  expect([left.size, left.has("0.json"), left.has("1.json"), left.has("2.json")]).toEqual([
    4000,
    false,
    false,
    true,
  ]);
});

test("learns from servers that run", async () => {
  const definition = scripted("fx", { tools: { a: {}, grow: { adds: "late" } } });
  await using rig = createRig([definition], { catalogueDir: folder });
  await rig.upstream.tools("fx", soon());

  expect(rig.upstream.catalogue.known(definition)).toMatchObject({
    tools: [{ name: "a" }, { name: "grow" }],
    info: { name: "scripted", version: "1" },
  });
  const changed = new Promise<string>((resolve) => rig.upstream.catalogue.onChange(resolve));
  await rig.upstream.callTool({ server: "fx", tool: "grow", arguments: {} }, soon());

  // Nobody asks again: the server's word is enough.
  expect(await changed).toBe("fx");
  expect(rig.upstream.catalogue.known(definition)?.tools.map(({ name }) => name)).toEqual([
    "a",
    "grow",
    "late",
  ]);
  await rig.upstream.close();
  expect(readFileSync(onlyFile(), "utf8")).toContain('"late"');
});
