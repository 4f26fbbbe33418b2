import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { loadSettings } from "../../src/config/load-file.ts";
import { SETTING_NAMES, SETTINGS, type SettingName } from "../../src/config/schema.ts";
import type { BridgeError } from "../../src/core/errors.ts";

let home: string;
let file: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sandpy-config-"));
  file = join(home, ".config/sandpy/config.jsonc");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(text: string, path = file): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const load = (env = {}, flags: Partial<Record<SettingName, string>> = {}) =>
  loadSettings({ HOME: home, ...env }, flags);

async function faultOf(env = {}): Promise<Pick<BridgeError, "code" | "message" | "hint">> {
  const error = await load(env).then(
    () => new Error("the file was accepted") as BridgeError,
    (reason: BridgeError) => reason,
  );
  return { code: error.code, message: error.message, hint: error.hint };
}

/** A value that each setting takes, as a file would have it. */
const SAMPLES: Readonly<Partial<Record<SettingName, unknown>>> = {
  MCP_BRIDGE_RUNTIME: "docker",
  MCP_BRIDGE_OCI_RUNTIME: "runsc",
  MCP_BRIDGE_IMAGE: "python:3.13",
  MCP_BRIDGE_TIMEOUT: 20,
  MCP_BRIDGE_MAX_TIMEOUT: 90,
  MCP_BRIDGE_MEMORY: "1g",
  MCP_BRIDGE_PIDS: 64,
  MCP_BRIDGE_CPUS: 0.5,
  MCP_BRIDGE_CONTAINER_USER: "1000:1000",
  MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: 60,
  MCP_BRIDGE_UPSTREAM_IDLE_TIMEOUT: 60,
  MCP_BRIDGE_STATE_DIR: "/srv/mcps",
  MCP_BRIDGE_MAX_SESSIONS: 8,
  MCP_BRIDGE_MAX_SESSIONS_PER_CALLER: 4,
  MCP_BRIDGE_SESSION_TTL: 60,
  MCP_BRIDGE_PROJECTS_QUOTA: "2m",
  MCP_BRIDGE_MAX_OUTPUT: 1000,
  MCP_BRIDGE_OUTPUT_MODE: "toon",
  MCP_BRIDGE_STATELESS: true,
  MCP_BRIDGE_LOG_LEVEL: "DEBUG",
  MCP_BRIDGE_LOG_FORMAT: "json",
  MCP_BRIDGE_ALLOW_SELF_SERVER: true,
  MCP_BRIDGE_TRUST_PROJECT: true,
  MCP_BRIDGE_ADD_SERVERS: ["notes", "git*"],
  MCP_BRIDGE_ALLOW_SERVERS: [],
  MCP_BRIDGE_DENY_SERVERS: ["shell"],
  MCP_BRIDGE_ALLOW_TOOLS: ["read_*"],
  MCP_BRIDGE_DENY_TOOLS: ["fx/del*", "*drop*"],
  MCP_BRIDGE_ASK: ["destructive", "fx/send*"],
  MCP_BRIDGE_APPROVAL_TIMEOUT: 60,
  MCP_BRIDGE_READ_ONLY: true,
  MCP_BRIDGE_MAX_CALLS_PER_RUN: 7,
  MCP_BRIDGE_AUDIT: false,
  MCP_BRIDGE_AUDIT_ARGUMENTS: "masked",
  MCP_BRIDGE_HTTP_HOST: "::1",
  MCP_BRIDGE_HTTP_PORT: 0,
  MCP_BRIDGE_HTTP_PATH: "/a/mcp",
  MCP_BRIDGE_HTTP_ALLOW_HOSTS: ["tools.example.com", "[fd00::1]:80"],
  MCP_BRIDGE_HTTP_ALLOW_ORIGINS: ["https://app.example.com"],
  MCP_BRIDGE_HTTP_TOKEN_FILE: "/srv/tokens",
  MCP_BRIDGE_HTTP_ISSUER: "https://idp.example.com/a",
  MCP_BRIDGE_HTTP_PUBLIC_URL: "https://tools.example.com/mcp",
  MCP_BRIDGE_HTTP_GRACE: 9,
  MCP_BRIDGE_HTTP_DASHBOARD: true,
  MCP_BRIDGE_HTTP_ADMINS: ["ada", "https://login.example.com|7"],
  MCP_BRIDGE_HTTP_METRICS_OPEN: true,
  MCP_SERVERS_CONFIG: "/srv/servers.json",
};
/** They mean something beside an issuer alone. */
const OF_AN_ISSUER: readonly SettingName[] = [
  "MCP_BRIDGE_HTTP_AUDIENCE",
  "MCP_BRIDGE_HTTP_JWKS",
  "MCP_BRIDGE_HTTP_SCOPES",
];

