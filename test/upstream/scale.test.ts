import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../src/core/log.ts";
import { Catalogue } from "../../src/upstream/catalogue/catalogue.ts";
import { patient } from "../helpers/patient.ts";
import { createRig, define, scripted, soon } from "./harness.ts";

const SERVERS = Array.from({ length: 999 }, (_, index) => define(`server-${index}`, { command: "/nowhere" }));
const log = createLog("ERROR", () => undefined);
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sandpy-scale-"));
  await using catalogue = new Catalogue({ folder, log });
  const properties = Object.fromEntries(
    "abcdef".split("").map((name) => [name, { type: "string", description: "…" }]),
  );
  const tools = Array.from({ length: 10 }, (_, index) => ({
    name: `tool_${index}`,
    alias: `tool_${index}`,
    description: "Does a thing. ".repeat(20),
    inputSchema: { type: "object", properties },
  }));
  for (const server of SERVERS)
    catalogue.store(server, { name: "x", version: "1", title: undefined, instructions: undefined }, tools);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a thousand servers with ten thousand tools are known within a moment, and in memory from then on", async () => {
  const catalogue = new Catalogue({ folder, log });
  const started = performance.now();
  await catalogue.load(SERVERS);
  expect(performance.now() - started).toBeLessThan(patient(2000)); // 0.1 s on a machine that does nothing else

  const again = performance.now();
  await catalogue.load(SERVERS);
  const count = SERVERS.reduce((sum, server) => sum + (catalogue.known(server)?.tools.length ?? 0), 0);
  expect(performance.now() - again).toBeLessThan(patient(200)); // 3 ms
  expect(count).toBe(9990);
});

test("a call among a thousand servers reads nothing of the others", async () => {
  const missing = join(folder, "missing"); // reading it would be seen by its being made
  await using rig = createRig([...SERVERS, scripted("fx", { tools: { a: {} } })], { catalogueDir: missing });
  const started = performance.now();

  await rig.upstream.callTool({ server: "fx", tool: "a", arguments: {} }, soon());

  expect(performance.now() - started).toBeLessThan(patient(2000));
  expect(SERVERS.filter((server) => rig.upstream.catalogue.known(server) !== undefined)).toEqual([]);
});
