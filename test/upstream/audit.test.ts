import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BridgeEvent, createBridgeEvents, createSessionRef } from "../../src/core/bridge-events.ts";
import { LOCAL_CALLER } from "../../src/core/caller.ts";
import { parseExactJson } from "../../src/core/exact-json.ts";
import { createLog } from "../../src/core/log.ts";
import { withinRun } from "../../src/core/run-context.ts";
import { type AuditEntry, canonicalJson, renderAuditLine } from "../../src/upstream/audit/audit-line.ts";
import { AuditLog } from "../../src/upstream/audit/audit-log.ts";
import type { Script } from "../fixtures/servers/scripted-server.ts";
import { createRig, faultOf, type Rig, scripted, soon, until } from "./harness.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandpy-audit-"));
  file = join(folder, "data/audit.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

type Line = Readonly<Record<string, unknown>>;

function lines(): readonly Line[] {
  return readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

function createFx(script: Script, how: "hash" | "masked" = "hash", env = {}): Rig {
  const capabilities = { prompts: {} };
  return createRig([scripted("fx", { resources: [], capabilities, ...script }, { env })], {
    audit: { file, arguments: how },
    maxCalls: { count: 20, where: "w" },
  });
}

const hashOf = (json: string) => createHash("sha256").update(json).digest("hex");

describe("the audit log of calls", () => {
  test("has a line for each, with how it ended, and a hash for the arguments", async () => {
    const rig = createFx({
      tools: {
        "get-it": {},
        fails: { result: '{"isError":true,"content":[]}' },
        no: { error: { code: -32602, message: "a secret told by the server" } },
        mute: { mute: true },
      },
    });
    const call = (tool: string, signal = soon(), args = {}) =>
      rig.upstream.callTool({ server: "fx", tool, arguments: args }, signal);
    const stop = new AbortController();
    await call("get_it", soon(), { b: 1, a: { d: [2], c: "x" } });
    await call("fails");
    await faultOf(call("no"));
    await faultOf(call("nothing"));
    await faultOf(call("mute", AbortSignal.timeout(50)));
    const calling = faultOf(call("mute", stop.signal));
    stop.abort();
    await calling;
    await faultOf(rig.upstream.readResource("fx", "note:1?token=abc", soon()));
    await faultOf(rig.upstream.getPrompt({ server: "fx", prompt: "p", arguments: { n: "1" } }, soon()));
    await rig.upstream.listResources("fx", soon());
    await faultOf(rig.upstream.openSession().callTool({ server: "gone", tool: "t", arguments: {} }, soon()));
    await rig.upstream.close();

    const empty = { argumentsHash: hashOf("{}") };
    const found = lines();
    expect(found.map(({ time: _, session: __, ms: ___, caller: ____, ...rest }) => rest)).toEqual([
      { server: "fx", tool: "get-it", argumentsHash: hashOf('{"a":{"c":"x","d":[2]},"b":1}'), outcome: "ok" },
      { server: "fx", tool: "fails", ...empty, outcome: "error" },
      { server: "fx", tool: "no", ...empty, outcome: "error", code: "UPSTREAM_FAILED" },
      { server: "fx", tool: "nothing", ...empty, outcome: "error", code: "UPSTREAM_UNKNOWN_TOOL" },
      { server: "fx", tool: "mute", ...empty, outcome: "timeout", code: "UPSTREAM_TIMEOUT" },
      { server: "fx", tool: "mute", ...empty, outcome: "cancelled", code: "CANCELLED" },
      {
        server: "fx",
        method: "resources/read",
        argumentsHash: hashOf('{"uri":"note:1?token=abc"}'),
        outcome: "error",
        code: "UPSTREAM_FAILED",
      },
      {
        server: "fx",
        method: "prompts/get",
        argumentsHash: hashOf('{"arguments":{"n":"1"},"name":"p"}'),
        outcome: "error",
        code: "UPSTREAM_FAILED",
      },
      { server: "fx", method: "resources/list", ...empty, outcome: "ok" },
      { server: "gone", tool: "t", ...empty, outcome: "error", code: "UPSTREAM_UNKNOWN_SERVER" },
    ]);
    const sessions = found.map(({ session }) => session);
    expect(new Set(sessions.slice(0, -1)).size).toBe(1);
    expect(sessions.at(-1)).not.toBe(sessions[0]);
    for (const { time, ms } of found) {
      expect(new Date(String(time)).toISOString()).toBe(String(time));
      expect(ms).toBeNumber();
    }
    expect(found[4]?.["ms"]).toBeGreaterThanOrEqual(45);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).not.toContain("secret");
  });

  test("has the arguments without secrets where that is asked for", async () => {
    const TOKEN = "hunter2-hunter2";
    const rig = createFx({ tools: { put: {} } }, "masked", { API: TOKEN });
    const args = { text: `with ${TOKEN} in it`, password: "p", to: "me", items: [1, true, null] };
    await rig.upstream.callTool({ server: "fx", tool: "put", arguments: args }, soon());
    await rig.upstream.close();

    expect(lines()[0]?.["arguments"]).toEqual({
      text: "with *** in it",
      password: "***",
      to: "me",
      items: [1, true, null],
    });
    expect(readFileSync(file, "utf8")).not.toContain(TOKEN);
  });

  test("has a refused call with its code, and a flood of those beyond the limit once a run", async () => {
    const server = scripted("fx", { tools: { del: {}, get: {} } });
    const deny = [{ glob: "del", rule: "r", where: "w" }];
    const policy = { allow: undefined, deny, ask: [], readOnly: undefined };
    const rig = createRig([{ ...server, tools: { ...server.tools, policy } }], {
      audit: { file, arguments: "hash" },
      maxCalls: { count: 1, where: "w" },
    });
    const call = (tool: string) =>
      faultOf(rig.upstream.callTool({ server: "fx", tool, arguments: {} }, soon()));
    for (const run of [1, 2]) {
      rig.upstream.beginRun();
      await call("del");
      for (let count = 0; count < 50 * run; count++) await call("get");
    }
    await rig.upstream.close();

    const once = [
      ["del", "refused", "UPSTREAM_NOT_USABLE"],
      ["get", "refused", "LIMIT_EXCEEDED"],
    ];
    expect(lines().map(({ tool, outcome, code }) => [tool, outcome, code])).toEqual([...once, ...once]);
  });

  test("names the caller, the session and the execution, as those do who listen to events", async () => {
    const events = createBridgeEvents();
    const heard: BridgeEvent[] = [];
    events.listen((event) => heard.push(event));
    await using rig = createRig([scripted("fx", { tools: { get: {} } })], {
      audit: { file, arguments: "hash" },
      events,
    });
    const session = createSessionRef({ id: "oidc|42", name: "Ann" });
    const tools = rig.upstream.openSession(undefined, session);
    const call = () => tools.callTool({ server: "fx", tool: "get", arguments: {} }, soon());
    await withinRun({ requestId: "r1", executionId: "e1" }, call);
    await call();
    await rig.upstream.close();
    const named = { caller: "oidc|42", session: session.sessionId };
    expect(lines()).toMatchObject([{ ...named, request: "r1", execution: "e1" }, named]);
    expect(lines()[1]).not.toHaveProperty("execution");
    expect(lines()[1]).not.toHaveProperty("request");
    const event = { kind: "upstream-called", server: "fx", tool: "get", outcome: "ok", ...session };
    expect(heard).toMatchObject([
      { ...event, executionId: "e1" },
      { ...event, executionId: undefined },
    ]);
  });

  test("is written while the bridge runs", async () => {
    await using rig = createFx({ tools: { get: {} } });
    await rig.upstream.callTool({ server: "fx", tool: "get", arguments: {} }, soon());
    await until(() => existsSync(file) && statSync(file).size > 0);
    expect(lines().length).toBe(1);
  });
});

const ENTRY: AuditEntry = {
  at: 0,
  session: { sessionId: "s", caller: LOCAL_CALLER },
  requestId: undefined,
  executionId: undefined,
  server: "fx",
  method: "tools/call",
  tool: "t",
  arguments: {},
  outcome: "ok",
  code: undefined,
  ms: 1.23456,
  mask: (text) => text,
};

describe("a log", () => {
  test("that cannot be written says so once, and tells later how many lines are missing", async () => {
    writeFileSync(join(folder, "data"), "in the way");
    const logged: string[] = [];
    const log = createLog("INFO", (line) => logged.push(line));
    const audit = new AuditLog({ file, arguments: "hash", log });
    for (let count = 0; count < 300; count++) audit.record(ENTRY);
    await until(() => logged.length > 0);
    audit.record(ENTRY);
    await until(() => logged.length === 1);
    rmSync(join(folder, "data"));
    audit.record(ENTRY);
    await audit.close();

    expect(logged).toEqual([expect.stringMatching(/^WARNING sandpy: calls of tools cannot be written down/)]);
    const [gap, ...rest] = lines();
    expect(gap?.["lost"]).toBeGreaterThanOrEqual(300);
    expect(Number(gap?.["lost"]) + rest.length).toBe(302);
  });

  test.skipIf(!existsSync("/dev/full"))("goes on while the disk is full", async () => {
    const logged: string[] = [];
    const log = createLog("INFO", (line) => logged.push(line));
    const audit = new AuditLog({ file: "/dev/full", arguments: "hash", log });
    audit.record(ENTRY);
    await until(() => logged.length > 0);
    audit.record(ENTRY);
    await audit.close();
    expect(logged.length).toBe(1);
    expect(logged[0]).toContain("ENOSPC");
  });

  test("holds no arguments while the disk is slow", async () => {
    const audit = new AuditLog({ file, arguments: "masked", log: createLog("ERROR", () => undefined) });
    const args = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`a${n}`, "x ".repeat(200)]));
    for (let count = 0; count < 2000; count++) audit.record({ ...ENTRY, arguments: args });
    await audit.close();
    expect(statSync(file).size).toBeLessThan(9 * 1024 ** 2);
    expect(lines()[0]?.["lost"]).toBeGreaterThan(1000);
  });

  test("EXH-19: takes no more than it can hold while the disk is slow", async () => {
    const audit = new AuditLog({ file, arguments: "hash", log: createLog("ERROR", () => undefined) });
    for (let count = 0; count < 12_000; count++) audit.record(ENTRY);
    await audit.close();
    const found = lines();
    expect(found.length).toBe(10_001);
    expect(found.find(({ lost }) => lost !== undefined)).toMatchObject({ lost: 2000 });
  });

  test("is put aside when it is full", async () => {
    const log = createLog("ERROR", () => undefined);
    for (let bridge = 0; bridge < 12; bridge++) {
      await using audit = new AuditLog({ file, arguments: "hash", log, maxBytes: 100_000 });
      for (let count = 0; count < 200; count++) audit.record(ENTRY);
    }
    expect(readdirSync(join(folder, "data")).sort()).toEqual([
      "audit.jsonl",
      "audit.jsonl.1",
      "audit.jsonl.2",
      "audit.jsonl.3",
    ]);
    for (const name of readdirSync(join(folder, "data"))) {
      expect(statSync(join(folder, "data", name)).size).toBeLessThanOrEqual(100_000);
    }
  });

  test("writes what it has when the process ends without closing it", () => {
    mkdirSync(join(folder, "data"));
    const { mask: _, ...entry } = ENTRY;
    const program = `
      import { AuditLog } from ${JSON.stringify(join(import.meta.dir, "../../src/upstream/audit/audit-log.ts"))};
      const audit = new AuditLog({ file: ${JSON.stringify(file)}, arguments: "hash", log: console });
      audit.record({ ...${JSON.stringify(entry)}, mask: String });
      process.exit(0);`;
    expect(Bun.spawnSync([process.execPath, "-e", program]).exitCode).toBe(0);
    expect(lines()).toMatchObject([{ tool: "t" }]);
  });

  test("makes nothing before something is called", async () => {
    await new AuditLog({ file, arguments: "hash", log: createLog("ERROR", () => undefined) }).close();
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("a line", () => {
  test("NBR-13: is one line that is shown as it is, whatever names and arguments are", () => {
    const hostile = 'a\r\n{"tool":"forged"}\u2028\u0085\u001b[2J\u009b1m\u202e\u200b\u{e0041}';
    const line = renderAuditLine(
      { ...ENTRY, server: hostile, tool: hostile, requestId: hostile, arguments: { [hostile]: hostile } },
      "masked",
    );
    expect(line).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*\n$/u);
    expect(JSON.parse(line)).toMatchObject({ server: hostile, tool: hostile, request: hostile });
    expect(renderAuditLine({ ...ENTRY, tool: "n".repeat(1e6) }, "hash").length).toBeLessThan(1300);
  });

  test("is one line of JSON", () => {
    expect(renderAuditLine({ ...ENTRY, tool: "a\nb", code: "X" }, "hash")).toBe(
      `{"time":"1970-01-01T00:00:00.000Z","caller":"local","session":"s","server":"fx","tool":"a\\nb","argumentsHash":"${hashOf("{}")}","outcome":"ok","code":"X","ms":1.23}\n`,
    );
  });

  test.each([
    ['{"b":1,"a":2}', '{"a":2,"b":1}'],
    ['{"a":{"y":null,"x":[{"d":1,"c":"é\\n"}]}}', '{"a":{"x":[{"c":"é\\n","d":1}],"y":null}}'],
    ['{"n":12345678901234567890}', '{"n":12345678901234567890}'],
    ['{"__proto__":{"b":1,"a":2}}', '{"__proto__":{"a":2,"b":1}}'],
  ])("hashes %s as %s", (json, canonical) => {
    expect(canonicalJson(parseExactJson(json))).toBe(canonical);
  });

  test.each(["hash", "masked"] as const)("is short and fast with %s, whatever the arguments are", (how) => {
    let deep: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    const wide = Object.fromEntries(
      Array.from({ length: 100_000 }, (_, n) => [`name${n}`, ["x".repeat(20)]]),
    );
    for (const args of [{ deep }, wide, { text: "y ".repeat(1_000_000) }]) {
      const line = renderAuditLine({ ...ENTRY, arguments: args }, how);
      expect(line.length).toBeLessThan(20_000);
      expect(JSON.parse(line)).toMatchObject({ tool: "t" });
    }
  });

  test.each<[Record<string, unknown>, Record<string, unknown>]>([
    [
      { api_key: ["a"], n: 1 },
      { api_key: "***", n: 1 },
    ],
    [{ header: "Authorization: Bearer abc.def" }, { header: "Authorization: Bearer ***" }],
    [{ url: "https://u:p@h.example/x?token=t&q=1" }, { url: "https://***@h.example/x?token=***&q=1" }],
    [{ t: "use ghp_abcdefghijkl now" }, { t: "use *** now" }],
    [{ n: JSON.rawJSON("1e400") }, { n: Number.POSITIVE_INFINITY }],
    [{ t: "z".repeat(400) }, { t: `${"z".repeat(300)}…` }],
  ])("masks %j as %j", (args, masked) => {
    const line = renderAuditLine({ ...ENTRY, arguments: args }, "masked");
    expect(JSON.parse(line).arguments).toEqual(masked);
  });
});
