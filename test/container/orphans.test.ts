import { describe, expect, test } from "bun:test";
import { readlink } from "node:fs/promises";
import { describeOwner, isOwnerGone, renderLabels } from "../../src/container/owner.ts";
import { detect, ENGINES, IMAGE, listContainers, neverAborted, runClient } from "./helpers/engines.ts";

const ENGINE_DEADLINE_MS = 30_000;

/** A process that ran on this machine and has ended. */
async function endedProcess(): Promise<number> {
  const child = Bun.spawn(["true"]);
  await child.exited;
  return child.pid;
}

describe("an owner", () => {
  test("HOST-16: is this process, with its boot, namespace and tick", async () => {
    const owner = describeOwner();
    const namespace = (await readlink("/proc/self/ns/pid")).replace(/\D/g, "");
    expect(owner.started).toMatch(new RegExp(`^[0-9a-f-]{36}/${namespace}/\\d+$`));
    expect(isOwnerGone(renderLabels(owner))).toBe(false);
  });

  test("HOST-12: is gone when its process is, and when its number belongs to another by now", async () => {
    const owner = describeOwner();
    expect(isOwnerGone(renderLabels({ ...owner, pid: await endedProcess() }))).toBe(true);
    const earlier = owner.started.replace(/\d+$/, "1");
    expect(isOwnerGone(renderLabels({ ...owner, started: earlier }))).toBe(true);
  });

  test("is not for us to judge on another machine, in another namespace, or without labels", async () => {
    const owner = { ...describeOwner(), pid: await endedProcess() };
    const [boot, namespace, tick] = owner.started.split("/");
    const elsewhere = [`other/${namespace}/${tick}`, `${boot}/1/${tick}`, "unknown"];
    for (const started of elsewhere) expect(isOwnerGone(renderLabels({ ...owner, started }))).toBe(false);
    expect(isOwnerGone({})).toBe(false);
  });
});

test.each(ENGINES)(
  "HOST-10: removes from %s what a killed bridge left, and nothing of one that runs",
  async (name) => {
    const { engine } = await detect({ engine: name });
    const owner = describeOwner();
    const create = async (title: string, labels: Record<string, string>) => {
      const container = `sandpy-orphan-${title}-${process.pid}`;
      const flags = Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]);
      await runClient(name, "create", "--name", container, ...flags, IMAGE, "true");
      return container;
    };
    const left = await create("left", renderLabels({ ...owner, pid: await endedProcess() }));
    const kept = [
      await create("live", renderLabels(owner)),
      await create("far", renderLabels({ ...owner, pid: 1, started: "other/1/1" })),
      await create("foreign", {}),
    ];
    try {
      await engine.removeOrphans(neverAborted()); // or a bridge that starts meanwhile does it
      const names = await listContainers(name, `sandpy-orphan-.*-${process.pid}`);
      expect(names).not.toContain(left);
      expect(names.toSorted()).toEqual(kept.toSorted());
    } finally {
      await runClient(name, "rm", "--force", ...kept);
    }
  },
  ENGINE_DEADLINE_MS,
);

test.skipIf(!ENGINES.includes("podman"))(
  "HOST-10: removes what a killed bridge left where podman's monitor was killed with it",
  async () => {
    const { engine } = await detect({ engine: "podman" });
    const container = `sandpy-orphan-unwatched-${process.pid}`;
    const labels = renderLabels({ ...describeOwner(), pid: await endedProcess() });
    const flags = Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]);
    const runtime = engine.info.ociRuntime === undefined ? [] : ["--runtime", engine.info.ociRuntime];
    const limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=512:512", "--network", "none"];
    await runClient(
      "podman",
      ...runtime,
      "run",
      "--detach",
      "--name",
      container,
      ...limits,
      ...flags,
      IMAGE,
      "sleep",
      "600",
    );
    const pids = await runClient(
      "podman",
      "inspect",
      "--format",
      "{{.State.ConmonPid}} {{.State.Pid}}",
      container,
    );
    for (const pid of pids.trim().split(" ")) process.kill(Number(pid), "SIGKILL");
    await engine.removeOrphans(neverAborted());
    expect(await listContainers("podman", container)).toEqual([]);
  },
  ENGINE_DEADLINE_MS,
);
