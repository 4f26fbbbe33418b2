/** What the container is made of. What hostile code finds in it is in hostile/isolation.test.ts and hostile/confinement.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { command } from "./helpers/command.ts";
import { containersOf, engine, flavour, isGvisor, runEngine } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

let bridge: Bridge;
beforeAll(async () => {
  bridge = await startBridge();
  await bridge.python("1"); // the first result may carry a note about the engine
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

  // Podman would mount more, as large as half of the machine's memory, whose rights the image decides.
  test("ISO-4: has no other memory to write to than its own folders", async () => {
    const mounted = await evaluate(
      "value = sorted(fields[4] for fields in (line.split() for line in open('/proc/self/mountinfo')) if 'tmpfs' in fields\n" +
        "               and fields[5].startswith('rw') and not fields[4].startswith(('/proc', '/sys', '/dev')))",
    );
    expect(mounted).toEqual(["/projects", "/tmp", "/workspace"]);
  });

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
