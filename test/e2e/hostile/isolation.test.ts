/** Code that looks for a way out of its container, or into another (group A of our attacks). Its flags are in isolation.test.ts. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startTarget, type Target } from "../helpers/attack.ts";
import { isGvisor } from "../helpers/engine.ts";

const CANARY = "SANDPY_HOST_CANARY";

let target: Target;
let neighbour: Target;
beforeAll(async () => {
  [target, neighbour] = await Promise.all([startTarget(), startTarget()]);
  for (const { bridge } of [target, neighbour]) {
    writeFileSync(join(bridge.home.path, `.${CANARY}`), "x");
  }
});
afterAll(async () => {
  await Promise.all([target[Symbol.asyncDispose](), neighbour[Symbol.asyncDispose]()]);
});

const PRELUDE = `
import errno, json, os, signal, socket, stat, subprocess, sys
def attempt(work):
    try: return work()
    except OSError as error: return errno.errorcode.get(error.errno, str(error))`;

/** What an expression is in the sandbox, by its JSON. */
async function evaluate(expression: string, { bridge } = target): Promise<unknown> {
  const { text } = await bridge.python(`${PRELUDE}\nprint(json.dumps(${expression}))`);
  return JSON.parse(text.split("\n")[0] ?? "");
}

test("ISO-3: no socket of an engine, an agent or a desktop is in reach, named or abstract", async () => {
  const found = await evaluate(`[
    sorted(os.path.join(root, name) for top in ("/run", "/var", "/tmp", "/workspace", "/projects", "/dev")
           for root, folders, files in os.walk(top) for name in folders + files
           if attempt(lambda: stat.S_ISSOCK(os.lstat(os.path.join(root, name)).st_mode)) is True),
    [line.split()[-1] for line in open("/proc/net/unix").read().splitlines()[1:] if len(line.split()) > 7],
    sorted(name for name in os.environ if name in ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST") and os.environ[name]),
  ]`);
  expect(found).toEqual([[], [], []]);
});

test("ISO-5: no file of the host is in reach, by whatever path", async () => {
  const { path } = target.bridge.home;
  const found = await evaluate(`[
    [os.path.join(root, name) for top in ("/root", "/home", "/mnt", "/media", "/srv", "/host", "/projects", "/proc/1/root", "/proc/self/root", "/proc/1/cwd")
     for root, folders, files in os.walk(top) for name in files if "${CANARY}" in name],
    [each for each in [top + "/etc/shadow" for top in ("", "/proc/1/root", "/projects/..", "/proc/self/root")] if attempt(lambda: open(each).read(1)) == "r"],
    os.path.exists(${JSON.stringify(path)}),
    [line.split()[4] for line in open("/proc/self/mountinfo") if ${JSON.stringify(path)} in line],
  ]`);
  expect(found).toEqual([[], [], false, []]);
});

test("ISO-10: there are no devices but harmless ones, none can be made, and there is no terminal", async () => {
  const devices = (await evaluate(
    `sorted(name for root, _, files in os.walk("/dev") for name in (os.path.join(root, file) for file in files)
            if stat.S_ISBLK(os.lstat(name).st_mode) or stat.S_ISCHR(os.lstat(name).st_mode))`,
  )) as string[];
  // What gVisor calls a device is a part of gVisor: there is nothing of the machine behind it.
  const harmless = isGvisor
    ? /^\/dev\/(null|zero|full|random|urandom|tty|ptmx|pts\/ptmx|fuse|net\/tun)$/
    : /^\/dev\/(null|zero|full|random|urandom|tty|ptmx|console|pts\/ptmx)$/;
  expect(devices.filter((name) => !harmless.test(name))).toEqual([]);
  const tried = await evaluate(`[
    attempt(lambda: os.mknod("/tmp/disk", 0o600 | stat.S_IFBLK, os.makedev(8, 0)) or "made"),
    attempt(lambda: os.mknod("/tmp/mem", 0o600 | stat.S_IFCHR, os.makedev(1, 1)) or "made"),
    attempt(lambda: os.open("/dev/tty", os.O_RDWR)),
    [os.isatty(fd) for fd in (0, 1, 2)],
  ]`);
  expect(tried).toEqual([
    "EPERM",
    "EPERM",
    expect.stringMatching(/^E(NXIO|IO|NOENT|ACCES|PERM)$/),
    [false, false, false],
  ]);
});

