import { describe, expect, test } from "bun:test";
import { buildInstallArgs, type InstallPlan } from "../../../src/container/image-build/install-args.ts";

const plan: InstallPlan = {
  info: {
    engine: "podman",
    version: "5.0.0",
    rootless: true,
    cgroupVersion: 2,
    ociRuntime: "runc",
    enforcesLimits: true,
    remote: false,
  },
  image: "python:3.14-slim",
  name: "sandpy-1",
  labels: { "io.sandpy.instance": "1" },
  seccompProfile: "/cache/seccomp.json",
  hardLimits: { openFiles: undefined, processes: undefined },
  network: undefined,
  env: { PIP_INDEX_URL: "https://user:geheim@index.example/simple", https_proxy: "http://p:1", OTHER: "x" },
  options: { requirements: ["six"], target: "/x", wheels: null, locked: false },
};

/** Whether these words stand in this order, without others between. */
const has = (args: readonly string[], ...words: string[]) => args.join("\0").includes(words.join("\0"));

describe("a container for pip", () => {
  test("has the network on gVisor that pip needs, and the filter of calls", () => {
    const on = buildInstallArgs({ ...plan, info: { ...plan.info, ociRuntime: "runsc" } });
    expect(on.slice(0, 5)).toEqual(["--runtime", "runsc", "--runtime-flag", "oci-seccomp", "run"]);
  });

  const args = buildInstallArgs(plan);

  test.each([
    [["--runtime", "runc", "run"]],
    [["--cap-drop", "ALL"]],
    [["--security-opt", "no-new-privileges"]],
    [["--security-opt", "seccomp=/cache/seccomp.json"]],
    [["--user", "65534:65534"]],
    [["--pull", "never"]],
    // It prints whole packages, and it is ended while it works.
    [["--log-driver", "none"]],
    [["--stop-timeout", "0"]],
    [["--label", "io.sandpy.instance=1"]],
    [["--entrypoint", "python3", "python:3.14-slim"]],
  ])("has %j", (words) => {
    expect(has(args, ...words)).toBe(true);
  });

  test("is told how to reach an index, and nothing on the command line", () => {
    expect(has(args, "--env", "PIP_INDEX_URL")).toBe(true);
    expect(has(args, "--env", "https_proxy")).toBe(true);
    expect(args.join(" ")).not.toMatch(/geheim|OTHER/);
  });

  test("has a network only where an index is asked", () => {
    expect(args).not.toContain("--network");
    expect(has(buildInstallArgs({ ...plan, network: "host" }), "--network", "host")).toBe(true);
    const offline = { ...plan, network: "host", options: { ...plan.options, wheels: "-" } };
    expect(has(buildInstallArgs(offline), "--network", "none")).toBe(true);
  });
});
