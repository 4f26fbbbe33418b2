/** The quick form of scripts/soak, which runs the same for minutes and hours. */
import { expect, test } from "bun:test";
import { soakUnderLoad } from "../../scripts/soak-programs/load.ts";
import { killBridges } from "../../scripts/soak-programs/orphans.ts";

const SEED = 20_261_130;
/** What a bridge holds is read from /proc. */
const isLinux = process.platform === "linux";

test.skipIf(!isLinux)(
  "HOST-15: mixed load while what it uses is killed gives no wrong result, and leaves nothing",
  async () => {
    const { faults, done, kills } = await soakUnderLoad({
      minutes: 0.1,
      sessions: 3,
      seed: SEED,
      idleSeconds: 2,
      daemon: undefined,
    });
    expect(faults).toEqual([]);
    expect(Object.keys(done).length).toBeGreaterThan(0);
    expect(Object.keys(kills).length).toBeGreaterThan(0);
  },
  120_000,
);

test.skipIf(!isLinux)(
  "LEFT-3: bridges that are killed at random moments leave nothing",
  async () => {
    const { faults, kills } = await killBridges({ kills: 6, seed: SEED, daemon: undefined });
    expect(faults).toEqual([]);
    expect(Object.values(kills).reduce((one, other) => one + other, 0)).toBe(6);
  },
  120_000,
);
