import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { command } from "./helpers/command.ts";
import { containersOf, engine, flavour, isGvisor, runEngine } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

let bridge: Bridge;
beforeAll(async () => {
  bridge = await startBridge({ env: { SECRET_OF_THE_HOST: "canary-7" } });
  await bridge.python("import ctypes, os, socket, errno\nlibc = ctypes.CDLL(None, use_errno=True)");
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
});

/** What an expression is in the sandbox, as JSON. */
async function evaluate(code: string): Promise<unknown> {
  const { text } = await bridge.python(`import json\n${code}\nprint(json.dumps(value))`);
  return JSON.parse(text);
}

describe("the container", () => {
  test("has its calls answered by gVisor where that was asked for", async () => {
    const version = (await evaluate("value = open('/proc/version').read()")) as string;
    expect(version.includes("#1 SMP Sun Jan 10 15:06:54 PST 2016")).toBe(isGvisor); // the day that each gVisor says
  });

  test("EXH-16: was made with every flag, and has no mount of the host", async () => {
    const names = await containersOf(bridge.pid);
    expect(names).not.toEqual([]); // the session's own, and perhaps a spare one
    const [facts] = JSON.parse(await runEngine("inspect", names[0] ?? ""));
    const host = facts.HostConfig;
    expect(facts.Mounts.filter((mount: { Type: string }) => mount.Type === "bind")).toEqual([]);
    expect({
      network: host.NetworkMode,
      readOnly: host.ReadonlyRootfs,
      privileged: host.Privileged,
      memory: host.Memory,
      swap: host.MemorySwap,
      pids: host.PidsLimit,
      log: host.LogConfig.Type,
      user: facts.Config.User,
      capabilities: facts.EffectiveCaps ?? host.CapAdd ?? [],
    }).toEqual({
      network: "none",
      readOnly: true,
      privileged: false,
      memory: flavour === "podman-rootless" ? host.Memory : 512 * 1024 ** 2,
      swap: flavour === "podman-rootless" ? host.MemorySwap : 512 * 1024 ** 2,
      pids: flavour === "podman-rootless" ? host.PidsLimit : 128,
      log: "none",
      user: "65534:65534",
      capabilities: [],
    });
    const security: string[] = host.SecurityOpt;
    expect(security.some((option) => option.startsWith("no-new-privileges"))).toBe(true);
    // podman reports the profile elsewhere: that it is on is tested from inside, below.
    expect(engine === "podman" || security.some((option) => option.startsWith("seccomp="))).toBe(true);
  });

  test("ISO-7: runs Python as nobody without capabilities, with no new privileges and a seccomp filter", async () => {
    const status = await evaluate(
      "value = dict(line.split(':\\t') for line in open('/proc/self/status').read().splitlines() if ':\\t' in line)\n" +
        "value['NoNewPrivs'] = str(libc.prctl(39, 0, 0, 0, 0))", // gVisor only tells whoever asks
    );
    expect(status).toMatchObject({
      Uid: "65534\t65534\t65534\t65534",
      Gid: "65534\t65534\t65534\t65534",
      CapEff: "0000000000000000",
      CapPrm: "0000000000000000",
      CapBnd: "0000000000000000",
      NoNewPrivs: "1",
      Seccomp: "2",
    });
  });

  test("ISO-4: can write nowhere but in its own bounded memory", async () => {
    const writable = await evaluate(
      "value = sorted(root for root, dirs, files in os.walk('/', onerror=None)\n" +
        "               if not root.startswith(('/proc', '/sys')) and os.access(root, os.W_OK))",
    );
    expect(writable).toEqual(
      ["/dev/mqueue", "/dev/shm", "/projects", "/tmp", "/workspace"].filter((path) =>
        (writable as string[]).includes(path),
      ),
    );
    expect(writable).toEqual(expect.arrayContaining(["/projects", "/tmp", "/workspace"]));
    const sizes = await evaluate(
      "value = {p: os.statvfs(p).f_frsize * os.statvfs(p).f_blocks >> 20 for p in ('/tmp', '/workspace', '/dev/shm')}",
    );
    expect(sizes).toEqual({ "/tmp": 64, "/workspace": 128, "/dev/shm": 64 });
    // Podman would mount more, as large as half of the machine's memory, whose rights the image decides.
    const mounted = await evaluate(
      "value = sorted(fields[4] for fields in (line.split() for line in open('/proc/self/mountinfo')) if 'tmpfs' in fields\n" +
        "               and fields[5].startswith('rw') and not fields[4].startswith(('/proc', '/sys', '/dev')))",
    );
    expect(mounted).toEqual(["/projects", "/tmp", "/workspace"]);
  });

  // gVisor shows names of its own.
  test.skipIf(isGvisor || process.platform !== "linux")(
    "ISO-13: shares no namespace with the host",
    async () => {
      const kinds = ["cgroup", "ipc", "mnt", "net", "pid", "uts"];
      const inside = (await evaluate(
        `value = [os.readlink(f'/proc/self/ns/{kind}') for kind in ${JSON.stringify(kinds)}]`,
      )) as string[];
      const outside = kinds.map((kind) => readlinkSync(`/proc/self/ns/${kind}`));
      expect(inside.filter((each) => outside.includes(each))).toEqual([]);
    },
  );

  test("EXH-8 STA-8: has limits of its own for files, cores and queues", async () => {
    const limits = await evaluate(
      "import resource\nvalue = [resource.getrlimit(each) for each in (resource.RLIMIT_CORE, resource.RLIMIT_MSGQUEUE, resource.RLIMIT_NOFILE)]",
    );
    const [core, queues, [soft = 0, hard = 0] = []] = limits as number[][];
    expect([core, queues]).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect([soft <= 1024, hard <= 4096]).toEqual([true, true]);
  });

  test("ISO-1: has no network but loopback", async () => {
    expect(
      await evaluate(
        "value = [line.split(':')[0].strip() for line in open('/proc/net/dev').read().splitlines()[2:]]",
      ),
    ).toEqual(["lo"]);
    const outcome = await evaluate(
      "try:\n    socket.create_connection(('192.0.2.1', 80), 2)\n    value = 'connected'\nexcept OSError as e:\n    value = errno.errorcode[e.errno]",
    );
    expect(outcome).toMatch(/^E(NET|HOST)UNREACH$/);
  });

  test.each([
    ["AF_VSOCK", 40],
    ["AF_ALG", 38],
    ["AF_NETLINK", 16],
    ["AF_PACKET", 17],
  ])("ISO-2: refuses sockets of %s", async (_name, family) => {
    const outcome = await evaluate(
      `fd = libc.socket(${family}, 3 if ${family} == 16 else 1, 0)\nvalue = 'open' if fd >= 0 else errno.errorcode[ctypes.get_errno()]`,
    );
    expect(["EPERM", "EAFNOSUPPORT"]).toContain(outcome as string);
  });

  test("ISO-8 ISO-13: refuses user namespaces and a look into other processes' memory", async () => {
    expect(await evaluate("value = [libc.unshare(0x10000000), errno.errorcode[ctypes.get_errno()]]")).toEqual(
      [-1, "EPERM"],
    );
    expect(
      await evaluate(
        "try:\n    open('/proc/1/mem', 'r+b')\n    value = 'open'\nexcept OSError as e:\n    value = errno.errorcode[e.errno]",
      ),
    ).toBe("EACCES");
  });

  test("ISO-6: holds no secret of the host", async () => {
    const found = await evaluate(
      "import glob\ndef read(p):\n    try: return open(p, 'rb').read(1 << 20)\n    except OSError: return b''\n" +
        "value = [p for p in ['/proc/self/environ', '/proc/1/environ', '/proc/1/cmdline', '/proc/self/cmdline'] if b'canary-7' in read(p)]",
    );
    expect(found).toEqual([]);
    expect(
      await evaluate(
        "value = sorted(k for k, v in os.environ.items() if v and ('proxy' in k.lower() or 'MCP' in k))",
      ),
    ).toEqual([]);
  });
});

