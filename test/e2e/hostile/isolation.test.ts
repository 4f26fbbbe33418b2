/** What code in the sandbox finds of the world outside, or of another sandbox (group A of our attacks). What it may do where it is: confinement.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { startTarget, type Target } from "../helpers/attack.ts";
import { BINARY, bridgeEnv, isGvisor } from "../helpers/engine.ts";
import { createHome } from "../helpers/home.ts";
import { evaluate, PRELUDE, type Probe } from "../helpers/probe.ts";

const CANARY = "SANDPY_HOST_CANARY";
/** As the value of a variable, of a file and of a server's secret. */
const SECRET = `canary-${process.pid}-of-the-host`;
const ABSTRACT = `sandpy-of-the-host-${process.pid}`;
/** The last two: no IPv6 at all. */
const AWAY = /^E(NETUNREACH|HOSTUNREACH|ADDRNOTAVAIL|AFNOSUPPORT)$/;
const CLOSED = expect.stringMatching(/^E(ACCES|PERM|ROFS|NOENT|NOTDIR)$/);

let target: Target;
let neighbour: Target;
let contacts = 0;
const socket = { open: () => void contacts++, data: () => undefined };
const listener = Bun.listen({ hostname: "0.0.0.0", port: 0, socket });
const agent = process.platform === "linux" ? Bun.listen({ unix: `\0${ABSTRACT}`, socket }) : undefined;

beforeAll(async () => {
  [target, neighbour] = await Promise.all([startTarget({ SECRET_OF_THE_HOST: SECRET }), startTarget()]);
  const { home } = target.bridge;
  writeFileSync(join(home.path, `.${CANARY}`), SECRET);
  home.defineServers({ safe: { command: "/bin/cat", args: [SECRET], env: { TOKEN: SECRET } } });
});
afterAll(async () => {
  listener.stop(true);
  agent?.stop(true);
  await Promise.all([target[Symbol.asyncDispose](), neighbour[Symbol.asyncDispose]()]);
});

const check = async (expression: string, expected: unknown) =>
  expect(await evaluate(target.bridge, expression)).toEqual(expected);

describe("ISO-1: no network:", () => {
  const timed = (work: string) =>
    `(lambda start: [attempt(lambda: ${work} and "reached"), time.monotonic() - start < 3])(time.monotonic())`;
  const failsAtOnce = [expect.stringMatching(AWAY), true];
  const tcp = (host: string, port: number) => timed(`socket.create_connection(("${host}", ${port}), 2)`);
  const udp = (family: string, host: string) =>
    timed(`socket.socket(socket.${family}, socket.SOCK_DGRAM).sendto(b"canary", ("${host}", 53))`);
  const name = (host: string) => timed(`socket.getaddrinfo("${host}", 80)`);
  const unknown = [expect.stringMatching(/name resolution|not known|No address/), true];
  test.each<Probe>([
    [
      "the only interface is loopback",
      `[line.split(":")[0].strip() for line in read("/proc/net/dev").splitlines()[2:]]`,
      ["lo"],
    ],
    ["no route leads out", `len(read("/proc/net/route").splitlines()[1:])`, 0],
    ["TCP", tcp("1.1.1.1", 53), failsAtOnce],
    ["TCP over IPv6", tcp("2606:4700:4700::1111", 53), failsAtOnce],
    ["metadata of a cloud", tcp("169.254.169.254", 80), failsAtOnce],
    ["the gateway of a rootless engine", tcp("10.0.2.2", 80), failsAtOnce],
    ["the gateway of docker's bridge", tcp("172.17.0.1", 2375), failsAtOnce],
    ["the gateway of an engine's machine", tcp("192.168.127.1", 80), failsAtOnce],
    ["UDP", udp("AF_INET", "1.1.1.1"), failsAtOnce],
    ["UDP over IPv6", udp("AF_INET6", "2606:4700:4700::1111"), failsAtOnce],
    ["names", name("example.com"), unknown],
  ])("%s", async (_title, expression, expected) => {
    await check(expression, expected);
  });

  test("a listener of the host hears nothing, by whatever address", async () => {
    const addresses = Object.values(networkInterfaces())
      .flatMap((each = []) => each)
      .flatMap(({ family, address }) => (family === "IPv4" ? [address] : []));
    expect(addresses).toContain("127.0.0.1");
    contacts = 0;
    const outcomes = await evaluate(
      target.bridge,
      `[attempt(lambda: socket.create_connection((each, ${listener.port}), 2) and "reached")
        for each in ${JSON.stringify([...addresses, "host.containers.internal", "host.docker.internal"])}]`,
    );
    expect(outcomes).not.toContain("reached");
    expect(contacts).toBe(0);
  });
});

