/** What code in the sandbox may do where it is (group A of our attacks). What it finds of others is in isolation.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startTarget, type Target } from "../helpers/attack.ts";
import { onTerminal } from "../helpers/command.ts";
import { isGvisor } from "../helpers/engine.ts";
import { createHome } from "../helpers/home.ts";
import { evaluate, PRELUDE, type Probe } from "../helpers/probe.ts";

const FOLDERS = ["/tmp", "/workspace", "/projects", "/dev/shm"];
/** EMFILE: a queue for messages, of which none may be made. */
const CLOSED = expect.stringMatching(/^E(ACCES|PERM|ROFS|NOENT|NOTDIR|MFILE)$/);
const FAILS = expect.stringMatching(/^E[A-Z]+$/);
const NONE = "0000000000000000";
/** Programs that try each call, and use what ordinary programs use; each prints an object. */
const program = (name: string) =>
  readFileSync(join(import.meta.dir, `../../container/programs/${name}.py`), "utf8");

let target: Target;
beforeAll(async () => {
  target = await startTarget();
});
afterAll(async () => {
  await target[Symbol.asyncDispose]();
});

const check = async (expression: string, expected: unknown) =>
  expect(await evaluate(target.bridge, expression)).toEqual(expected);

/** Runs a program in a process of its own and returns what it printed. */
async function runProgram(name: string): Promise<Readonly<Record<string, string>>> {
  const file = `/workspace/${name}.py`;
  await target.bridge.python(`_ = open("${file}", "w").write(${JSON.stringify(program(name))})`);
  const { text } = await target.bridge.python(
    `${PRELUDE}\nprint(*run(sys.executable, "-I", "${file}").__dict__.values(), sep="\\n")`,
  );
  try {
    return JSON.parse(text.split("\n").find((line) => line.startsWith("{")) ?? "");
  } catch {
    throw new Error(text);
  }
}

describe("ISO-4: nothing can be written:", () => {
  test.each([
    ...[
      "/",
      "/etc",
      "/usr",
      "/usr/bin",
      "/bin",
      "/lib",
      "/opt",
      "/run",
      "/var",
      "/var/tmp",
      "/var/lib",
      "/home",
      "/root",
    ],
    ...[
      "/srv",
      "/mnt",
      "/media",
      "/boot",
      "/dev",
      "/dev/mqueue",
      "/dev/pts",
      "/proc",
      "/proc/sys",
      "/proc/1",
      "/sys",
      "/sys/fs/cgroup",
    ],
  ])("no file in %s", async (folder) => {
    await check(`attempt(make, "${folder}/new-file")`, CLOSED);
  });

  test.each([
    "/etc/passwd",
    "/etc/hosts",
    "/etc/hostname",
    "/etc/resolv.conf",
    "/etc/ld.so.cache",
    "/run/.containerenv",
    "/.dockerenv",
  ])("not %s", async (path) => {
    await check(
      `[attempt(write, "${path}"), attempt(os.unlink, "${path}"), attempt(os.chmod, "${path}", 0o777)]`,
      [CLOSED, FAILS, FAILS],
    );
  });

  test("not Python, nor a folder anywhere else", async () => {
    await check(
      `[attempt(write, sys.executable), attempt(make, os.path.dirname(os.__file__) + "/new.py"),
        sorted({folder for folder, folders, files in os.walk("/") if not folder.startswith(("/proc/", "/sys/")) and attempt(make, folder + "/new-file") == "made"}
               - {folder for top in ${JSON.stringify(FOLDERS)} for folder, folders, files in os.walk(top)})]`,
      [CLOSED, CLOSED, []],
    );
  });

  test.each([
    ["/tmp", 64],
    ["/workspace", 128],
    ["/projects", 64],
    ["/dev/shm", 64],
  ])("%s is one of four folders, and has a size of its own", async (folder, mib) => {
    await check(
      `[attempt(make, "${folder}/new-file"), os.statvfs("${folder}").f_frsize * os.statvfs("${folder}").f_blocks / 2**20]`,
      ["made", mib],
    );
  });
});

describe("ISO-7: nobody, with no right, and no way to one:", () => {
  test.each<Probe>([
    ["user", "os.getresuid()", [65534, 65534, 65534]],
    ["group", "os.getresgid()", [65534, 65534, 65534]],
    ["groups beside it", "sorted(set(os.getgroups()) - {65534})", []],
    ...["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map(
      (set): Probe => [set, `status().get("${set}", "${NONE}").strip()`, NONE],
    ),
    ["no new privileges", "libc.prctl(39, 0, 0, 0, 0)", 1],
    ["a filter of calls", `status()["Seccomp"].strip()`, "2"],
    ["to become root", "attempt(os.setuid, 0)", "EPERM"],
    ["to become root's group", "attempt(os.setgid, 0)", "EPERM"],
    ["to get groups", "attempt(os.setgroups, [0])", "EPERM"],
    ["to become another user", "attempt(os.setresuid, 1000, 1000, 1000)", "EPERM"],
    ["a core", "resource.getrlimit(resource.RLIMIT_CORE)", [0, 0]],
    // gVisor schedules by itself, and lets them ask.
    ...(isGvisor ? [] : [["to be more important", "attempt(os.nice, -5)", CLOSED] as const]),
    ["to change its root", `attempt(os.chroot, "/tmp")`, "EPERM"],
  ])("%s", async (_title, expression, expected) => {
    await check(expression, expected);
  });
});

