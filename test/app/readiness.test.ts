import { describe, expect, test } from "bun:test";
import type { LauncherProbe } from "../../src/app/kernel-launcher.ts";
import { createReadiness, type ReadinessPorts, respondAlive } from "../../src/app/readiness.ts";
import { BridgeError } from "../../src/core/errors.ts";

const FOUND: LauncherProbe = { engine: "podman", hasImage: true };

function create(changes: Partial<ReadinessPorts> = {}) {
  return createReadiness({
    probe: async () => FOUND,
    pool: () => ({ spare: "ready", failure: undefined }),
    warm: () => undefined,
    isDraining: () => false,
    ...changes,
  });
}

describe("readiness", () => {
  test("is 200 with each check", async () => {
    const response = await create().respond();
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expect(await response.json()).toEqual({
      ready: true,
      checks: {
        engine: { ok: true, name: "podman" },
        image: { ok: true },
        pool: { ok: true, spare: "ready" },
        serving: { ok: true },
      },
    });
  });

  const missing = async (): Promise<LauncherProbe> => {
    throw new BridgeError("ENGINE_NOT_FOUND", "no engine in /home/ann/bin", { hint: "token=abc" });
  };
  test.each<[string, Partial<ReadinessPorts>, unknown]>([
    [
      "there is no engine",
      { probe: missing },
      { engine: { ok: false, code: "ENGINE_NOT_FOUND" }, image: { ok: false, code: "ENGINE_NOT_FOUND" } },
    ],
    [
      "the image is not there",
      { probe: async () => ({ ...FOUND, hasImage: false }) },
      { engine: { ok: true }, image: { ok: false, code: "IMAGE_MISSING" } },
    ],
    [
      "sandboxes do not start",
      { pool: () => ({ spare: "none", failure: "KERNEL_START_FAILED" }) },
      { engine: { ok: true }, pool: { ok: false, spare: "none", code: "KERNEL_START_FAILED" } },
    ],
    ["no new work is taken", { isDraining: () => true }, { serving: { ok: false } }],
  ])("is 503 where %s", async (_what, changes, checks) => {
    const response = await create(changes).respond();
    expect(response.status).toBe(503);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ ready: false, checks });
    expect(text).not.toMatch(/home|token/);
  });

  test("asks the engine once for all who ask within three seconds, and again after that", async () => {
    let asked = 0;
    const probe = async () => {
      asked += 1;
      await Bun.sleep(5);
      return FOUND;
    };
    const patient = create({ probe });
    await Promise.all([patient.report(), patient.report()]);
    await patient.report();
    expect(asked).toBe(1);
    const hasty = create({ probe, keepMs: -1 });
    await Promise.all([hasty.report(), hasty.report()]);
    await hasty.report();
    expect(asked).toBe(3);
  });

  test("has a pool that failed try again, unless nothing new is to begin", async () => {
    let warmed = 0;
    const warm = () => {
      warmed += 1;
    };
    const pool = () => ({ spare: "none", failure: "ENGINE_FAILED" }) as const;
    await create({ pool, warm }).report();
    expect(warmed).toBe(1);
    await create({ pool, warm, isDraining: () => true }).report();
    await create({ warm }).report();
    expect(warmed).toBe(1);
  });
});

test("a process that is alive says so, and no more", async () => {
  const response = respondAlive();
  expect([response.status, await response.text()]).toEqual([200, "ok\n"]);
});