describe("ISO-2: no socket", () => {
  test.each([
    ["of vsock", "40, socket.SOCK_STREAM, 0"],
    ["of the kernel's crypto", "38, socket.SOCK_SEQPACKET, 0"],
    ["of netlink", "16, socket.SOCK_RAW, 0"],
    ["of packets", "17, socket.SOCK_RAW, 0"],
    ["of XDP", "44, socket.SOCK_RAW, 0"],
    ["of bluetooth", "31, socket.SOCK_RAW, 0"],
    ["for raw IP", "2, socket.SOCK_RAW, 255"],
    ["for pings", "2, socket.SOCK_DGRAM, 1"],
    ["for SCTP", "2, socket.SOCK_STREAM, 132"],
    ["for multipath TCP", "2, socket.SOCK_STREAM, 262"],
  ])("%s is made, and that by policy", async (_title, args) => {
    await check(`call(libc.socket, ${args})`, "EPERM");
  });

  test("of any other family, nor a pair, is made", async () => {
    await check(
      `sorted({call(work, family, kind, 0, *more) for family in range(64) if family not in (1, 2, 10) for kind in (1, 2, 3, 5)
               for work, more in ((libc.socket, ()), (libc.socketpair, ((ctypes.c_int * 2)(),)))}, key=str)`,
      ["EPERM"],
    );
  });
});

describe("ISO-3: nothing listens for an engine, an agent or a desktop:", () => {
  test.each<Probe>([
    [
      "no file is a socket",
      `[name for top in ("/run", "/var", "/tmp", "/workspace", "/projects", "/dev", "/etc", "/home", "/root") for root, folders, files in os.walk(top)
        for name in (os.path.join(root, each) for each in folders + files) if attempt(lambda: stat.S_ISSOCK(os.lstat(name).st_mode)) is True]`,
      [],
    ],
    [
      "no known path exists",
      `[each for each in ("/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock", "/run/user/1000/podman/podman.sock",
        "/run/dbus/system_bus_socket", "/run/systemd/private", "/tmp/.X11-unix/X0") if os.path.lexists(each)]`,
      [],
    ],
    [
      "no abstract socket is in sight",
      `[line.split()[-1] for line in read("/proc/net/unix").splitlines()[1:] if len(line.split()) > 7]`,
      [],
    ],
    [
      "no variable names one",
      `[name for name in ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST", "NOTIFY_SOCKET")
        if os.environ.get(name)]`,
      [],
    ],
  ])("%s", async (_title, expression, expected) => {
    await check(expression, expected);
  });

  test.if(agent !== undefined)("an abstract socket of the host is not reached", async () => {
    contacts = 0;
    await check(
      `attempt(lambda: socket.socket(socket.AF_UNIX).connect("\\0${ABSTRACT}") or "reached")`,
      "ECONNREFUSED",
    );
    expect(contacts).toBe(0);
    (await Bun.connect({ unix: `\0${ABSTRACT}`, socket: { data: () => undefined } })).end(); // so it would be
    expect(contacts).toBe(1);
  });
});

describe("ISO-5: no file of the host:", () => {
  test.each([
    ...["/root", "/home", "/mnt", "/media", "/srv", "/host", "/projects", "/workspace", "/tmp", "/var"],
    ...["/proc/1/root", "/proc/1/cwd", "/proc/self/cwd/..", "/projects/../home"],
  ])("below %s", async (top) => {
    await check(
      `[name for root, folders, files in os.walk("${top}") for name in files if "${CANARY}" in name]`,
      [],
    );
  });

  test.each(["", "/proc/1/root", "/proc/self/root", "/projects/.."].map((top) => `${top}/etc/shadow`))(
    "not %s",
    async (path) => {
      await check(`attempt(read, "${path}")`, CLOSED);
    },
  );

  test("not the home of whoever started it, in files or mounts", async () => {
    const path = JSON.stringify(target.bridge.home.path);
    await check(`[os.path.exists(${path}), [each for each in mounts() if ${path} in " ".join(each)]]`, [
      false,
      [],
    ]);
  });

  test("not its resolvers and domains", async () => {
    const own = existsSync("/etc/resolv.conf") ? readFileSync("/etc/resolv.conf", "utf8") : "";
    const words = own.match(/(?<=^(?:nameserver|search|domain)\s.*)[\w.:-]{4,}/gm) ?? [];
    await check(
      `[each for each in ${JSON.stringify(words)} if each in str(attempt(read, "/etc/resolv.conf"))]`,
      [],
    );
  });

  test("none is mounted but the few that the engine makes for each container", async () => {
    await check(
      `sorted(each[4] for each in mounts() if each[each.index("-") + 1] not in
              ("tmpfs", "proc", "sysfs", "devpts", "mqueue", "cgroup", "cgroup2", "overlay", "fuse.fuse-overlayfs", "devtmpfs")
              and each[4] not in ("/", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/run/.containerenv"))`,
      [],
    );
  });
});