test("ISO-1 ISO-4 ISO-5 ISO-7: a job with --mount has all of it too, and of the host what was named", async () => {
  using home = createHome();
  home.write("shared/inside", "seen");
  home.write("beside", "not seen");
  chmodSync(home.path, 0o755);
  const code = `import ctypes, json, os
status = dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines() if ':' in line)
writable = sorted(root for root, dirs, files in os.walk('/') if not root.startswith(('/proc', '/sys', '/dev')) and os.access(root, os.W_OK))
print(json.dumps([
    open('/data/inside').read(), os.path.exists(${JSON.stringify(join(home.path, "beside"))}), writable,
    [line.split(':')[0].strip() for line in open('/proc/net/dev').read().splitlines()[2:]],
    [status[name].strip() for name in ('CapEff', 'CapBnd', 'Seccomp')], ctypes.CDLL(None).prctl(39, 0, 0, 0, 0), os.getuid() == 0]))`;
  const mount = `${join(home.path, "shared")}:/data:ro`;
  const { code: exit, stdout } = await command(["run", "--mount", mount, "-c", code], { home });
  expect(exit).toBe(0);
  expect(JSON.parse(stdout)).toEqual([
    "seen",
    false,
    ["/projects", "/tmp", "/workspace"],
    ["lo"],
    ["0000000000000000", "0000000000000000", "2"],
    1,
    false,
  ]);
});
