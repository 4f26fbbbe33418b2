import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "../../src/app/doctor/finding.ts";
import { startChild } from "../../src/core/child.ts";
import { command } from "./helpers/command.ts";
import { examineWith, statusOf } from "./helpers/doctor.ts";
import { BINARY, bridgeEnv, containersOf, flavour, until } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

const home = createHome();
afterAll(() => home[Symbol.dispose]());

const examine = (env: Record<string, string> = {}) => examineWith(home, env);

describe("sandpy doctor", () => {
  test.each<[string, Record<string, string>, string, RegExp]>([
    [
      "no engine",
      { PATH: mkdtempSync(join(home.path, "empty-")), MCP_BRIDGE_RUNTIME: "auto" },
      "engine",
      /podman|docker/,
    ],
    [
      "a daemon that is nowhere",
      { MCP_BRIDGE_RUNTIME: "docker", DOCKER_HOST: "tcp://127.0.0.1:1" },
      "engine",
      /unset/,
    ],
    [
      "an image that is nowhere",
      { MCP_BRIDGE_IMAGE: "localhost/sandpy-nowhere:1" },
      "image",
      /sandpy image build --from-host/,
    ],
    ["no image's name", { MCP_BRIDGE_IMAGE: "Not:An:Image" }, "image", /MCP_BRIDGE_IMAGE/],
    [
      "an OCI runtime that is nowhere",
      { MCP_BRIDGE_OCI_RUNTIME: "nowhere" },
      "sandbox",
      /MCP_BRIDGE_OCI_RUNTIME/,
    ],
    ["a bad setting", { MCP_BRIDGE_TIMEOUT: "soon" }, "settings", /MCP_BRIDGE_TIMEOUT/],
    ["a state directory that is a file", { MCP_BRIDGE_STATE_DIR: BINARY }, "state-directory", /mv /],
  ])("says what mends %s", async (_what, env, check, mends) => {
    const { code, report } = await examine(env);
    expect(code).toBe(1);
    const problems = report.findings.filter(({ status }) => status === "problem");
    expect(problems.map((finding) => finding.check)).toEqual([check as Finding["check"]]);
    expect(`${problems[0]?.remedy} ${problems[0]?.command}`).toMatch(mends);
  });

  // Root may use every socket.
  test.skipIf(flavour !== "podman-rootless" || !existsSync("/var/run/docker.sock"))(
    "says what mends a docker socket of others",
    async () => {
      const { report } = await examine({ MCP_BRIDGE_RUNTIME: "docker" });
      const [problem] = report.findings.filter(({ status }) => status === "problem");
      expect(problem).toMatchObject({ check: "engine", command: expect.stringContaining("--groups docker") });
    },
  );

  test("looks at all else when a setting is bad", async () => {
    const { report } = await examine({ MCP_BRIDGE_TIMEOUT: "soon" });
    expect(statusOf(report, "network")).toBe("ok");
  });

  test("counts servers, and names those that cannot be used", async () => {
    home.defineServers({ good: { command: "true" }, bad: { command: "x", args: [`\${SANDPY_UNSET}`] } });
    const { report } = await examine();
    home.defineServers({});
    const servers = report.findings.find(({ check }) => check === "servers");
    expect(servers).toMatchObject({ status: "warning", facts: { found: 2, usable: 1 } });
    expect(servers?.found).toContain("SANDPY_UNSET");
  });

  test("prints for people what is wrong and what mends it", async () => {
    const { code, stdout } = await command(["doctor"], {
      home,
      env: { MCP_BRIDGE_IMAGE: "localhost/sandpy-nowhere:1" },
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^problem {2}image .*is not here$/m);
    expect(stdout).toMatch(/^ +\$ .*$/m);
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^1 problem/);
  });

  test("leaves no container behind at Ctrl-C", async () => {
    const child = await startChild({
      command: BINARY,
      args: ["doctor"],
      env: bridgeEnv(home.path),
      cwd: home.path,
    });
    await until("a probe", async () => (await containersOf(child.pid)).length > 0, 20_000);
    child.kill("SIGINT");
    const { code } = await child.exited;
    expect(code).toBe(130);
    await until("no container is left", async () => (await containersOf(child.pid)).length === 0);
  });
});