describe("ISO-6: no secret of the host", () => {
  const among = (paths: string) =>
    `[path for path in ${paths} if "canary-" in str(attempt(read, path)).replace("canary-\\" in", "")]`;
  test.each<Probe>([
    ["in an environment", among(`[f"/proc/{pid}/environ" for pid in ("self", 1)]`), []],
    ["in arguments", among(`[f"/proc/{pid}/cmdline" for pid in os.listdir("/proc") if pid.isdigit()]`), []],
    [
      "by a name that is not ours",
      `sorted(set(os.environ) - {"HOME", "LANG", "TMPDIR", "MPLCONFIGDIR", "MPLBACKEND", "PATH", "HOSTNAME", "TERM", "container"} - {name for name, value in os.environ.items() if value == ""})`,
      [],
    ],
  ])("%s", async (_title, expression, expected) => {
    await check(expression, expected);
  });

  test("in all of Python's memory, not even one of a server", async () => {
    expect((await target.bridge.python("runtime.discovered_servers()")).text).toBe("['safe']");
    await target.bridge.python('planted = "-".join(["control", "is", "here"])');
    // The patterns do not match themselves.
    await check(
      `sorted({each.decode() for part in memory() for each in re.findall(b"[c]anary-[0-9]+-of-the-host|[c]ontrol-is-here", part)})`,
      ["control-is-here"],
    );
  });
});

describe("ISO-15: nothing is inherited", () => {
  test("by Python but what has no path, nor by what it starts", async () => {
    await check(
      `[sorted({path for path in (str(attempt(os.readlink, f"/proc/self/fd/{fd}")) for fd in os.listdir("/proc/self/fd")) if path[0] == "/"}),
        subprocess.run([sys.executable, "-c", "import os; print([fd for fd in range(3, 4096) if os.path.exists(f'/proc/self/fd/{fd}')])"],
                       stdout=subprocess.PIPE, text=True, close_fds=False).stdout]`,
      [["/dev/null"], "[]\n"],
    );
  });

  test("of what whoever started it had open", async () => {
    using home = createHome();
    const path = home.write("secret", SECRET);
    const code = `import os\nprint([fd for fd in range(4096) if (n := f"/proc/self/fd/{fd}") and os.path.exists(n) and not os.readlink(n).startswith(("pipe:", "host:"))])`;
    const script = `exec 7<'${path}' 9<>'${path}' && exec "$0" "$@"`;
    const child = Bun.spawn(["bash", "-c", script, BINARY, "run", "-c", code], {
      env: bridgeEnv(home.path),
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    });
    expect(await new Response(child.stdout).text()).toBe("[]\n");
  });
});

describe("ISO-17: another sandbox does not see what one leaves", () => {
  const look = {
    "in /tmp": `os.path.exists("/tmp/left")`,
    "in /workspace": `os.path.exists("/workspace/left")`,
    "in /projects": `os.path.exists("/projects/left")`,
    "in shared memory": `os.path.exists("/dev/shm/left")`,
    "as an abstract socket": `attempt(lambda: socket.socket(socket.AF_UNIX).connect("\\0left") or True) is True`,
    "as a listener": `attempt(lambda: bool(socket.create_connection(("127.0.0.1", 4711), 1))) is True`,
    "in its environment": `"LEFT" in os.environ`,
    "as a process": `any("sandpy-left" in str(attempt(read, f"/proc/{pid}/cmdline")) for pid in os.listdir("/proc") if pid.isdigit() and pid != str(os.getpid()))`,
    "as a variable": `"left_behind" in globals()`,
  };
  beforeAll(async () => {
    await neighbour.bridge.python(`${PRELUDE}
for folder in ("/tmp", "/workspace", "/projects", "/dev/shm"): open(f"{folder}/left", "w").write("x")
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0left"); abstract.listen()
listener = socket.create_server(("127.0.0.1", 4711))
os.environ["LEFT"] = left_behind = "x"
child = subprocess.Popen([sys.executable, "-c", "input()", "sandpy-" + "left"], stdin=subprocess.PIPE)`);
  });
  test.each(Object.entries(look))("%s", async (_title, expression) => {
    expect(await evaluate(neighbour.bridge, expression)).toBe(true); // so it would be seen
    await check(expression, false);
  });
});

