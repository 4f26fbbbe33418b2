import { describe, expect, test } from "bun:test";
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { detectEngine } from "../../src/container/detect.ts";
import { createMemoryLog } from "../helpers/logs.ts";
import {
  detect,
  ENGINES,
  engineEnv,
  failureOf,
  makeFolder,
  makePrograms,
  neverAborted,
  readLine,
  specOf,
} from "./helpers/engines.ts";

const ENGINE_DEADLINE_MS = 30_000;
const HANGS = "exec sleep 60";
const DOCKER_WITHOUT_DAEMON = `echo '{"ServerVersion":"","ClientInfo":{}}'; echo 'Cannot connect to it' >&2; exit 1`;
const OLD_DOCKER_WITHOUT_DAEMON = `echo '{"ServerErrors":["Cannot connect to it"]}'`;
const DOCKER = `echo '{"ServerVersion":"28.1.0","OSType":"linux","MemoryLimit":true,"PidsLimit":true,"CgroupVersion":"2"}'`;
const PODMAN_IN_PIECES = "echo 'Error: no subuid ranges' >&2; exit 125";
const PODMAN = `case "$1" in version) echo '{"Client":{"Version":"9.9.9"}}';; info) echo '{"version":{"Version":"9.9.9"}}';; esac`;

/** Detects with nothing on the PATH but these programs. */
async function detectAmong(programs: Record<string, string>, engine: "auto" | "podman" | "docker" = "auto") {
  // "sleep" and "echo" are the shell's or stand in the system's own folders, which the scripts name themselves.
  const scripts = Object.entries(programs).map(([name, script]) => [name, `PATH=/usr/bin:/bin\n${script}`]);
  const env = await engineEnv({ PATH: await makePrograms(Object.fromEntries(scripts)) });
  return detect({ engine, env, answerTimeoutMs: 300 });
}

describe("with no engine that works", () => {
  const noDaemon = "the client is there, but its daemon does not answer: Cannot connect to it";
  const podmanHangs = '"podman version --format json" did not answer within 300 ms';

  test.each([
    ["none", {}, "not on the PATH", "not on the PATH"],
    ["a docker client without a daemon", { docker: DOCKER_WITHOUT_DAEMON }, "not on the PATH", noDaemon],
    ["an old one", { docker: OLD_DOCKER_WITHOUT_DAEMON }, "not on the PATH", noDaemon],
    ["a podman that hangs", { podman: HANGS }, podmanHangs, "not on the PATH"],
    [
      "a podman that fails",
      { podman: PODMAN_IN_PIECES, docker: DOCKER_WITHOUT_DAEMON },
      '"podman version --format json" failed (125): Error: no subuid ranges',
      noDaemon,
    ],
  ])("says what was tried: %s", async (_, programs, podman, docker) => {
    const error = await failureOf(detectAmong(programs));
    expect(error.code).toBe("ENGINE_NOT_FOUND");
    expect(error.message).toBe(
      `no container engine that works was found\n  podman: ${podman}\n  docker: ${docker}`,
    );
    expect(error.data).toEqual({ podman, docker });
    expect(error.hint).toContain("podman");
  });

  test("names the command when the only engine asked for hangs", async () => {
    const error = await failureOf(detectAmong({ podman: HANGS }, "podman"));
    expect([error.code, error.message]).toEqual(["ENGINE_TIMEOUT", podmanHangs]);
  });

  test("does not look at an engine that was not asked for", async () => {
    const error = await failureOf(detectAmong({ docker: DOCKER }, "podman"));
    expect(error.message).toBe("no container engine that works was found\n  podman: not on the PATH");
  });

  test("ISO-19: does not run a program from a relative folder of the PATH", async () => {
    const env = await engineEnv({ PATH: `.:${join("node_modules", ".bin")}` });
    expect((await failureOf(detect({ env }))).code).toBe("ENGINE_NOT_FOUND");
  });

  test("stops when it is cancelled", async () => {
    const env = await engineEnv({ PATH: await makePrograms({ podman: `PATH=/usr/bin:/bin\n${HANGS}` }) });
    const options = { engine: "auto", ociRuntime: undefined, env, log: createMemoryLog() } as const;
    const error = await failureOf(detectEngine(options, AbortSignal.timeout(50)));
    expect([error.code, error.message]).toEqual([
      "CANCELLED",
      '"podman version --format json" was cancelled',
    ]);
  });
});