describe("ISO-8: no namespace is made:", () => {
  const flags = {
    mount: 0x20000,
    cgroup: 0x2000000,
    uts: 0x4000000,
    ipc: 0x8000000,
    user: 0x10000000,
    pid: 0x20000000,
    net: 0x40000000,
  };
  test.each(Object.entries(flags))("%s", async (_name, flag) => {
    await check(
      `[call(libc.unshare, ${flag}), call(libc.syscall, ctypes.c_long({"x86_64": 56, "aarch64": 220}[platform.machine()]), ctypes.c_long(${flag} | 17), *[ctypes.c_long(0)] * 4)]`,
      ["EPERM", "EPERM"],
    );
  });
  test("user, by a newer call", async () => {
    // Newer gVisors know it, and make a namespace that is gVisor's own alone.
    const expected = isGvisor ? expect.anything() : "ENOSYS";
    const call = "call(libc.syscall, 435, ctypes.byref(args), ctypes.c_long(64))";
    await check(`(lambda args: ${call})((ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, 17, 0, 0, 0))`, expected);
  });

  test("nor is one entered, nor are users mapped", async () => {
    await check(
      `[call(libc.setns, -1, 0x10000000), attempt(write, "/proc/self/uid_map", "0 65534 1"), attempt(write, "/proc/self/setgroups", "allow")]`,
      ["EPERM", "EPERM", CLOSED],
    );
  });
});

test("ISO-9: every call that reaches further than the sandbox is refused", async () => {
  const answers = await runProgram("refused_calls");
  expect(Object.keys(answers).length).toBeGreaterThan(200);
  const reached = Object.entries(answers).filter(([, answer]) => answer !== "EPERM");
  expect(Object.fromEntries(reached)).toEqual({ clone3: isGvisor ? FAILS : "ENOSYS" });
});

describe("ISO-10: no device but harmless ones:", () => {
  // What gVisor calls a device is a part of gVisor: there is nothing of the machine behind it.
  const harmless = isGvisor
    ? "/dev/(null|zero|full|random|urandom|tty|ptmx|pts/ptmx|fuse|net/tun)"
    : "/dev/(null|zero|full|random|urandom|tty|ptmx|console|pts/ptmx)";
  test.each<Probe>([
    [
      "in /dev",
      `sorted(name for root, folders, files in os.walk("/dev") for name in (os.path.join(root, file) for file in files)
              if (stat.S_ISBLK(os.lstat(name).st_mode) or stat.S_ISCHR(os.lstat(name).st_mode)) and not re.fullmatch("${harmless}", name))`,
      [],
    ],
    ["no disk is made", `attempt(os.mknod, "/tmp/disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0))`, "EPERM"],
    ["no memory is made", `attempt(os.mknod, "/tmp/mem", 0o600 | stat.S_IFCHR, os.makedev(1, 1))`, "EPERM"],
    [
      "not even a null is made",
      `attempt(os.mknod, "/tmp/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))`,
      "EPERM",
    ],
    [
      "no terminal is there",
      `attempt(os.open, "/dev/tty", os.O_RDWR)`,
      expect.stringMatching(/^E(NXIO|IO|NOENT|ACCES|PERM)$/),
    ],
    ["none at its streams", "[os.isatty(fd) for fd in (0, 1, 2)]", [false, false, false]],
    ["none takes typed keys", `call(libc.ioctl, 0, ctypes.c_long(0x5412), b"x")`, "EPERM"],
  ])("%s", async (_title, expression, expected) => {
    await check(expression, expected);
  });

  test("also when it was started from a terminal", async () => {
    using home = createHome();
    const code =
      "import os\ntry: print('tty', os.open('/dev/tty', os.O_RDWR))\nexcept OSError as e: print('refused', [os.isatty(fd) for fd in (0, 1, 2)])";
    expect((await onTerminal(["run", "-c", code], "", { home })).screen).toContain(
      "refused [False, False, False]",
    );
  });
});

