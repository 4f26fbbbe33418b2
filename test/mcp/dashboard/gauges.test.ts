import { expect, test } from "bun:test";
import { Gauges } from "../../../src/mcp/dashboard/gauges.ts";
import { MemoryGauge } from "../../../src/mcp/dashboard/memory-gauge.ts";
import { patient } from "../../helpers/patient.ts";

const ONE = { name: "notes", status: "idle", reason: null, tools: null } as const;

test("asks once for all who look at once, and not again for a while", async () => {
  const asked: string[] = [];
  const memory = new MemoryGauge({
    async memoryBytes(id) {
      asked.push(id);
      return id === "gone" ? undefined : 4096;
    },
  });
  const gauges = new Gauges(memory, async () => {
    asked.push("servers");
    return [ONE];
  });

  await Promise.all([gauges.refresh(["a", "gone"]), gauges.refresh(["a", "gone"])]);
  await gauges.refresh(["a", "gone"]);

  expect(asked.sort()).toEqual(["a", "gone", "servers"]);
  expect([gauges.memoryBytes("a"), gauges.memoryBytes("gone"), gauges.servers]).toEqual([
    4096,
    undefined,
    [ONE],
  ]);
});

test("waits for nobody who does not answer, and bears with who fails", async () => {
  const memory = new MemoryGauge({ memoryBytes: () => new Promise(() => undefined) });
  const gauges = new Gauges(memory, () => Promise.reject(new Error("no file")));
  const startedAt = performance.now();
  await gauges.refresh(["a"]);
  expect(performance.now() - startedAt).toBeLessThan(patient(5000));
  expect([gauges.memoryBytes("a"), gauges.servers]).toEqual([undefined, []]);
});
