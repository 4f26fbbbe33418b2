import { beforeAll, describe, expect, test } from "bun:test";
import type { ContainerEngine, SandboxSpec } from "../../src/container/engine.ts";
import { until } from "../helpers/until.ts";
import {
  detect,
  detectWorking,
  ENGINES,
  engineEnv,
  findClients,
  IMAGE,
  listContainers,
  neverAborted,
  readAll,
  readLine,
  runClient,
  STUBBORN,
  specOf,
} from "./helpers/engines.ts";

const ENGINE_DEADLINE_MS = 30_000;
const MIB = 1024 * 1024;

// Docker's containers are children of its daemon, which has no descriptor of ours.
describe.if(ENGINES.includes("podman"))("a sandbox of podman that has our own pipes", () => {
  let engine: ContainerEngine;

  beforeAll(async () => {
    engine = await detectWorking("podman");
  });

  const run = (title: string, body: () => Promise<void>) => test(title, body, ENGINE_DEADLINE_MS);
  const heirOf = (program: string, image = IMAGE): SandboxSpec => {
    const spec = specOf(program, image);
    const take = "import os\nfor fd in range(3): os.dup2(3 + fd, fd)\nos.closerange(3, 6)\n";
    return { ...spec, command: ["/not/this"], heirCommand: [...spec.command.slice(0, -1), take + program] };
  };

  run("speaks on them, and no client of the engine stays", async () => {
    const program = `
import sys
print(sorted(fd for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)))
for line in sys.stdin:
    if line == "end\\n": print("bye", file=sys.stderr); sys.exit(7)
    print(line.strip()[::-1])`;
    await using sandbox = await engine.start(heirOf(program), neverAborted());
    expect(sandbox.handedDown).toBeDefined();
    const output = sandbox.stdout[Symbol.asyncIterator]();
    const next = async () => {
      let line = "";
      while (!line.endsWith("\n")) {
        const { done, value } = await output.next();
        if (done === true) break;
        line += Buffer.from(value).toString();
      }
      return line;
    };
    expect(await next()).toBe("['0', '1', '2']\n");
    await until("the client's end", () => findClients(sandbox).length === 0);
    await sandbox.write("abc\n");
    expect(await next()).toBe("cba\n");
    await sandbox.write("end\n");
    expect(await next()).toBe("");
    expect(await sandbox.ended).toEqual({ code: null, stderr: "bye" });
    await expect(sandbox.write("more\n")).rejects.toThrow();
    await sandbox.close();
    expect(await listContainers("podman", sandbox.name)).toEqual([]);
  });

  run("is gone after close, however stubborn the program is", async () => {
    await using sandbox = await engine.start(heirOf(STUBBORN), neverAborted());
    expect(await readLine(sandbox)).toBe("ready\n");
    await sandbox.close();
    expect((await sandbox.ended).code).toBeNull();
    expect(await listContainers("podman", sandbox.name)).toEqual([]);
  });

  run("leaves nothing when it is closed while it starts", async () => {
    await using sandbox = await engine.start(heirOf(STUBBORN), neverAborted());
    await sandbox.close();
    await sandbox.ended;
    expect(await listContainers("podman", sandbox.name)).toEqual([]);
  });

  run("HOST-3: ends when it is killed from outside", async () => {
    await using sandbox = await engine.start(heirOf(STUBBORN), neverAborted());
    expect(await readLine(sandbox)).toBe("ready\n");
    await runClient("podman", "kill", "--signal", "KILL", sandbox.name);
    expect((await sandbox.ended).code).toBeNull();
  });

  run("waits where nobody reads, and its end is noticed all the same", async () => {
    const program = `
import time
os.set_blocking(1, False)
written = 0
while True:
    try: written += os.write(1, bytes(65536))
    except BlockingIOError:
        time.sleep(0.3)
        try: written += os.write(1, bytes(65536))
        except BlockingIOError: break
os.write(2, str(written).encode())`;
    await using sandbox = await engine.start(heirOf(program), neverAborted());
    await sandbox.stdout[Symbol.asyncIterator]().next();
    const written = Number((await sandbox.ended).stderr);
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(4 * MIB);
  });

  run("says by its exit code that the engine could not start it", async () => {
    const codeOf = async (spec: SandboxSpec) => {
      await using sandbox = await engine.start(spec, neverAborted());
      expect(await readAll(sandbox)).toBe("");
      const { code, stderr } = await sandbox.ended;
      expect(stderr).not.toBe("");
      return code;
    };
    expect(await codeOf(heirOf("", "localhost/sandpy-none:1"))).toBe(125);
    expect(await codeOf({ ...specOf(""), heirCommand: ["/no/such/program"] })).toBe(127);
    expect(await codeOf({ ...specOf(""), heirCommand: ["/etc"] })).toBeOneOf([126, 127]);
  });

  run("does not get them once they were twice found not to work, nor from a later bridge", async () => {
    const env = await engineEnv();
    const { ociRuntime } = engine.info;
    const spec = { ...heirOf("print(2)"), command: specOf("print(1)").command };
    const start = async () => {
      const { engine: later } = await detect({ engine: "podman", ociRuntime, env });
      return later.start(spec, neverAborted());
    };
    for (const isOver of [false, true]) {
      await using sandbox = await start();
      expect([await readAll(sandbox), await sandbox.handedDown?.failed()]).toEqual(["2\n", isOver]);
    }
    await using sandbox = await start();
    expect([sandbox.handedDown, await readAll(sandbox)]).toEqual([undefined, "1\n"]);
  });
});
