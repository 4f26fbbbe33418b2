import { describe, expect, test } from "bun:test";
import { judgeMemory, judgePids } from "../../../src/app/doctor/limit-findings.ts";
import { explainStart } from "../../../src/app/doctor/sandbox-examination.ts";
import { judgeView } from "../../../src/app/doctor/sandbox-findings.ts";
import type { EngineInfo } from "../../../src/container/engine.ts";
import { runChild } from "../../../src/core/child.ts";
import { parseLimits, parseView, type SandboxView, VIEW_COMMAND } from "../../../src/kernel/probes.ts";

const MIB = 1024 * 1024;
const flags = { ro: false, nosuid: true, nodev: true, noexec: true, bytes: 64 * MIB };
const capabilities = { CapInh: "0", CapPrm: "0000", CapEff: "0000", CapBnd: "0000", CapAmb: "0000" };

/** As a closed sandbox is seen. */
const closed: SandboxView = {
  python: "3.14.0",
  implementation: "CPython",
  missing_modules: [],
  packages: [],
  package_folder: "/usr/local/lib/python3.14/site-packages",
  uid: 65534,
  gid: 65534,
  status: { ...capabilities, NoNewPrivs: "1", Seccomp: "2" },
  interfaces: ["lo"],
  connect: { tcp: "ENETUNREACH", udp: "ENETUNREACH", tcp6: "EADDRNOTAVAIL" },
  families: { AF_VSOCK: "EPERM", AF_ALG: "EPERM" },
  abstract_sockets: 0,
  engine_sockets: [],
  user_namespace: "EPERM",
  root: { ...flags, ro: true },
  folders: { "/tmp": flags, "/workspace": flags, "/projects": flags, "/dev/shm": flags },
  unwritable_own: [],
  foreign: [],
  writable: [],
  pid: 1,
};

const statusesOf = (view: SandboxView, ociRuntime?: string) =>
  Object.fromEntries(judgeView(view, ociRuntime).map(({ check, status }) => [check, status]));

describe("what is seen in a sandbox", () => {
  test("is well where it is closed", () => {
    expect(statusesOf(closed)).toEqual({
      python: "ok",
      network: "ok",
      "kernel-surface": "ok",
      "file-system": "ok",
      privileges: "ok",
    });
  });

  test.each<[string, Partial<SandboxView>, string]>([
    ["a way out by TCP", { connect: { ...closed.connect, tcp: "timeout" } }, "network"],
    ["a way out by UDP", { connect: { ...closed.connect, udp: null } }, "network"],
    ["an interface", { interfaces: ["lo", "eth0"] }, "network"],
    ["abstract sockets", { abstract_sockets: 3 }, "network"],
    ["AF_VSOCK", { families: { AF_VSOCK: null } }, "kernel-surface"],
    ["a user namespace", { user_namespace: null }, "kernel-surface"],
    ["no seccomp", { status: { ...closed.status, Seccomp: "0" } }, "kernel-surface"],
    ["a root that can be written", { root: flags }, "file-system"],
    ["a folder that can be written", { writable: ["/var/tmp"] }, "file-system"],
    [
      "a folder with programs",
      { folders: { ...closed.folders, "/tmp": { ...flags, noexec: false } } },
      "file-system",
    ],
    ["an engine's socket", { engine_sockets: ["/run/docker.sock"] }, "file-system"],
    ["no place to write", { unwritable_own: ["/tmp"] }, "file-system"],
    ["root", { uid: 0 }, "privileges"],
    ["a capability", { status: { ...closed.status, CapBnd: "00000000a80425fb" } }, "privileges"],
    ["capabilities that are not told", { status: { NoNewPrivs: "1", Seccomp: "2" } }, "privileges"],
    ["new privileges", { status: { ...closed.status, NoNewPrivs: "0" } }, "privileges"],
    ["the host's processes", { pid: 4711 }, "privileges"],
    ["an old Python", { python: "3.8.19" }, "python"],
    ["another Python", { implementation: "PyPy" }, "python"],
  ])("is a problem with %s", (_what, change, check) => {
    const bad = Object.entries(statusesOf({ ...closed, ...change })).filter(([, status]) => status !== "ok");
    expect(bad).toEqual([[check, "problem"]]);
  });

  test("takes for closed what gVisor shows, which drops two flags of mounts and shows no ambient capabilities", () => {
    const { CapAmb: _, ...status } = closed.status;
    const shown = { ...flags, nosuid: false, nodev: false };
    const folders = Object.fromEntries(Object.keys(closed.folders).map((path) => [path, shown]));
    const bad = (ociRuntime: string) =>
      Object.entries(statusesOf({ ...closed, status, folders }, ociRuntime)).filter(([, is]) => is !== "ok");
    expect(bad("/usr/bin/runsc")).toEqual([]);
    expect(bad("runc")).toEqual([["file-system", "problem"]]);
  });

  test("warns of a Python without modules", () => {
    const [python] = judgeView({ ...closed, missing_modules: ["ssl"] }, undefined);
    expect(python).toMatchObject({ status: "warning", found: expect.stringContaining("without ssl") });
  });

  test("warns of what the engine's configuration shows of the machine", () => {
    const findings = judgeView({ ...closed, foreign: ["/data", "/dev/kvm"] }, undefined);
    expect(findings.find(({ check }) => check === "file-system")).toMatchObject({
      status: "warning",
      found: expect.stringContaining("code sees /data, /dev/kvm of this machine"),
      remedy: expect.stringContaining("containers.conf"),
    });
  });

  // The program really looks: outside of a container hardly anything is as it should be.
  test("is open outside of a container", async () => {
    const [command = "", ...args] = VIEW_COMMAND;
    const { stdout } = await runChild({
      command,
      args,
      env: { PATH: process.env["PATH"] ?? "" },
      timeoutMs: 20_000,
    });
    const view = parseView(stdout);
    if (view === undefined) throw new Error(`not a view: ${stdout}`);
    expect(statusesOf(view)).toMatchObject({ "file-system": "problem", privileges: "problem" });
  });
});

