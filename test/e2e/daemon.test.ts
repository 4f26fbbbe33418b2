/** A daemon of docker, of our own, that goes away and comes back while a session goes on. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { startBridge } from "./helpers/client.ts";
import { canStartDockerd, type Dockerd, startDockerd } from "./helpers/dockerd.ts";
import { examineWith } from "./helpers/doctor.ts";
import { engine, until } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

const LOST = "Variables, imports and functions of this session are gone";

describe.skipIf(engine !== "docker" || !canStartDockerd)("a daemon", () => {
  let daemon: Dockerd;
  beforeAll(async () => {
    daemon = await startDockerd(process.env["MCP_BRIDGE_IMAGE"] ?? "python:3.14-slim");
  }, 60_000);
  afterAll(async () => {
    await daemon?.[Symbol.asyncDispose]();
  }, 60_000);

  const names = async () => (await daemon.docker("ps", "-a", "--format", "{{.Names}}")).split("\n").sort();

  test.each(["SIGKILL", "SIGTERM"] as const)(
    "HOST-3 HOST-6: that ends by %s in mid-session is named; nothing else runs the code, and it goes on when it is back",
    async (signal) => {
      await using bridge = await startBridge({ env: { DOCKER_HOST: daemon.host } });
      expect((await bridge.python("kept = 1\nkept")).text).toBe("1");
      const before = await names();
      await daemon.signal(signal);
      // What the lost sandbox says comes first where the end was not heard of yet.
      let away = await bridge.python("import os; os.getpid()");
      if (away.text.includes(LOST)) away = await bridge.python("import os; os.getpid()");
      expect(away.isError).toBe(true);
      expect(away.text).toContain("Cannot connect to the Docker daemon");
      expect(away.text).toContain('Run "docker info"');
      expect(commandsBelow(bridge.pid).filter((command) => command.includes("python"))).toEqual([]);
      await daemon.start();
      const back = await bridge.python("globals().get('kept', 'gone')");
      expect([back.isError, back.text.split("\n")[0]]).toEqual([false, "'gone'"]);
      await until(
        "what the daemon had is gone",
        async () => {
          const now = await names();
          return now.length > 0 && before.every((name) => !now.includes(name));
        },
        20_000,
      );
    },
    60_000,
  );

  test("HOST-4 HOST-6: whose socket is for others is named, with what gives the right, and nothing runs", async () => {
    using home = createHome();
    const env = { DOCKER_HOST: daemon.host, MCP_BRIDGE_STATE_DIR: `${home.path}/state` };
    const asNobody = { ...env, PATH: `${home.path}/bin:${process.env["PATH"]}` };
    // As an ordinary user would be: the client itself is refused.
    home.write(
      "bin/docker",
      `#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups -- ${Bun.which("docker")} "$@"\n`,
    );
    expect(Bun.spawnSync(["chmod", "-R", "a+rX,a+x", home.path]).success).toBe(true);
    await using bridge = await startBridge({ home, env: asNobody });
    const { text, isError } = await bridge.python("1");
    expect(isError).toBe(true);
    expect(text).toMatch(/permission denied/i);
    expect(commandsBelow(bridge.pid).filter((command) => command.includes("python"))).toEqual([]);
    const { code, report } = await examineWith(home, asNobody);
    expect(code).toBe(1);
    expect(report.findings.find(({ status }) => status === "problem")).toMatchObject({ check: "engine" });
  }, 60_000);
});

/** The command lines of a process's children, and of theirs. */
function commandsBelow(pid: number): string[] {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const children = processes.filter((each) => parentOf(each) === pid);
  return children.flatMap((each) => [commandOf(each), ...commandsBelow(Number(each))]);
}

function parentOf(pid: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[1]);
  } catch {
    return -1; // it ended meanwhile
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return ""; // it ended meanwhile
  }
}