describe("with engines that answer", () => {
  test("takes podman before docker", async () => {
    const { engine } = await detectAmong({ podman: PODMAN, docker: DOCKER });
    expect([engine.info.engine, engine.info.version]).toEqual(["podman", "9.9.9"]);
  });

  test("takes docker when podman fails", async () => {
    const { engine } = await detectAmong({ podman: PODMAN_IN_PIECES, docker: DOCKER });
    expect(engine.info).toEqual({
      engine: "docker",
      version: "28.1.0",
      rootless: false,
      cgroupVersion: 2,
      ociRuntime: undefined,
      enforcesLimits: true,
      remote: false,
    });
  });

  test("takes docker when it is asked for", async () => {
    const { engine } = await detectAmong({ podman: PODMAN, docker: DOCKER }, "docker");
    expect(engine.info.engine).toBe("docker");
  });

  test("offers the second engine as an alternative, but not one that was not asked for", async () => {
    const named = async (engine: "auto" | "podman") => {
      const found = await detectAmong({ podman: PODMAN, docker: DOCKER }, engine);
      const engines = await found.engine.alternatives(neverAborted());
      return engines.map(({ info }) => info.engine);
    };
    expect((await named("auto")).filter((name) => name === "docker")).toEqual(["docker"]);
    expect(await named("podman")).not.toContain("docker");
  });

  test("uses the OCI runtime that the user chose, and no other", async () => {
    const env = await engineEnv({ PATH: await makePrograms({ podman: `PATH=/usr/bin:/bin\n${PODMAN}` }) });
    const { engine, log } = await detect({ env, ociRuntime: "kata" });
    expect(engine.info.ociRuntime).toBe("kata");
    expect(await engine.alternatives(neverAborted())).toEqual([]);
    expect(log).toEqual([]);
  });

  test.each(ENGINES)("tells the facts of this machine's %s", async (name) => {
    const { engine } = await detect({ engine: name });
    expect(engine.info.engine).toBe(name);
    expect(engine.info.version).toMatch(/^\d+\.\d+\.\d+/);
    if (name === "podman") expect(engine.info.rootless).toBe(process.geteuid?.() !== 0);
  });
});

describe.if(ENGINES.includes("podman"))("with a podman whose default OCI runtime is broken", () => {
  async function breakDefault(): Promise<Record<string, string>> {
    const programs = await makePrograms({ broken: "exit 1" });
    const conf = join(await makeFolder(), "containers.conf");
    const runtimes = `[engine.runtimes]\nbroken = ["${join(programs, "broken")}"]\n`;
    await writeFile(conf, `[engine]\nruntime = "broken"\n${runtimes}`);
    return engineEnv({ CONTAINERS_CONF: conf });
  }

  test(
    "ends before its first byte, offers others, and remembers the one that works",
    async () => {
      const env = await breakDefault();
      const { engine, log } = await detect({ engine: "podman", env });
      expect(engine.info.ociRuntime).toBeUndefined();
      expect(log).toEqual([]);
      const program = "print('here')";
      const failed = await engine.start(specOf(program), neverAborted());
      expect(await readLine(failed)).toBe("");
      expect([125, 126, 127]).toContain((await failed.ended).code ?? 0);
      await failed.close();

      const worked: (string | undefined)[] = [];
      for (const other of await engine.alternatives(neverAborted())) {
        await using sandbox = await other.start(specOf(program), neverAborted());
        if ((await readLine(sandbox)) !== "here\n") continue;
        worked.push(other.info.ociRuntime);
        await other.prefer();
        break;
      }
      expect(worked.length).toBe(1);

      const again = await detect({ engine: "podman", env });
      expect(again.engine.info.ociRuntime).toBe(worked[0]);
      expect(again.log).toEqual([
        `WARNING sandpy: podman's default OCI runtime does not work on this machine; another one is used used=${worked[0]} quiet_by="MCP_BRIDGE_OCI_RUNTIME=${worked[0]}"\n`,
      ]);

      // A changed configuration may have mended it.
      await appendFile(env["CONTAINERS_CONF"] ?? "", "# changed\n");
      expect((await detect({ engine: "podman", env })).engine.info.ociRuntime).toBeUndefined();
    },
    ENGINE_DEADLINE_MS,
  );

  test(
    "forgets a runtime that was remembered and fails now",
    async () => {
      const env = await breakDefault();
      const [other] = await (await detect({ engine: "podman", env })).engine.alternatives(neverAborted());
      await other?.prefer();
      const { engine } = await detect({ engine: "podman", env });
      expect(engine.info.ociRuntime).toBe(other?.info.ociRuntime);
      await engine.alternatives(neverAborted());
      expect((await detect({ engine: "podman", env })).engine.info.ociRuntime).toBeUndefined();
    },
    ENGINE_DEADLINE_MS,
  );
});
