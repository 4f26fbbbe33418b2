import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "../../../src/core/child.ts";

const START_MS = 60_000;

/** Whether this user can start a daemon of docker: root, where there is one. */
export const canStartDockerd =
  process.getuid?.() === 0 && ["dockerd", "containerd"].every((each) => Bun.which(each) !== null);

/** A daemon of docker on a socket and with storage of its own, beside whatever else runs on the machine. */
export interface Dockerd extends AsyncDisposable {
  /** For `DOCKER_HOST`. */
  readonly host: string;
  /** Sends the daemon a signal, and waits for its end where that is one. */
  signal(name: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): Promise<void>;
  /** Starts it again with what it had. */
  start(): Promise<void>;
  /** Runs its client. */
  docker(...args: string[]): Promise<string>;
}

/** Starts it, with an image of the machine's own docker in it. */
export async function startDockerd(image: string): Promise<Dockerd> {
  const folder = mkdtempSync(join(tmpdir(), "sandpy-dockerd-"));
  const socket = join(folder, "docker.sock");
  const host = `unix://${socket}`;
  const client = async (env: Readonly<Record<string, string>>, script: string) => {
    const { PATH = "" } = process.env;
    const full = { PATH, HOME: folder, ...env };
    const result = await runChild({
      command: "/bin/sh",
      args: ["-c", script],
      env: full,
      timeoutMs: START_MS,
    });
    if (result.code !== 0) throw new Error(`${script}: ${result.stderr}`);
    return result.stdout.trim();
  };
  const docker = (...args: string[]) =>
    client({ DOCKER_HOST: host }, `docker ${args.map((arg) => `'${arg}'`).join(" ")}`);
  // As systemd has them: two services. One that the daemon starts itself dies with it, and leaves its shims to nobody.
  writeFileSync(
    join(folder, "containerd.toml"),
    'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n',
  );
  const containerd = Bun.spawn(
    [
      ...[
        "containerd",
        "--config",
        join(folder, "containerd.toml"),
        "--address",
        join(folder, "containerd.sock"),
      ],
      ...["--root", join(folder, "containerd"), "--state", join(folder, "state")],
    ],
    { stdin: "ignore", stdout: "ignore", stderr: Bun.file(join(folder, "containerd.log")) },
  );
  let daemon: ReturnType<typeof Bun.spawn> | undefined;
  let starts = 0;
  const start = async () => {
    rmSync(join(folder, "docker.pid"), { force: true }); // of one that was killed
    starts += 1;
    const log = Bun.file(join(folder, `log-${starts}`));
    daemon = Bun.spawn(
      [
        ...[
          "dockerd",
          "--host",
          host,
          "--data-root",
          join(folder, "data"),
          "--exec-root",
          join(folder, "exec"),
        ],
        ...["--pidfile", join(folder, "docker.pid"), "--containerd", join(folder, "containerd.sock")],
        ...["--bridge", "none", "--iptables=false", "--ip6tables=false"],
      ],
      { stdin: "ignore", stdout: "ignore", stderr: log },
    );
    try {
      await answers();
    } catch (error) {
      throw new Error(`${String(error)}: ${(await log.text()).slice(-2000)}`);
    }
  };
  const answers = async () => {
    const end = performance.now() + START_MS;
    for (;;) {
      try {
        return await docker("version");
      } catch (error) {
        if (performance.now() > end) throw error;
        await Bun.sleep(100);
      }
    }
  };
  const signal: Dockerd["signal"] = async (name) => {
    daemon?.kill(name);
    if (name === "SIGKILL" || name === "SIGTERM") await daemon?.exited;
  };
  /** What may be left: containerd starts a shim for each container, and both mount. */
  const sweep = async () => {
    const ours = `for each in /proc/[0-9]*; do tr '\\0' ' ' <$each/cmdline 2>/dev/null | grep -qF '${folder}/' && echo "\${each#/proc/}"; done; true`;
    for (const pid of (await client({}, ours)).split("\n").map(Number)) {
      try {
        if (pid > 0 && pid !== process.pid) process.kill(pid, "SIGKILL");
      } catch {
        // it ended meanwhile
      }
    }
    const mounts = (await Bun.file("/proc/mounts").text())
      .split("\n")
      .map((line) => line.split(" ")[1] ?? "");
    for (const path of mounts.filter((each) => each.startsWith(folder)).reverse())
      await client({}, `umount -l '${path}'`);
    rmSync(folder, { recursive: true, force: true });
  };
  await start();
  await client({}, `docker save '${image}' | docker --host '${host}' load`);
  return {
    host,
    signal,
    start,
    docker,
    async [Symbol.asyncDispose]() {
      await signal("SIGCONT");
      await signal("SIGTERM");
      containerd.kill("SIGTERM");
      await containerd.exited;
      await sweep();
    },
  };
}