test("ISO-18: a sandbox of the same user is not reached by signals to every process there can be", async () => {
  await neighbour.bridge.python("witness = 'untouched'");
  await check(
    `sorted({attempt(os.kill, pid, signal.SIGKILL) for pid in range(2, 33_000) if not os.path.exists(f"/proc/{pid}")})`,
    ["ESRCH"],
  );
  expect((await neighbour.bridge.python("witness")).text).toBe("'untouched'");
});

describe("ISO-13: of processes", () => {
  test("only its own are in sight", async () => {
    await check(
      `[len(seen) < 8 and seen, sorted(set(seen) - {str(os.getpid())})[:1]] if (seen := [pid for pid in os.listdir("/proc") if pid.isdigit()]) else 0`,
      [expect.arrayContaining(["1"]), ["1"]],
    );
    await check(
      `sorted({os.path.basename(read(f"/proc/{pid}/cmdline").split("\\0")[0]) for pid in os.listdir("/proc") if pid.isdigit()})`,
      [expect.stringMatching(/^python/)],
    );
  });

  test.skipIf(isGvisor || process.platform !== "linux").each(["cgroup", "ipc", "mnt", "net", "pid", "uts"])(
    "the %s namespace is its own",
    async (kind) => {
      await check(
        `os.readlink("/proc/self/ns/${kind}")`,
        expect.not.stringContaining(readlinkSync(`/proc/self/ns/${kind}`)),
      );
    },
  );

  test.each(["mem", "root", "cwd", "exe", "stack", "syscall", "io", "personality"])(
    "the supervisor's %s is closed",
    async (name) => {
      await check(`attempt(os.open, "/proc/1/${name}", os.O_RDONLY)`, CLOSED);
    },
  );

  // gVisor shows these to the same user.
  test.skipIf(isGvisor).each(["environ", "maps", "auxv", "fd", "fdinfo", "fd/0", "fd/1"])(
    "the supervisor's %s is closed",
    async (name) => {
      await check(`attempt(os.open, "/proc/1/${name}", os.O_RDONLY)`, CLOSED);
    },
  );

  test.each<[string, string]>([
    ["asks the first to end", "os.kill(1, signal.SIGTERM)"],
    // In gVisor it is, and ends at the deadline of the call.
    ...(isGvisor ? [] : [["stops the first", "os.kill(1, signal.SIGSTOP)"] as [string, string]]),
    ["kills the first", "os.kill(1, signal.SIGKILL)"],
    ["interrupts the first", "os.kill(1, signal.SIGINT)"],
    ["kills all that there are", "os.kill(-1, signal.SIGKILL)"],
    ["kills its group", "os.killpg(0, signal.SIGKILL)"],
    [
      "reads the supervisor's words away",
      `(lambda fd: [os.read(fd, 1) for _ in range(100)])(os.open("/proc/1/fd/0", os.O_RDONLY | os.O_NONBLOCK))`,
    ],
    [
      "speaks in the supervisor's name",
      `(lambda fd: [os.write(fd, line.encode() + bytes([10])) for line in ('["s",{"type":"died","generation":1,"reason":"exit","code":0,"signal":null,"detail":"FORGED","execution":1}]', "FORGED", '["s",{"type":"ready","generation":9}]')])(os.open("/proc/1/fd/1", os.O_WRONLY))`,
    ],
  ])("who %s harms the session alone, and not for long", async (_title, code) => {
    await neighbour.bridge.python("witness = 'untouched'");
    await target.attack({
      code: `${PRELUDE}\nprint(attempt(lambda: ${code}))`,
      never: /SyntaxError/,
      state: "either",
      next: /./,
      withinMs: 5000,
    });
    expect((await neighbour.bridge.python("witness")).text).toBe("'untouched'");
  });
});
