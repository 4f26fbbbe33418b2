import { describe, expect, test } from "bun:test";
import { buildRunArgs, checkImage, checkUser, type RunPlan } from "../../src/container/run-args.ts";
import { BridgeError } from "../../src/core/errors.ts";

const MIB = 1024 * 1024;

const plan: RunPlan = {
  engine: "podman",
  remote: false,
  rootless: false,
  isLabelled: false,
  ociRuntime: undefined,
  spec: {
    image: "python:3.14-slim",
    user: "65534:65534",
    limits: { memoryBytes: 512 * MIB, pids: 128, cpus: undefined, projectsBytes: 64 * MIB },
    command: ["python3", "-I", "-c", "pass"],
  },
  name: "sandpy-abc-1",
  labels: { "io.sandpy.instance": "abc", "io.sandpy.pid": "7" },
  seccompProfile: "/cache/seccomp.json",
  hardLimits: { openFiles: 524_288, processes: 90_000 },
  imageVolumes: [],
};

/** One flag with its value on each line, as a person would read it. */
function render(args: readonly string[]): string {
  return args.join(" ").replaceAll(" --", "\n--");
}

describe("the arguments for podman", () => {
  test("carry every flag of the isolation, the limits and the environment", () => {
    expect(render(buildRunArgs(plan))).toMatchInlineSnapshot(`
      "run
      --rm
      --interactive
      --name sandpy-abc-1
      --pull never
      --network none
      --read-only
      --cap-drop ALL
      --security-opt no-new-privileges
      --security-opt seccomp=/cache/seccomp.json
      --user 65534:65534
      --ipc private
      --cgroupns private
      --log-driver none
      --stop-timeout 0
      --tmpfs /tmp:rw,noexec,nosuid,nodev,size=67108864,mode=1777,U
      --tmpfs /workspace:rw,noexec,nosuid,nodev,size=134217728,mode=1777,U
      --tmpfs /projects:rw,noexec,nosuid,nodev,size=67108864,mode=0700,U
      --read-only-tmpfs=false
      --image-volume ignore
      --systemd=false
      --tmpfs /dev/shm:rw,noexec,nosuid,nodev,size=67108864,mode=1777,U
      --pid private
      --uts private
      --sdnotify ignore
      --detach-keys=
      --memory 536870912
      --memory-swap 536870912
      --pids-limit 128
      --ulimit core=0:0
      --ulimit msgqueue=0:0
      --ulimit nofile=1024:4096
      --ulimit nproc=16384
      --label io.sandpy.instance=abc
      --label io.sandpy.pid=7
      --http-proxy=false
      --env-host=false
      --env HOME=/workspace
      --env LANG=C.UTF-8
      --env TMPDIR=/tmp
      --env MPLCONFIGDIR=/tmp/matplotlib
      --workdir /workspace
      --hostname sandbox
      --no-healthcheck
      --entrypoint python3 python:3.14-slim -I -c pass"
    `);
  });

  test("leave out the flags that a client of a podman elsewhere refuses", () => {
    const missing = buildRunArgs(plan).filter(
      (arg) => !buildRunArgs({ ...plan, remote: true }).includes(arg),
    );
    expect(missing).toEqual(["--detach-keys=", "--env-host=false"]);
  });

  test("name the OCI runtime before the command", () => {
    expect(buildRunArgs({ ...plan, ociRuntime: "runc" }).slice(0, 4)).toEqual([
      "--runtime",
      "runc",
      "run",
      "--rm",
    ]);
  });

  test.each(["runsc", "/usr/local/bin/runsc", "runsc-kvm"])(
    "tell gVisor (%s) what it would not do",
    (name) => {
      const told = [
        "--runtime",
        name,
        "--runtime-flag",
        "network=none",
        "--runtime-flag",
        "oci-seccomp",
        "run",
      ];
      expect(buildRunArgs({ ...plan, ociRuntime: name }).slice(0, told.length)).toEqual(told);
      // Docker's daemon has them.
      const docker = buildRunArgs({ ...plan, engine: "docker", ociRuntime: name });
      expect(docker.slice(0, 4)).toEqual(["run", "--runtime", name, "--rm"]);
    },
  );
});

