import { afterEach, describe, expect, test } from "bun:test";
import { WarmPool } from "../../src/app/warm-pool.ts";
import { BridgeError } from "../../src/core/errors.ts";
import type { KernelEvents } from "../../src/kernel/kernel.ts";
import type { KernelSource } from "../../src/session/kernel-source.ts";
import { createHostKernels } from "../helpers/host-kernels.ts";
import { createMemoryLog } from "../helpers/logs.ts";

const log = createMemoryLog();
const open: WarmPool[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((pool) => pool.close()));
});

/** A pool that makes no second spare by itself, unless that is what a test is about. */
function createPool(kernels: KernelSource, idleTimeoutMs = 60_000, refillDelayMs = 60_000): WarmPool {
  const pool = new WarmPool({ kernels, log, idleTimeoutMs, refillDelayMs });
  open.push(pool);
  return pool;
}

const silent: KernelEvents = {
  onStream: () => undefined,
  onRpc: () => undefined,
  onDisplay: () => undefined,
  onSpilled: () => undefined,
  onDied: () => undefined,
  onRejected: (_reason, say) => say(),
  onEnded: () => undefined,
};
const live = () => new AbortController().signal;
const cell = (code: string) => ({
  id: 1,
  code,
  servers: [],
  loaded: [],
  argv: null,
  filename: null,
  projects: "",
});

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !isTrue(); tries += 1) await Bun.sleep(20);
  expect(isTrue()).toBe(true);
}

describe("WarmPool", () => {
  test("hands over the sandbox that is on its way, whose events then go to the taker", async () => {
    const kernels = createHostKernels();
    const pool = createPool(kernels);
    pool.warm();
    pool.warm();
    const output: string[] = [];
    const events = { ...silent, onStream: (_name: string, text: string) => void output.push(text) };
    const { kernel } = await pool.start(events, live());
    expect(kernels.sandboxes).toHaveLength(1);
    await kernel.execute(cell("print('mine')"));
    expect(output).toEqual(["mine\n"]);
    await kernel.close();
  });

  test("makes the next one ready after one was taken", async () => {
    const kernels = createHostKernels();
    const pool = createPool(kernels, 60_000, 1);
    const { kernel } = await pool.start(silent, live());
    await until(() => kernels.sandboxes.length === 2);
    await kernel.close();
  });

  test("leaves the machine to a start that takes long before it makes the next", async () => {
    const kernels = createHostKernels();
    const seen: string[] = [];
    const slow: KernelSource = {
      async start(events, signal) {
        seen.push("begins");
        const started = await kernels.start(events, signal); // much longer than the pause before a refill
        seen.push("is up");
        return started;
      },
    };
    const { kernel } = await createPool(slow, 60_000, 1).start(silent, live());
    await until(() => seen.length >= 3);
    expect(seen.slice(0, 3)).toEqual(["begins", "is up", "begins"]);
    await kernel.close();
  });

  test("never hands over one that has ended", async () => {
    const kernels = createHostKernels();
    const pool = createPool(kernels);
    pool.warm();
    const spare = () => pool.state.spare;
    await until(() => spare() === "ready");
    await kernels.sandboxes[0]?.close();
    await until(() => spare() !== "ready");
    const { kernel } = await pool.start(silent, live());
    expect(await kernel.execute(cell("1 + 1"))).toMatchObject({ kind: "done", frame: { result: "2" } });
    await kernel.close();
  });

  test("keeps it for the next taker when the first one gives up waiting", async () => {
    const kernels = createHostKernels();
    const pool = createPool(kernels);
    pool.warm();
    const error = await pool.start(silent, AbortSignal.abort()).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "CANCELLED" });
    const { kernel } = await pool.start(silent, live());
    expect(kernels.sandboxes).toHaveLength(1);
    await kernel.close();
  });

  test("tells the taker why a start fails, and tries anew for the next", async () => {
    const good = createHostKernels();
    let broken = true;
    const pool = createPool({
      start: (events, signal) =>
        broken ? Promise.reject(new Error("no engine")) : good.start(events, signal),
    });
    pool.warm();
    expect(await pool.start(silent, live()).catch((e: Error) => e.message)).toBe("no engine");
    broken = false;
    await (await pool.start(silent, live())).kernel.close();
  });

  test("stops a spare that nobody takes", async () => {
    const kernels = createHostKernels();
    createPool(kernels, 1).warm();
    await until(() => kernels.sandboxes.length === 1);
    expect(await kernels.sandboxes[0]?.ended).toMatchObject({ code: 0 });
  });

  test("leaves nothing when it is closed, not even one that is still starting", async () => {
    const kernels = createHostKernels();
    const pool = createPool(kernels);
    pool.warm();
    await pool.close();
    await Promise.all(kernels.sandboxes.map((sandbox) => sandbox.ended));
    pool.warm();
    expect(kernels.sandboxes.length).toBeLessThan(2);
  });

  test("says how things stand, and forgets a failure when a start succeeds", async () => {
    const real = createHostKernels();
    let fails = true;
    const pool = createPool({
      start: (events, signal) =>
        fails ? Promise.reject(new BridgeError("ENGINE_FAILED", "it is broken")) : real.start(events, signal),
    });
    expect(pool.state).toEqual({ spare: "none", failure: undefined });
    pool.warm();
    expect(pool.state).toEqual({ spare: "starting", failure: undefined });
    await until(() => pool.state.failure === "ENGINE_FAILED" && pool.state.spare === "none");
    fails = false;
    pool.warm();
    await until(() => pool.state.spare === "ready");
    expect(pool.state.failure).toBeUndefined();
    const { kernel, fromPool } = await pool.start(silent, live());
    expect(fromPool).toBe(true);
    await kernel.close();
  });
});
