import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runChild } from "../../../src/core/child.ts";
import { until } from "./engine.ts";

const START_MS = 60_000;

/** Whether this user can start a daemon of docker: root, where there is one. */
export const canStartDockerd = process.getuid?.() === 0 && Bun.which("dockerd") !== null;

/** A daemon of docker on a socket and with storage of its own, beside whatever else runs on the machine. */
export interface Dockerd extends AsyncDisposable {
  /** For `DOCKER_HOST`. */
  readonly host: string;
  readonly socket: string;
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
  let daemon: ReturnType<typeof Bun.spawn> | undefined;
  let starts = 0;
  const start = async () => {
    // Of one that was killed: the number of its containerd, which died with it, may be a process that nobody waited for yet.
    for (const name of ["docker.pid", "exec/containerd"])
      rmSync(join(folder, name), { recursive: true, force: true });
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
        ...[
          "--pidfile",
          join(folder, "docker.pid"),
          "--bridge",
          "none",
          "--iptables=false",
          "--ip6tables=false",
        ],
      ],
      { stdin: "ignore", stdout: "ignore", stderr: log },
    );
    try {
      await until(
        "dockerd answers",
        () =>
          docker("version").then(
            () => true,
            () => false,
          ),
        START_MS,
      );
    } catch (error) {
      throw new Error(`${String(error)}: ${(await log.text()).slice(-2000)}`);
    }
  };
  const signal: Dockerd["signal"] = async (name) => {
    daemon?.kill(name);
    if (name === "SIGKILL" || name === "SIGTERM") await daemon?.exited;
  };
  /** What a daemon that was killed leaves: it starts a containerd of its own, that a shim for each container, and both mount. */
  const sweep = async () => {
    const ours = `for each in /proc/[0-9]*; do tr '\\0' ' ' <$each/cmdline 2>/dev/null | grep -qF '${folder}/exec' && echo "\${each#/proc/}"; done; true`;
    for (const pid of (await client({}, ours)).split("\n").map(Number)) {
      try {
        if (pid > 0) process.kill(pid, "SIGKILL");
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
    socket,
    signal,
    start,
    docker,
    async [Symbol.asyncDispose]() {
      await signal("SIGCONT");
      await signal("SIGTERM");
      await sweep();
    },
  };
}