describe("ISO-11: nothing of the host is seen in", () => {
  test.each([
    ...[
      "/proc/kcore",
      "/proc/keys",
      "/proc/timer_list",
      "/proc/sched_debug",
      "/proc/scsi",
      "/proc/acpi",
      "/proc/kmsg",
      "/proc/kpagecount",
    ],
    ...[
      "/sys/firmware",
      "/sys/devices/virtual/powercap",
      "/sys/kernel/security",
      "/sys/kernel/debug",
      "/sys/kernel/tracing",
      "/sys/fs/bpf",
    ],
  ])("%s", async (path) => {
    await check(
      `(lambda seen: seen if isinstance(seen, str) and re.fullmatch("E[A-Z]+", seen) else "" if len(seen) == 0 else repr(seen))(
        attempt(os.listdir, "${path}") if os.path.isdir("${path}") else attempt(read, "${path}", 64))`,
      expect.stringMatching(/^(E(ACCES|PERM|NOENT))?$/),
    );
  });
});

describe("ISO-11: nothing is changed in", () => {
  test.each([
    ...[
      "/proc/sys/kernel/core_pattern",
      "/proc/sysrq-trigger",
      "/proc/sys/vm/overcommit_memory",
      "/proc/sys/kernel/hostname",
      "/proc/sys/fs/file-max",
    ],
    ...[
      "/proc/sys/net/ipv4/ip_forward",
      "/proc/irq/default_smp_affinity",
      "/sys/kernel/mm/ksm/run",
      "/sys/kernel/uevent_helper",
      "/sys/power/state",
    ],
    ...[
      "/sys/fs/cgroup/memory.max",
      "/sys/fs/cgroup/cgroup.procs",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes",
      "/sys/fs/cgroup/pids/cgroup.procs",
      "/sys/fs/cgroup/devices/release_agent",
    ],
  ])("%s", async (path) => {
    await check(`attempt(write, "${path}", "1")`, CLOSED);
  });

  // In gVisor that is a number that nobody reads.
  test.skipIf(isGvisor)("what the kernel kills first", async () => {
    await check(`attempt(write, "/proc/self/oom_score_adj", "-1000")`, CLOSED);
  });
});

describe("ISO-12: a program", () => {
  /** What a program that runs says of its rights. */
  const rights = `import os; print(os.getresuid(), open("/proc/self/status").read().split("CapEff:")[1].split()[0])`;

  test.each(FOLDERS)("in %s does not run, whatever its mode", async (folder) => {
    await check(
      `(lambda path: [open(path, "wb").write(open(sys.executable, "rb").read(1 << 16)) > 0, attempt(os.chmod, path, 0o6755), attempt(lambda: run(path) and "ran"), os.unlink(path)])("${folder}/program")`,
      [true, null, "EACCES", null],
    );
  });

  // gVisor maps them: noexec is no boundary.
  test.skipIf(isGvisor).each(FOLDERS)("in %s is not mapped to run", async (folder) => {
    await check(
      `(lambda path: [open(path, "wb").write(bytes(4096)), attempt(lambda fd: mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC) and "mapped", os.open(path, os.O_RDONLY)), os.unlink(path)])("${folder}/program")`,
      [4096, "EPERM", null],
    );
  });

  test("in a file without a name gains nothing", async () => {
    await check(
      `(lambda fd: [os.write(fd, b"#!" + os.path.realpath(sys.executable).encode() + b" -I\\n" + ${JSON.stringify(rights)}.encode()) > 0, os.fchmod(fd, 0o6777),
         subprocess.run([f"/proc/self/fd/{fd}"], pass_fds=[fd], capture_output=True, text=True).stdout])(os.memfd_create("program", 0))`,
      [true, null, `(65534, 65534, 65534) ${NONE}\n`],
    );
  });
});

describe("ISO-16: ordinary Python works:", () => {
  test("threads, processes, files, sockets, waiting, databases", async () => {
    const { process_descriptors: descriptors, ...failures } = await runProgram("allowed_calls");
    expect(failures).toEqual({});
    if (!isGvisor) expect(descriptors).toBeUndefined(); // older ones have none
  });

  test.each<Probe>([
    [
      "a home that can be written",
      `[os.path.expanduser("~"), attempt(make, os.path.expanduser("~/new-file"))]`,
      ["/workspace", "made"],
    ],
    [
      "temporary files",
      `(lambda file: [file.name.startswith("/tmp/"), file.write(b"x")])(__import__("tempfile").NamedTemporaryFile())`,
      [true, 1],
    ],
    [
      "a name of this machine",
      `[socket.gethostname(), socket.gethostbyname("localhost")]`,
      ["sandbox", "127.0.0.1"],
    ],
    ["a cache for pictures", `attempt(os.makedirs, os.environ["MPLCONFIGDIR"], 0o700, True)`, null],
    [
      "modules in C",
      `[bool(__import__(name)) for name in ("sqlite3", "ssl", "ctypes", "zlib", "hashlib", "decimal")]`,
      [true, true, true, true, true, true],
    ],
  ])("%s", async (_title, expression, expected) => {
    await check(expression, expected);
  });
});
