import { describe, expect, test } from "bun:test";
import { orderRuntimes, predictRuntime } from "../../src/container/detect-podman.ts";
import { inferPodmanFacts, parseDockerInfo, parsePodmanInfo } from "../../src/container/facts.ts";
import { parseOsRelease } from "../../src/container/install-hint.ts";

const LIMITS = ["cpu", "memory", "pids"];

describe("the facts of a local podman", () => {
  test.each([
    ["root, version 1", 0, 1, LIMITS, { rootless: false, cgroupVersion: 1, enforcesLimits: true }],
    ["root, version 2", 0, 2, LIMITS, { rootless: false, cgroupVersion: 2, enforcesLimits: true }],
    ["root, without pids", 0, 2, ["memory"], { rootless: false, cgroupVersion: 2, enforcesLimits: false }],
    ["a user, version 1", 1000, 1, LIMITS, { rootless: true, cgroupVersion: 1, enforcesLimits: false }],
  ] as const)("follow from the machine: %s", (_, uid, version, controllers, expected) => {
    expect(inferPodmanFacts("5.0.0", uid, { version, hybrid: false, controllers })).toEqual({
      version: "5.0.0",
      remote: false,
      ...expected,
    });
  });

  test("must be asked for where only podman knows: a user on version 2", () => {
    expect(
      inferPodmanFacts("5.0.0", 1000, { version: 2, hybrid: false, controllers: LIMITS }),
    ).toBeUndefined();
  });
});

describe("what podman says", () => {
  const info = (host: Record<string, unknown>) => ({ version: { Version: "5.0.0" }, host });

  test.each([
    ["systemd", LIMITS, true],
    ["systemd", ["cpu", "pids"], false],
    ["cgroupfs", LIMITS, false],
    ["systemd", undefined, false],
  ])("without root, manager %p, controllers %p: limits %p", (cgroupManager, cgroupControllers, expected) => {
    const host = { cgroupVersion: "v2", cgroupManager, cgroupControllers, security: { rootless: true } };
    expect(parsePodmanInfo(info(host), false)).toEqual({
      version: "5.0.0",
      rootless: true,
      cgroupVersion: 2,
      enforcesLimits: expected,
      remote: false,
    });
  });

  test("counts as rootless, without limits, where it does not say", () => {
    expect(parsePodmanInfo(info({}), true)).toEqual({
      version: "5.0.0",
      rootless: true,
      cgroupVersion: undefined,
      enforcesLimits: false,
      remote: true,
    });
  });

  test.each([undefined, null, 7, {}, { version: {} }])("is not podman's when it is %p", (answer) => {
    expect(parsePodmanInfo(answer, false)).toBeUndefined();
  });
});

describe("what docker says", () => {
  const answer = {
    ServerVersion: "28.0.0",
    OSType: "linux",
    SecurityOptions: ["name=seccomp,profile=builtin", "name=rootless"],
    CgroupVersion: "2",
    MemoryLimit: true,
    PidsLimit: true,
    Runtimes: { runc: {}, "io.containerd.runc.v2": {} },
    DefaultRuntime: "runc",
  };

  test("gives the facts and the runtimes", () => {
    expect(parseDockerInfo(answer)).toEqual({
      facts: { version: "28.0.0", rootless: true, cgroupVersion: 2, enforcesLimits: true, remote: false },
      runtimes: ["runc", "io.containerd.runc.v2"],
      defaultRuntime: "runc",
    });
  });

  test("tells that limits are not enforced", () => {
    expect(parseDockerInfo({ ...answer, PidsLimit: false })).toMatchObject({
      facts: { enforcesLimits: false },
    });
  });

  test.each([
    [{ ServerVersion: "" }, "the client is there, but its daemon does not answer"],
    [{ ServerErrors: ["no socket"] }, "the client is there, but its daemon does not answer: no socket"],
    [undefined, "the client is there, but its daemon does not answer"],
    [{ ...answer, OSType: "windows" }, 'its daemon runs "windows" containers, not linux ones'],
  ])("gives the reason why %p is of no use", (value, reason) => {
    expect(parseDockerInfo(value)).toEqual({ reason });
  });
});

describe("the OCI runtime", () => {
  const both = new Map([
    ["runc", "/usr/bin/runc"],
    ["crun", "/usr/bin/crun"],
  ]);
  const cgroups = { version: 1, hybrid: true, controllers: LIMITS } as const;

  test("is runc at once where crun is podman's default and cannot work", () => {
    expect(predictRuntime(cgroups, false, both)).toBe("runc");
  });

  test.each([
    ["the cgroups are not hybrid", { ...cgroups, hybrid: false }, false, both],
    ["a configuration chooses it", cgroups, true, both],
    ["there is no other", cgroups, false, new Map([["crun", "/usr/bin/crun"]])],
    ["there is no crun", cgroups, false, new Map([["runc", "/usr/bin/runc"]])],
    ["this is no Linux", undefined, false, both],
  ] as const)("is podman's default where %s", (_, facts, isConfigured, runtimes) => {
    expect(predictRuntime(facts, isConfigured, runtimes)).toBeUndefined();
  });

  const nothing = {
    configured: undefined,
    remembered: undefined,
    predicted: undefined,
    present: ["runc", "crun"],
  };
  test.each([
    ["the default, then the others", {}, [undefined, "runc", "crun"]],
    ["the one foreseen first", { predicted: "runc" }, ["runc", undefined, "crun"]],
    [
      "the one remembered before the one foreseen",
      { remembered: "crun", predicted: "runc" },
      ["crun", undefined, "runc"],
    ],
    [
      "the default when that is remembered",
      { remembered: null, predicted: "runc" },
      [undefined, "runc", "crun"],
    ],
    ["only the configured one", { configured: "kata", remembered: "crun" }, ["kata"]],
  ])("is tried in this order: %s", (_, known, expected) => {
    expect(orderRuntimes({ ...nothing, ...known })).toEqual(expected);
  });
});

test.each([
  ['ID=ubuntu\nID_LIKE=debian\nNAME="Ubuntu"', ["ubuntu", "debian"]],
  ['NAME="Rocky Linux"\nID="rocky"\nID_LIKE="rhel centos fedora"', ["rocky", "rhel", "centos", "fedora"]],
  ["", []],
])("reads the distribution from %p", (text, expected) => {
  expect(parseOsRelease(text)).toEqual(expected);
});