test("ISO-11: what /proc and /sys say of the host is hidden, and nothing in them can be changed", async () => {
  const hidden = await evaluate(`[
    path for path in ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap", "/sys/kernel/security", "/sys/kernel/debug")
    if isinstance(seen := attempt(lambda: os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(64)), (list, bytes)) and seen]`);
  expect(hidden).toEqual([]);
  const changed = await evaluate(`[
    path for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/overcommit_memory", "/sys/kernel/mm/ksm/run", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/cgroup.procs")
    if isinstance(attempt(lambda: os.open(path, os.O_WRONLY)), int)]`);
  expect(changed).toEqual([]);
  if (isGvisor) return; // a number there that nobody reads
  const score = `attempt(lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000"))`;
  expect(await evaluate(score)).toMatch(/^E(ACCES|PERM)$/);
});

test("ISO-12: programs from memory gain nothing, and no setuid program does", async () => {
  const outcome = await evaluate(`[
    [attempt(lambda: (open(f"{folder}/id", "wb").write(open(sys.executable, "rb").read(1 << 16)), os.chmod(f"{folder}/id", 0o4755), subprocess.run([f"{folder}/id"]))[2] and "ran")
     for folder in ("/tmp", "/workspace", "/projects", "/dev/shm")],
    sorted({line.split()[5] for line in open("/proc/self/mountinfo") if line.split()[4] in ("/tmp", "/workspace", "/projects", "/dev/shm")
            for flag in ${isGvisor ? '("noexec",)' : '("nosuid", "nodev", "noexec")'} if flag not in line.split()[5]}),
    subprocess.run([sys.executable, "-c", "import os\\nprint(os.getuid(), open('/proc/self/status').read().split('CapEff:')[1].split()[0])"], capture_output=True, text=True).stdout.split(),
  ]`);
  expect(outcome).toEqual([["EACCES", "EACCES", "EACCES", "EACCES"], [], ["65534", "0000000000000000"]]);
});

test("ISO-13: only its own processes are in sight, and killing all of them costs the session alone", async () => {
  const others = await evaluate(
    `[open(f"/proc/{pid}/cmdline").read().split("\\0")[0] for pid in os.listdir("/proc") if pid.isdigit()]`,
  );
  expect((others as string[]).length).toBeLessThan(8);
  expect(others).toEqual((others as string[]).map(() => expect.stringMatching(/python|^\/|catatonit|init/)));
  await target.attack({
    code: `${PRELUDE}
print([attempt(lambda: os.kill(1, each)) for each in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL)], attempt(lambda: os.kill(-1, signal.SIGKILL)))`,
    state: "either",
    next: /./,
    withinMs: 5000,
  });
  await target.attack({
    code: `${PRELUDE}\nos.kill(os.getpid(), signal.SIGKILL)`,
    says: /Python was restarted/,
    state: "lost",
    withinMs: 5000,
  });
});

test("ISO-17: what one sandbox leaves anywhere, another does not see", async () => {
  await neighbour.bridge.python(`${PRELUDE}
for folder in ("/tmp", "/workspace", "/projects", "/dev/shm"): open(f"{folder}/left", "w").write("x")
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0left"); abstract.listen()
listener = socket.create_server(("127.0.0.1", 4711))
os.environ["LEFT"] = "x"`);
  const look = `[
    [folder for folder in ("/tmp", "/workspace", "/projects", "/dev/shm") if os.path.exists(f"{folder}/left")],
    attempt(lambda: socket.socket(socket.AF_UNIX).connect("\\0left") or "reached"),
    attempt(lambda: socket.create_connection(("127.0.0.1", 4711), 1) and "reached"),
    os.environ.get("LEFT", ""),
  ]`;
  const all = [["/tmp", "/workspace", "/projects", "/dev/shm"], "reached", "reached", "x"];
  expect(await evaluate(look, neighbour)).toEqual(all); // so it would be seen
  expect(await evaluate(look)).toEqual([[], "ECONNREFUSED", "ECONNREFUSED", ""]);
});

test("ISO-18: one user's sandboxes cannot signal each other", async () => {
  await neighbour.bridge.python("witness = 'untouched'");
  await target.bridge.python(
    `${PRELUDE}\nfor pid in range(2, 5000):\n    if pid != os.getpid(): attempt(lambda: os.kill(pid, signal.SIGKILL))`,
  );
  expect((await neighbour.bridge.python("witness")).text).toBe("'untouched'");
});
