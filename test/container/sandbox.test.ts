import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerEngine, Sandbox } from "../../src/container/engine.ts";
import { patient } from "../helpers/patient.ts";
import { until } from "../helpers/until.ts";
import {
  detect,
  detectWorking,
  ENGINES,
  engineEnv,
  failureOf,
  findClients,
  IMAGE,
  listContainers,
  makeFolder,
  neverAborted,
  readAll,
  readLine,
  runClient,
  runPython,
  STUBBORN,
  specOf,
} from "./helpers/engines.ts";

const ENGINE_DEADLINE_MS = 30_000;
const MIB = 1024 * 1024;

describe.each(ENGINES)("a sandbox on %s", (name) => {
  let engine: ContainerEngine;

  beforeAll(async () => {
    engine = await detectWorking(name);
  });

  const run = (title: string, body: () => Promise<void>) => test(title, body, ENGINE_DEADLINE_MS);

  run("speaks on its stdin and stdout, and tells how it ended", async () => {
    const program = `
import sys
for line in sys.stdin:
    if line == "end\\n": print("bye", file=sys.stderr); sys.exit(7)
    print(line.strip()[::-1])`;
    await using sandbox = await engine.start(specOf(program), neverAborted());
    await sandbox.write("abc\n");
    const output = readAll(sandbox);
    await sandbox.write(new TextEncoder().encode("déf\nend\n"));
    expect(await output).toBe("cba\nféd\n");
    const { code, stderr } = await sandbox.ended;
    expect(code).toBe(7);
    expect(stderr).toEndWith("bye");
    await expect(sandbox.write("more\n")).rejects.toThrow();
    await sandbox.close();
    expect(await listContainers(name, sandbox.name)).toEqual([]);
  });

  run("takes any byte, those included by which a person would detach a terminal", async () => {
    const program =
      "import sys; data = sys.stdin.buffer.read(260); print(data == bytes([16, 17, 16, 17]) + bytes(range(256)))";
    await using sandbox = await engine.start(specOf(program), neverAborted());
    await sandbox.write(Uint8Array.from([16, 17, 16, 17, ...Array(256).keys()]));
    expect(await readAll(sandbox)).toBe("True\n");
  });

  run("is gone after close, however stubborn the program is, and closing twice is the same", async () => {
    await using sandbox = await engine.start(specOf(STUBBORN), neverAborted());
    expect(await readLine(sandbox)).toBe("ready\n");
    expect(await listContainers(name, sandbox.name)).toEqual([sandbox.name]);
    const started = performance.now();
    expect(sandbox.close()).toBe(sandbox.close());
    await sandbox.close();
    expect(performance.now() - started).toBeLessThan(patient(5000));
    expect((await sandbox.ended).code).toBe(137);
    expect(await listContainers(name, sandbox.name)).toEqual([]);
  });

  run("leaves nothing when it is closed while it starts", async () => {
    await using sandbox = await engine.start(specOf(STUBBORN), neverAborted());
    await sandbox.close();
    await sandbox.ended;
    expect(await listContainers(name, sandbox.name)).toEqual([]);
  });

  run("leaves nothing when its client was killed", async () => {
    await using sandbox = await engine.start(specOf(STUBBORN), neverAborted());
    expect(await readLine(sandbox)).toBe("ready\n");
    process.kill(await findClient(sandbox), "SIGKILL");
    expect((await sandbox.ended).code).toBeNull();
    expect(await listContainers(name, sandbox.name)).toEqual([sandbox.name]);
    await sandbox.close();
    expect(await listContainers(name, sandbox.name)).toEqual([]);
  });

  run("ends when it is killed from outside", async () => {
    await using sandbox = await engine.start(specOf(STUBBORN), neverAborted());
    expect(await readLine(sandbox)).toBe("ready\n");
    await runClient(name, "kill", "--signal", "KILL", sandbox.name);
    expect((await sandbox.ended).code).toBe(137);
  });

  run("is not started with a signal that is aborted", async () => {
    const failure = engine.start(specOf(STUBBORN), AbortSignal.abort());
    await expect(failure).rejects.toMatchObject({ code: "CANCELLED" });
  });

  run("says by its exit code that the engine could not start it", async () => {
    const codeOf = async (spec: Parameters<ContainerEngine["start"]>[0]) => {
      await using sandbox = await engine.start(spec, neverAborted());
      expect(await readAll(sandbox)).toBe("");
      const { code, stderr } = await sandbox.ended;
      expect(stderr).not.toBe("");
      return code;
    };
    expect(await codeOf(specOf("", "localhost/sandpy-none:1"))).toBe(125);
    expect(await codeOf({ ...specOf(""), command: ["/no/such/program"] })).toBe(127);
    expect(await codeOf({ ...specOf(""), command: ["/etc"] })).toBeOneOf([126, 127]);
  });

  run("knows which images are there, and tells why one cannot be pulled", async () => {
    expect(await engine.hasImage(IMAGE, neverAborted())).toBe(true);
    expect(await engine.hasImage("localhost/sandpy-none:1", neverAborted())).toBe(false);
    const lines: string[] = [];
    const error = await failureOf(
      engine.pull("localhost:1/sandpy-none:1", (line) => lines.push(line), neverAborted()),
    );
    expect(error.code).toBe("IMAGE_MISSING");
    expect(error.message).toStartWith(`${name} could not pull the image "localhost:1/sandpy-none:1": `);
    expect(error.hint).toStartWith(
      `Run "${name} pull localhost:1/sandpy-none:1" to see more. Without a registry, "sandpy image build`,
    );
  });

  run("refuses an image that would be a flag, before anything runs", async () => {
    for (const call of [
      () => engine.start(specOf("", "--privileged"), neverAborted()),
      () => engine.hasImage("--help", neverAborted()),
      () => engine.pull("-a", () => undefined, neverAborted()),
    ]) {
      expect((await failureOf(call())).code).toBe("CONFIG_INVALID");
    }
  });

  run("carries its owner as labels", async () => {
    await using sandbox = await engine.start(specOf(STUBBORN), neverAborted());
    await readLine(sandbox);
    const labels = JSON.parse(
      await runClient(name, "inspect", "--format", "{{json .Config.Labels}}", sandbox.name),
    );
    expect(sandbox.name).toMatch(/^sandpy-[0-9a-f]{16}-\d+$/);
    expect(labels["io.sandpy.instance"]).toBe(sandbox.name.split("-")[1]);
    expect(labels["io.sandpy.pid"]).toBe(String(process.pid));
    expect(labels["io.sandpy.started"]).toMatch(
      process.platform === "linux" ? /^[0-9a-f-]{36}\/\d+\/\d+$/ : /./,
    );
  });

  run("sees nothing of the host's environment, nor proxies of the client's configuration", async () => {
    const config = await makeFolder();
    const proxies = { default: { httpProxy: "http://secret-of-config", noProxy: "secret-of-config" } };
    await writeFile(join(config, "config.json"), JSON.stringify({ proxies }));
    const env = await engineEnv({
      http_proxy: "http://secret",
      HTTPS_PROXY: "http://secret",
      CANARY: "secret",
    });
    const { engine: exposed } = await detect({
      engine: name,
      ociRuntime: engine.info.ociRuntime,
      env: name === "docker" ? { ...env, DOCKER_CONFIG: config } : env,
    });
    const program = "import os, json; print(json.dumps(dict(os.environ)))";
    const seen: Record<string, string> = JSON.parse(await runPython(exposed, program));
    expect(Object.values(seen).filter((value) => value.includes("secret"))).toEqual([]);
    expect(seen).toMatchObject({
      HOME: "/workspace",
      LANG: "C.UTF-8",
      TMPDIR: "/tmp",
      MPLCONFIGDIR: "/tmp/matplotlib",
      HOSTNAME: "sandbox",
    });
  });

  run(
    "ISO-15: can write to three folders and shared memory only, all bounded, and has three descriptors",
    async () => {
      const program = `
import os, json
def writable(folder):
    try:
        path = os.path.join(folder, "canary")
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY)); os.unlink(path)
        return True
    except OSError: return False
folders = [d for d, subs, _ in os.walk("/") if writable(d) or (d in ("/proc", "/sys") and subs.clear())]
sizes = {d: os.statvfs(d).f_blocks * os.statvfs(d).f_frsize for d in folders}
flags = {d: os.statvfs(d).f_flag & (os.ST_NOEXEC | os.ST_NOSUID | os.ST_NODEV) == 14 for d in folders}
fds = [fd for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)]
print(json.dumps([sizes, flags, sorted(fds), os.getcwd(), os.getuid(), os.getgid(), os.getgroups()]))`;
      const [sizes, flags, fds, ...rest] = JSON.parse(await runPython(engine, program));
      expect(sizes).toEqual({
        "/dev/shm": 64 * MIB,
        "/projects": MIB,
        "/tmp": 64 * MIB,
        "/workspace": 128 * MIB,
      });
      expect(flags).toEqual({ "/dev/shm": true, "/projects": true, "/tmp": true, "/workspace": true });
      expect(fds).toEqual(["0", "1", "2"]);
      const [cwd, uid, gid, groups] = rest;
      expect([cwd, uid, gid]).toEqual(["/workspace", 65534, 65534]);
      expect([[], [65534]]).toContainEqual(groups);
    },
  );

  run("has no network but the loopback, no capability, no way to new privileges, and a filter", async () => {
    const program = `
import json
status = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
links = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
print(json.dumps([[status[name] for name in names], links]))`;
    const none = "0000000000000000";
    expect(JSON.parse(await runPython(engine, program))).toEqual([
      [none, none, none, none, none, "1", "2"],
      ["lo"],
    ]);
  });

  run("is held to its memory and processes where the engine says that it enforces them", async () => {
    const bomb = `
import os
print("started")
try:
    for _ in range(200):
        if os.fork() == 0: os.read(0, 1); os._exit(0)
except BlockingIOError: print("no more processes")
data = [bytearray(8 << 20) for _ in range(60)]
print("no limit")`;
    await using sandbox = await engine.start(specOf(bomb), neverAborted());
    const output = await readAll(sandbox);
    await sandbox.close();
    if (engine.info.enforcesLimits) expect(output).toBe("started\nno more processes\n");
    else expect([engine.info.rootless, output]).toEqual([true, "started\nno limit\n"]);
  });

  describe("HOST-8: from an image that means harm", () => {
    const image = `localhost/sandpy-hostile-${process.pid}:1`;

    beforeAll(async () => {
      const container = `sandpy-hostile-${process.pid}`;
      const runtime = engine.info.ociRuntime === undefined ? [] : ["--runtime", engine.info.ociRuntime];
      const limits = ["--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=512:512"];
      const suid = `import os, shutil; shutil.copy("/bin/sh", "/root-shell"); os.chmod("/root-shell", 0o4755)`;
      const run = [...limits, "--name", container, IMAGE, "python3", "-c", suid];
      await runClient(name, ...(name === "podman" ? [...runtime, "run"] : ["run", ...runtime]), ...run);
      const changes = [
        'ENTRYPOINT ["/bin/false"]',
        'CMD ["evil"]',
        "USER 0",
        "VOLUME /data",
        "VOLUME /tmp",
        "ENV HOME=/evil",
        "WORKDIR /proc",
        "LABEL io.sandpy.pid=1",
      ];
      await runClient(name, "commit", ...changes.flatMap((change) => ["--change", change]), container, image);
      await runClient(name, "rm", container);
    }, ENGINE_DEADLINE_MS);

    afterAll(async () => {
      await runClient(name, "rmi", image);
    });

    run("takes nothing of what it says about starting", async () => {
      const program = `
import os, json
def write(folder):
    try: os.close(os.open(folder + "/x", os.O_CREAT | os.O_WRONLY)); return True
    except OSError: return False
print(json.dumps([os.getuid(), os.getcwd(), os.environ["HOME"], write("/data"), write("/tmp")]))`;
      const output = await runPython(engine, program, specOf(program, image));
      expect(JSON.parse(output)).toEqual([65534, "/workspace", "/workspace", false, true]);
    });

    run("ISO-12: becomes nobody else by a program that is root's and setuid", async () => {
      const program = `
import os, stat, subprocess
facts = os.stat("/root-shell")
print(facts.st_uid, bool(facts.st_mode & stat.S_ISUID))
print(subprocess.run(["/root-shell", "-p", "-c", "while read -r name rest; do case $name in Uid:|CapEff:) echo $rest;; esac; done </proc/self/status"], capture_output=True, text=True).stdout)`;
      const output = await runPython(engine, program, specOf(program, image));
      expect(output.split("\n").slice(0, 3)).toEqual([
        "0 True",
        "65534 65534 65534 65534",
        "0000000000000000",
      ]);
    });
  });
});

/** The process id of a sandbox's client. */
async function findClient(sandbox: Sandbox): Promise<number> {
  await until("the client's process", () => findClients(sandbox).length > 0);
  return findClients(sandbox)[0] ?? -1;
}