test.each(SETTING_NAMES.filter((name) => SETTINGS[name].key !== undefined && !OF_AN_ISSUER.includes(name)))(
  "%s can be set in the file, and counts as the variable does",
  async (name) => {
    const keys = (SETTINGS[name].key ?? "").split(".");
    const sample = SAMPLES[name];
    write(JSON.stringify(keys.reduceRight<unknown>((value, key) => ({ [key]: value }), sample)));
    const inFile = await load();
    rmSync(file);
    const text = Array.isArray(sample) ? sample.join(",") : String(sample);
    const { env: _, ...inVariable } = await load({ [name]: text });
    const { env: __, ...plain } = await load();

    const where = `${SETTINGS[name].key} in ~/.config/sandpy/config.jsonc`;
    // Only a file can say that a list is empty.
    const expected =
      text === ""
        ? { ...plain, policy: { ...plain.policy, servers: { allow: { globs: [], where }, deny: [] } } }
        : JSON.parse(JSON.stringify(inVariable).replaceAll(`"${name}"`, JSON.stringify(where)));
    const { env: ___, ...found } = inFile;
    expect(JSON.parse(JSON.stringify(found))).toEqual(JSON.parse(JSON.stringify(expected)));
    if (name !== "MCP_BRIDGE_AUDIT_ARGUMENTS") expect(found).not.toEqual(plain);
  },
);

test("what is to be asked for adds up, as what is denied does", async () => {
  write('{"policy": {"tools": {"ask": ["file"]}}}');
  const { policy } = await load({ MCP_BRIDGE_ASK: "env" });

  expect(policy.tools.ask.map(({ glob }) => glob)).toEqual(["env", "file"]);
});

test("takes JSON as people write it", async () => {
  write(`\uFEFF// mine
{
  "$schema": "x",
  /* more */ "pids": 3, "cpus": null,
  "policy": { "tools": { "deny": ["a",] }, },
}`);

  expect(await load()).toMatchObject({
    pids: 3,
    cpus: undefined,
    policy: { tools: { deny: [{ glob: "a" }] } },
  });
});

test.each(["", "// nothing yet\n", "{}"])("takes %j for no settings", async (text) => {
  write(text);
  expect((await load()).pids).toBe(128);
});

test("stands below the environment and the flags, and what is denied adds up", async () => {
  write(
    '{"pids": 4, "cpus": 1, "memory": "64m", "policy": {"servers": {"deny": ["file"], "allow": ["file"]}}}',
  );
  const env = { MCP_BRIDGE_PIDS: "5", MCP_BRIDGE_CPUS: "2", MCP_BRIDGE_DENY_SERVERS: "env" };

  const config = await load(env, { MCP_BRIDGE_PIDS: "3", MCP_BRIDGE_ALLOW_SERVERS: "flag" });

  expect([config.pids, config.cpus, config.memoryBytes]).toEqual([3, 2, 64 * 1024 ** 2]);
  expect(config.policy.servers).toEqual({
    allow: { globs: ["flag"], where: "--allow-server" },
    deny: [
      { glob: "env", where: "MCP_BRIDGE_DENY_SERVERS" },
      { glob: "file", where: "policy.servers.deny in ~/.config/sandpy/config.jsonc" },
    ],
  });
});

test("starts relative paths at its own folder", async () => {
  write('{"stateDir": "mcps", "serversConfig": "~/s.json", "audit": {"file": "calls.jsonl"}}');
  expect(await load()).toMatchObject({
    stateDir: join(dirname(file), "mcps"),
    serversConfig: join(home, "s.json"),
    audit: { file: join(dirname(file), "calls.jsonl") },
  });
});

