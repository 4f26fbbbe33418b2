import { expect, test } from "bun:test";
import { fuzzHost } from "../../scripts/fuzz-programs/host.ts";

/** The long form is `scripts/fuzz`; a seed that failed is given to it as `--seed`. */
const FRAMES = 20_000;

test("FRG-11: stays correct, and answers every call, whatever a sandbox writes", async () => {
  const seed = Date.now() % 1_000_000;
  const { frames, faults, outcomes } = await fuzzHost(FRAMES, seed);
  expect({ seed, faults }).toEqual({ seed, faults: [] });
  expect(frames).toBeGreaterThanOrEqual(FRAMES);
  // Forged frames that ended calls are among them: else nothing got as far as it should.
  expect(Object.keys(outcomes).length).toBeGreaterThan(1);
});
