import { expect, test } from "bun:test";
import { serverEnvironment } from "../../src/upstream/environment.ts";
import { createRig, scripted, soon } from "./harness.ts";

const BRIDGE = {
  PATH: "/bin",
  HOME: "/home/u",
  LANG: "de_DE.UTF-8",
  LC_TIME: "C",
  TZ: "UTC",
  https_proxy: "http://proxy:3128",
  NO_PROXY: "localhost",
  SSL_CERT_FILE: "/etc/corp.pem",
  TERM: "() { evil; }",
  GITHUB_TOKEN: "secret",
  AWS_SECRET_ACCESS_KEY: "secret",
  MCP_BRIDGE_IMAGE: "x",
  BUN_OPTIONS: "--preload /tmp/evil.ts",
  NODE_OPTIONS: "--require /tmp/evil.js",
  LD_PRELOAD: "/tmp/evil.so",
};

test("a server inherits what programs need to work, and nothing else", () => {
  expect(serverEnvironment(BRIDGE, {}, {})).toEqual({
    PATH: "/bin",
    HOME: "/home/u",
    LANG: "de_DE.UTF-8",
    LC_TIME: "C",
    TZ: "UTC",
    https_proxy: "http://proxy:3128",
    NO_PROXY: "localhost",
    SSL_CERT_FILE: "/etc/corp.pem",
  });
});

test("its own entry adds and replaces, but neither Bun's variables nor the fixed ones", () => {
  const own = { API_KEY: "k", HOME: "/srv", BUN_BE_BUN: "1", SANDPY_DEPTH: "0" };

  expect(serverEnvironment({ PATH: "/bin", HOME: "/home/u" }, own, { SANDPY_DEPTH: "1" })).toEqual({
    PATH: "/bin",
    HOME: "/srv",
    API_KEY: "k",
    SANDPY_DEPTH: "1",
  });
});

test("UPS-11: the real process has exactly that environment", async () => {
  const settings = { command: "sh", args: ["-c", "env >&2; exit 1"], env: { OWN: "a" } };
  await using rig = createRig([scripted("fx", {}, settings)], {
    env: { ...BRIDGE, PATH: "/usr/bin:/bin" },
    childEnv: { SANDPY_DEPTH: "1" },
  });

  const error = await rig.upstream.connect("fx", soon()).catch((fault: Error) => fault);

  const names = String(error).match(/^\w+(?==)/gm) ?? [];
  const ofTheShell = ["PWD", "OLDPWD", "SHLVL", "_"];
  expect(names.filter((name) => !ofTheShell.includes(name)).sort()).toEqual([
    "HOME",
    "LANG",
    "LC_TIME",
    "NO_PROXY",
    "OWN",
    "PATH",
    "SANDPY_DEPTH",
    "SSL_CERT_FILE",
    "TZ",
    "https_proxy",
  ]);
});