describe("the arguments for docker", () => {
  test("carry every flag of the isolation, the limits and the environment", () => {
    expect(render(buildRunArgs({ ...plan, engine: "docker" }))).toMatchInlineSnapshot(`
      "run
      --rm
      --interactive
      --name sandpy-abc-1
      --pull never
      --network none
      --read-only
      --cap-drop ALL
      --security-opt no-new-privileges
      --security-opt seccomp=/cache/seccomp.json
      --user 65534:65534
      --ipc private
      --cgroupns private
      --log-driver none
      --stop-timeout 0
      --tmpfs /tmp:rw,noexec,nosuid,nodev,size=67108864,mode=1777,uid=65534,gid=65534,nr_inodes=40000
      --tmpfs /workspace:rw,noexec,nosuid,nodev,size=134217728,mode=1777,uid=65534,gid=65534,nr_inodes=40000
      --tmpfs /projects:rw,noexec,nosuid,nodev,size=67108864,mode=0700,uid=65534,gid=65534,nr_inodes=20000
      --dns 192.0.2.1
      --dns-search .
      --memory 536870912
      --memory-swap 536870912
      --pids-limit 128
      --shm-size 67108864
      --ulimit core=0:0
      --ulimit msgqueue=0:0
      --ulimit nofile=1024:4096
      --label io.sandpy.instance=abc
      --label io.sandpy.pid=7
      --env HOME=/workspace
      --env LANG=C.UTF-8
      --env TMPDIR=/tmp
      --env MPLCONFIGDIR=/tmp/matplotlib
      --env HTTP_PROXY=
      --env http_proxy=
      --env HTTPS_PROXY=
      --env https_proxy=
      --env FTP_PROXY=
      --env ftp_proxy=
      --env NO_PROXY=
      --env no_proxy=
      --env ALL_PROXY=
      --env all_proxy=
      --workdir /workspace
      --hostname sandbox
      --no-healthcheck
      --entrypoint python3 python:3.14-slim -I -c pass"
      `);
  });

  test("name the OCI runtime after the command", () => {
    const args = buildRunArgs({ ...plan, engine: "docker", ociRuntime: "runc" });
    expect(args.slice(0, 4)).toEqual(["run", "--runtime", "runc", "--rm"]);
  });

  test("cover the image's volumes, but not our own folders", () => {
    const args = buildRunArgs({ ...plan, engine: "docker", imageVolumes: ["/data", "/tmp", "/workspace/"] });
    const mounts = args.filter((_, index) => args[index - 1] === "--tmpfs");
    expect(mounts.map((mount) => mount.split(":")[0])).toEqual(["/tmp", "/workspace", "/projects", "/data"]);
    expect(mounts.at(-1)).toBe("/data:ro,noexec,nosuid,nodev,size=4096");
  });

  test("ISO-19: are refused for an image whose volume would be read as mount options", () => {
    expect(failureOf(() => buildRunArgs({ ...plan, engine: "docker", imageVolumes: ["/data:rw"] }))).toEqual({
      code: "CONFIG_INVALID",
      message: 'the image declares a volume "/data:rw"',
    });
  });
});

test.each([
  [{ openFiles: 512, processes: 100 }, ["core=0:0", "msgqueue=0:0", "nofile=512:512", "nproc=100"]],
  [{ openFiles: 2000, processes: 50_000 }, ["core=0:0", "msgqueue=0:0", "nofile=1024:2000", "nproc=16384"]],
  [{ openFiles: undefined, processes: undefined }, ["core=0:0", "msgqueue=0:0", "nofile=1024:4096"]],
])("stays at or below the bridge's own hard limits %p", (hardLimits, expected) => {
  const args = buildRunArgs({ ...plan, hardLimits });
  expect(args.filter((_, index) => args[index - 1] === "--ulimit")).toEqual(expected);
});

test("passes a limit of cores when there is one", () => {
  const limits = { ...plan.spec.limits, cpus: 1.5 };
  const args = buildRunArgs({ ...plan, spec: { ...plan.spec, limits } });
  expect(args[args.indexOf("--cpus") + 1]).toBe("1.5");
});

test.each([
  "python",
  "python:3.14-slim",
  "localhost/lab:1",
  "registry.example:5000/team/sub/python:3.14",
  "registry.example/library/python@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
  "[::1]:5000/python",
  "50c953b20a88",
])("takes %p as an image", (image) => {
  expect(() => checkImage(image)).not.toThrow();
});

test.each([
  "",
  "-v/:/h",
  "--privileged",
  "python 3",
  "python\n",
  " python",
  "Python",
  "oci-archive:/etc/passwd",
  "docker://python",
  "/etc/passwd",
  "./python",
  "../python",
  "python:",
  "python:-x",
  "python@sha256:xyz",
  "a//b",
  "p\u0000",
  `a${"a".repeat(600)}`,
])("ISO-19: refuses %p as an image", (image) => {
  expect(failureOf(() => checkImage(image))).toEqual({
    code: "CONFIG_INVALID",
    message: `${JSON.stringify(image)} is not the name of a container image`,
  });
});

test.each(["65534:65534", "1:0", "4294967294:1"])("takes %p as a user", (user) => {
  expect(() => checkUser(user)).not.toThrow();
});

test.each([
  "",
  "0:0",
  "0:65534",
  "nobody",
  "65534",
  "65534:",
  ":1",
  "-1:1",
  "1:1:1",
  "4294967295:1",
  "1:1 ",
  "1:1\n",
])("ISO-19: refuses %p as a user", (user) => {
  expect(failureOf(() => checkUser(user))).toEqual({
    code: "CONFIG_INVALID",
    message: `${JSON.stringify(user)} is not a user for the sandbox`,
  });
});

function failureOf(action: () => unknown): { readonly code: string; readonly message: string } | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof BridgeError) return { code: error.code, message: error.message };
    throw error;
  }
  return undefined;
}