describe("a file that is wrong", () => {
  test.each([
    ['{"pids": "x"}', '1:10: pids is "x": expected a whole number of processes from 3 to 4194304'],
    ['{\n  "timout": 3 }', '2:3: unknown key "timout": did you mean "timeout"?'],
    [
      '{"policy": {"readonly": true}}',
      '1:13: unknown key "policy.readonly": did you mean "policy.readOnly"?',
    ],
    ['{"readOnly": true}', '1:2: unknown key "readOnly": did you mean "policy.readOnly"?'],
    ['{"MCP_BRIDGE_PIDS": 3}', '1:2: unknown key "MCP_BRIDGE_PIDS": did you mean "pids"?'],
    [
      '{"policy": {"tools": {"zebra": []}}}',
      '1:23: unknown key "policy.tools.zebra": expected allow, deny, ask',
    ],
    [
      '{"policy": true}',
      '1:2: "policy" is true: expected servers, tools, approvalTimeout, readOnly, maxCallsPerRun in "{" and "}"',
    ],
    [
      '{"policy": {"tools": {"deny": true}}}',
      '1:31: "policy.tools.deny" is true: expected an array of texts without commas',
    ],
    [
      '{"policy": {"tools": {"deny": ["a,b"]}}}',
      '1:32: "policy.tools.deny" has "a,b": expected an array of texts without commas',
    ],
    [
      '{"policy": {"tools": {"deny": [""]}}}',
      '1:31: policy.tools.deny is ",": expected tools or globs with commas between, such as delete_*,notes/read_*',
    ],
    ['{"pids": [3]}', '1:10: "pids" is an array: expected one value'],
    ['{"pids": {"a": 3}}', '1:10: "pids" is an object: expected one value'],
    [
      '{"image": ""}',
      '1:11: image is "": expected the name of a container image, which cannot start with "-" or contain white space',
    ],
    ['{"pids": 3, "pids": 4}', '1:13: "pids" is given twice'],
    ["[1]", '1:1: expected settings in "{" and "}"'],
    ['{"pids": 3', "1:11: not valid JSON: close brace expected"],
    [
      '{"timeout": 9, "maxTimeout": 5}',
      '1:13: timeout is "9": expected at most maxTimeout in ~/.config/sandpy/config.jsonc, which is 5',
    ],
  ])("is not used in part: %s", async (text, message) => {
    write(text);
    const fault = await faultOf();
    expect([fault.code, fault.message]).toEqual([
      "CONFIG_INVALID",
      `~/.config/sandpy/config.jsonc:${message}`,
    ]);
  });

  test("says every fault, and how many more there are", async () => {
    write(`{${Array.from({ length: 30 }, (_, n) => `"zzz${n}": 1`).join(",\n")}}`);
    const { message } = await faultOf({ MCP_BRIDGE_CPUS: "y" });
    const lines = message.replaceAll("~/.config/sandpy/config.jsonc:", "").split("\n");
    expect(lines.map((line) => line.split(",")[0])).toEqual([
      ...Array.from(
        { length: 20 },
        (_, n) => `${n + 1}:${n === 0 ? 2 : 1}: unknown key "zzz${n}": expected runtime`,
      ),
      "and 11 more faults",
    ]);
  });

  test("says keys that it does not know and values that cannot be together, from the top down", async () => {
    const shown = "~/.config/sandpy/config.jsonc";
    write('{\n  "memory": "1",\n  "timout": 3,\n  "cpus": [2],\n  "pids": "x"\n}');
    const faults = [
      `${shown}:2:13: memory is "1": expected a size of at least 6m, such as 512m or 2g (b, k, m, g, t)`,
      `${shown}:3:3: unknown key "timout": did you mean "timeout"?`,
      `${shown}:4:11: "cpus" is an array: expected one value`,
      `${shown}:5:11: pids is "x": expected a whole number of processes from 3 to 4194304`,
    ];
    expect(await faultOf()).toEqual({
      code: "CONFIG_INVALID",
      message: faults.join("\n"),
      hint: "Correct the file, or move it away.",
    });
    expect(await faultOf({ MCP_BRIDGE_STATELESS: "perhaps" })).toEqual({
      code: "CONFIG_INVALID",
      message: [...faults, 'MCP_BRIDGE_STATELESS is "perhaps": expected 1, true, 0 or false'].join("\n"),
      hint: "Correct the file, or move it away. Correct it, or leave out MCP_BRIDGE_STATELESS for the default.",
    });
  });

  test("says the faults of file, variables and flags together", async () => {
    write('{"pids": "x"}');
    expect(await faultOf({ MCP_BRIDGE_CPUS: "y" })).toEqual({
      code: "CONFIG_INVALID",
      message:
        '~/.config/sandpy/config.jsonc:1:10: pids is "x": expected a whole number of processes from 3 to 4194304\n' +
        'MCP_BRIDGE_CPUS is "y": expected a number of at least 0.01, such as 2 or 0.5',
      hint: "Correct it, or leave out pids and MCP_BRIDGE_CPUS for the default.",
    });
  });
});

describe("a file that is named", () => {
  test("is read in place of the usual one, whoever names it", async () => {
    write('{"pids": 4}');
    const one = write('{"pids": 5}', join(home, "one.jsonc"));
    const two = write('{"pids": 3}', join(home, "two.jsonc"));
    expect((await load({ MCP_BRIDGE_CONFIG: "~/one.jsonc" })).pids).toBe(5);
    expect((await load({ MCP_BRIDGE_CONFIG: one }, { MCP_BRIDGE_CONFIG: two })).pids).toBe(3);
    expect((await load({ MCP_BRIDGE_CONFIG: "/dev/null" })).pids).toBe(128);
  });

  test("must exist", async () => {
    expect(await faultOf({ MCP_BRIDGE_CONFIG: "/nowhere/c.jsonc" })).toEqual({
      code: "CONFIG_INVALID",
      message: 'the configuration file "/nowhere/c.jsonc" does not exist',
      hint: "Correct that, or name another file with MCP_BRIDGE_CONFIG, or /dev/null for none.",
    });
  });
});

test("stops where the file is there and cannot be read: it may hold a policy", async () => {
  mkdirSync(file, { recursive: true });
  expect((await faultOf()).message).toMatch(/is not a file|EISDIR/);
  rmSync(file, { recursive: true });
  write(`{}${" ".repeat(1024 ** 2)}`);
  expect((await faultOf()).message).toEndWith("has more than 1048576 bytes");
  if (process.getuid?.() === 0) return; // root may read everything
  write("{}");
  chmodSync(file, 0);
  expect((await faultOf()).message).toEndWith("cannot be read (EACCES)");
});
