import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KernelLauncher } from "../../src/app/kernel-launcher.ts";
import { loadSettings } from "../../src/config/load-file.ts";
import type { KernelEvents } from "../../src/kernel/kernel.ts";
import { detect, ENGINES, engineEnv, IMAGE, makeFolder, neverAborted } from "../container/helpers/engines.ts";
import { createMemoryLog } from "../helpers/logs.ts";

const NO_EVENTS: KernelEvents = {
  onStream: () => undefined,
  onDisplay: () => undefined,
  onSpilled: () => undefined,
  onRpc: () => undefined,
  onDied: () => undefined,
  onRejected: () => undefined,
  onEnded: () => undefined,
};

/** A podman that hands nothing down while there is the file `broken`, and makes the file `asked` when it is to. */
async function createPodman(folder: string) {
  const env = await engineEnv();
  const [broken, asked] = [join(folder, "broken"), join(folder, "asked")];
  const real = Bun.which("podman", { PATH: env["PATH"] ?? "" });
  const fails = `echo >${asked}; [ -e ${broken} ] && exit 125`;
  const script = `#!/bin/sh\ncase " $* " in *" --preserve-fds "*) ${fails};; esac\nexec ${real} "$@"\n`;
  await writeFile(join(folder, "podman"), script);
  await chmod(join(folder, "podman"), 0o755);
  return { env: { ...env, PATH: `${folder}:${env["PATH"]}` }, broken, asked };
}

describe.if(ENGINES.includes("podman"))("a start with podman", () => {
  test("that fails once for the pipes has them tried again", async () => {
    const { env, broken, asked } = await createPodman(await makeFolder());
    const stop = new AbortController();
    const log = createMemoryLog();
    const launcher = new KernelLauncher({
      config: await loadSettings({ MCP_BRIDGE_IMAGE: IMAGE }),
      log,
      findEngine: async () => (await detect({ engine: "podman", env })).engine,
      wholeOutput: false,
      hasStdin: false,
      warnsOfHoles: false,
      pullWaitMs: 1000,
      signal: stop.signal,
    });
    const start = async () => {
      await rm(asked, { force: true });
      const { kernel } = await launcher.start(NO_EVENTS, neverAborted());
      await kernel.close();
      return existsSync(asked);
    };
    await writeFile(broken, "");
    expect(await start()).toBe(true);
    await rm(broken);
    expect(await start()).toBe(true);
    expect(log.lines.join("\n")).not.toContain("stays from now on");
    stop.abort();
  });
});