describe("what came of trying the limits", () => {
  const strong: EngineInfo = {
    engine: "podman",
    version: "5.0.0",
    rootless: false,
    cgroupVersion: 2,
    ociRuntime: undefined,
    enforcesLimits: true,
    remote: false,
  };
  const weak: EngineInfo = { ...strong, rootless: true, cgroupVersion: 1, enforcesLimits: false };
  const memory = (text: string, code = 0, info = strong) =>
    judgeMemory(parseLimits(text), { code, stderr: "" }, 96 * MIB, info).status;
  const began = '{"limit": "memory", "started": true}\n';
  const line = (taken: number, killed: boolean, refused: boolean) =>
    began + JSON.stringify({ limit: "memory", taken, killed, refused });

  test.each([
    ["a killed program is well", memory(line(90 * MIB, true, false)), "ok"],
    ["a refused program is well", memory(line(80 * MIB, false, true)), "ok"],
    ["a killed container is well", memory(began, 137), "ok"],
    [
      "twice the memory is a problem of an engine that says otherwise",
      memory(line(192 * MIB, false, false)),
      "problem",
    ],
    [
      "twice the memory is a warning of one that says so",
      memory(line(192 * MIB, false, false), 0, weak),
      "warning",
    ],
    ["no answer is a warning", memory("Traceback …"), "warning"],
  ])("of memory: %s", (_what, status, expected) => {
    expect(status as string).toBe(expected);
  });

  test.each([
    [{ started: 31, refused: "EAGAIN" }, 0, strong, "ok"],
    [{ started: 64, refused: null }, 0, strong, "problem"],
    [{ started: 64, refused: null }, 0, weak, "warning"],
    ["started", 2, strong, "ok"],
    ["started", 0, strong, "warning"],
    [undefined, 0, strong, "warning"],
  ] as const)("of processes: %j and exit code %d", (pids, code, info, expected) => {
    expect(judgePids({ pids, memory: undefined }, { code, stderr: "" }, 32, info).status).toBe(expected);
  });

  test("says what mends a weak engine", () => {
    const finding = judgePids(
      { pids: { started: 64, refused: null }, memory: undefined },
      { code: 0, stderr: "" },
      32,
      weak,
    );
    expect(finding.remedy).toContain("cgroup version 2");
  });
});

describe("a start that failed", () => {
  test.each([
    [
      137,
      "was killed at its start, mostly for want of memory: it has 6 MiB",
      "export MCP_BRIDGE_MEMORY=512m",
    ],
    [127, "has no python3 on its PATH", "podman run --rm --network none --entrypoint python3 a:1 --version"],
    [1, "ended with 1: no luck", "podman run --rm --network none --entrypoint python3 a:1 --version"],
  ])("is explained by its exit code %d", (code, found, command) => {
    const failure = { code, stderr: code === 137 ? "" : "no luck\n" };
    const settings = { image: "a:1", ociRuntime: undefined, memoryBytes: 6 * MIB };
    const platform = `linux/${process.arch === "arm64" ? "arm64" : "amd64"}`;
    const finding = explainStart({ failure }, { platform }, { info: { engine: "podman" } }, settings);
    expect(finding).toMatchObject({
      check: "sandbox",
      status: "problem",
      found: expect.stringContaining(found),
      command,
    });
  });
});
