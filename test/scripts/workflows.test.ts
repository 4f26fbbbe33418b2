import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse } from "yaml";

const ROOT = resolve(import.meta.dir, "../..");
const FOLDER = join(ROOT, ".github/workflows");
const OWN = ["ci.yml", "release.yml", "smoke.yml"];

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly needs?: string | readonly string[];
  readonly uses?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps?: readonly Step[];
  readonly "timeout-minutes"?: number;
}

interface Workflow {
  readonly permissions?: unknown;
  readonly concurrency?: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

const text = (name: string) => readFileSync(join(FOLDER, name), "utf8");
const load = (name: string) => parse(text(name)) as Workflow;
const names = readdirSync(FOLDER).filter((name) => /\.ya?ml$/.test(name));
const jobsOf = (name: string) => Object.entries(load(name).jobs);

describe("the workflows", () => {
  test("are all there", () => {
    expect(names).toEqual(expect.arrayContaining(OWN));
  });

  test.each(names)("of %s pin every action by its commit, with its version beside it", (name) => {
    const used = text(name)
      .split("\n")
      .filter((line) => /^\s*(- )?uses:/.test(line))
      .map((line) => line.replace(/^\s*(- )?uses: /, ""));
    expect(
      used.filter((each) => !/^(\.\/\S+|[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/.test(each)),
    ).toEqual([]);
  });

  test("use one commit of each action", () => {
    const used = names.flatMap((name) => [...text(name).matchAll(/uses: ([\w-]+\/[\w-]+)@(\w+)/g)]);
    const commits = new Map<string, Set<string>>();
    for (const [, action = "", commit = ""] of used) {
      commits.set(action, (commits.get(action) ?? new Set()).add(commit));
    }
    expect([...commits].filter(([, each]) => each.size > 1)).toEqual([]);
  });

  test.each(OWN)("of %s grant nothing by default, and end", (name) => {
    expect(load(name).permissions).toEqual({});
    for (const [, job] of jobsOf(name)) {
      expect(job.permissions?.["contents"]).toBeDefined();
      if (job.uses === undefined) expect(job["timeout-minutes"]).toBeLessThanOrEqual(90);
    }
  });

  test("write only where something is attested or published", () => {
    const writing = names.flatMap((name) =>
      jobsOf(name).flatMap(([job, { permissions }]) =>
        Object.entries(permissions ?? {})
          .filter(([, level]) => level === "write")
          .map(([scope]) => `${name} ${job} ${scope}`),
      ),
    );
    expect(writing).toEqual([
      "release.yml attest id-token",
      "release.yml attest attestations",
      "release.yml release contents",
    ]);
  });

  test("leave no token behind, and put no value of others into a script", () => {
    const steps = names.flatMap((name) => jobsOf(name).flatMap(([, job]) => job.steps ?? []));
    const checkouts = steps.filter((step) => step.uses?.startsWith("actions/checkout@"));
    expect(checkouts.length).toBeGreaterThan(3);
    expect(checkouts.filter((step) => step.with?.["persist-credentials"] !== false)).toEqual([]);
    expect(steps.filter((step) => step.run?.includes("${{"))).toEqual([]);
  });

  test("call only scripts that exist", () => {
    const called = names.flatMap((name) => [...text(name).matchAll(/\.\/(scripts\/[\w-]+)/g)]);
    expect(called.length).toBeGreaterThan(5);
    expect(called.filter(([, script = ""]) => !existsSync(join(ROOT, script)))).toEqual([]);
  });

  test("publish only what was checked, tested, built twice, run everywhere and attested", () => {
    const { jobs } = load("release.yml");
    const before = (name: string): Set<string> => {
      const direct = [jobs[name]?.needs ?? []].flat();
      return new Set(direct.flatMap((each) => [each, ...before(each)]));
    };
    expect([...before("release")].sort()).toEqual(["attest", "build", "check", "reproduce", "smoke", "test"]);
    expect([...before("attest")].sort()).toEqual(["build", "check", "reproduce", "smoke", "test"]);
    expect(load("release.yml").concurrency).toBeDefined();
    expect(load("ci.yml").concurrency).toBeDefined();
  });
});
