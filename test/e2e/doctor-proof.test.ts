/** What `sandpy doctor` proves of the sandbox, on gVisor too. */
import { afterAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { examineWith, statusOf } from "./helpers/doctor.ts";
import { engine, flavour, isGvisor } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

const home = createHome();
afterAll(() => home[Symbol.dispose]());

test("finds an engine, and proves the sandbox closed", async () => {
  const { code, report } = await examineWith(home);
  expect(code).toBe(0);
  expect(report).toMatchObject({ ok: true, problems: 0 });
  const proofs = ["engine", "image", "python", "network", "kernel-surface", "file-system", "privileges"];
  expect(proofs.map((check) => [check, statusOf(report, check)])).toEqual(
    proofs.map((check) => [check, "ok"]),
  );
  const facts = report.findings.find(({ check }) => check === "engine")?.facts;
  expect(facts).toMatchObject({ name: engine });
});

test("tries the limits, and does not claim what does not hold", async () => {
  const { report } = await examineWith(home);
  const cgroups = report.findings.find(({ check }) => check === "cgroups")?.facts;
  const expected = cgroups?.["enforcesLimits"] === true ? "ok" : "warning";
  expect([statusOf(report, "memory-limit"), statusOf(report, "process-limit")]).toEqual([expected, expected]);
  expect(report.findings.find(({ check }) => check === "rootless")?.facts).toEqual({
    rootless: flavour === "podman-rootless",
  });
});

// A configuration of the engine's own can add to what its containers see.
test.if(engine === "podman" && !isGvisor)(
  "ISO-5 ISO-10: names what the engine shows of the machine",
  async () => {
    const shared = join(home.path, "shared");
    mkdirSync(shared);
    const conf = home.write("containers.conf", `[containers]\nvolumes = ["${shared}:/of-the-host:ro"]\n`);
    const { code, report } = await examineWith(home, { CONTAINERS_CONF: conf });
    expect(code).toBe(0);
    expect(report.findings.find(({ check }) => check === "file-system")).toMatchObject({
      status: "warning",
      found: expect.stringContaining("code sees /of-the-host of this machine"),
      facts: { foreign: ["/of-the-host"] },
    });
  },
);
