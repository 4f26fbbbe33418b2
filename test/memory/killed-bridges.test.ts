/** Several bridges on one state directory, of which some are killed at any moment (cases E4 and E5 of our attacks). */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createStateDir, openSession, save, signal } from "./helpers.ts";

const MODULE = join(import.meta.dir, "../../src/memory/memory.ts");
const KILLS = 12;
const BRIDGES = 3;

/** Adds to one memory, the saved tools and one file, as fast as it can, and says what was kept. */
const BRIDGE = `
  import { createMemory } from ${JSON.stringify(MODULE)};
  const [stateDir, name] = process.argv.slice(-2);
  const session = createMemory({ stateDir, quotaBytes: 1e9, waitMs: 30_000 }).openSession();
  const { signal } = new AbortController();
  const say = (what, id) => process.stdout.write(what + " " + id + "\\n");
  const memory = async (id) => {
    const { lease, memory } = await session.holdMemory("log", signal);
    await session.commitMemory({ lease, value: JSON.stringify([...JSON.parse(memory?.value ?? "[]"), id]) }, signal);
  };
  const tools = async (id) => {
    const { lease, source } = await session.holdTools(signal);
    await session.commitTools({ lease, source: source + "# " + id + "\\n" }, signal);
  };
  const file = async (id) => {
    for (;;) {
      const { files } = await session.listProjectFiles(signal);
      const base = files.find(({ path }) => path === "d/log")?.version ?? "";
      const old = base === "" ? "" : Buffer.from((await session.readProjectFile({ path: "d/log", offset: 0 }, signal)).data, "base64");
      const content = Buffer.from(old + id + "\\n");
      const piece = { path: "d/log", offset: 0, total: content.length, base, data: content.toString("base64") };
      if ((await session.writeProjectFile(piece, signal)) !== "changed") return;
    }
  };
  const loop = async (what, work) => { for (let n = 0; ; n++) { await work(name + n); say(what, name + n); } };
  await Promise.all([loop("memory", memory), loop("tools", tools), loop("file", file)]);`;

interface Running {
  readonly said: Map<string, string[]>;
  kill(): Promise<void>;
}

function start(stateDir: string, name: string): Running {
  const child = Bun.spawn([process.execPath, "-e", BRIDGE, "--", stateDir, name], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const said = new Map<string, string[]>();
  const reading = (async () => {
    let text = "";
    for await (const chunk of child.stdout) {
      const lines = (text + Buffer.from(chunk).toString()).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const [what = "", id = ""] = line.split(" ");
        said.set(what, [...(said.get(what) ?? []), id]);
      }
    }
  })();
  return {
    said,
    async kill() {
      child.kill("SIGKILL");
      await Promise.all([reading, child.exited]);
      expect(await child.stderr.text()).toBe("");
    },
  };
}

test("KEP-5: bridges that are killed lose nothing that they said is kept, and hold nobody up", async () => {
  using state = createStateDir();
  const all: Running[] = [];
  const running: Running[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    while (running.length < BRIDGES) {
      const bridge = start(state.path, `b${all.length}-`);
      all.push(bridge);
      running.push(bridge);
    }
    const [next] = running.splice(0, 1);
    const wanted = 1 + Math.floor(Math.random() * 10);
    while ((next?.said.get("memory")?.length ?? 0) < wanted) await Bun.sleep(1); // none is held up for good
    await next?.kill();
  }
  await Promise.all(running.map((bridge) => bridge.kill()));

  const session = openSession(state.path);
  const log = JSON.parse((await session.loadMemory("log", signal))?.value ?? "[]") as string[];
  const linesOf = (name: string) =>
    readFileSync(join(state.path, "user_tools", name), "utf8")
      .trimEnd()
      .replaceAll("# ", "")
      .split("\n");
  const kept = { memory: log, tools: linesOf("user_tools.py"), file: linesOf("d/log") };
  for (const [what, ids] of Object.entries(kept)) {
    expect(new Set(ids).size).toBe(ids.length);
    const said = all.flatMap((bridge) => bridge.said.get(what) ?? []);
    expect(said.filter((id) => !ids.includes(id))).toEqual([]);
    expect(ids.length - said.length).toBeLessThanOrEqual(all.length); // the last of each, which it could not say any more
  }

  const startedAt = performance.now();
  await save(session, "log", "the end");
  await session.listProjectFiles(signal);
  expect(performance.now() - startedAt).toBeLessThan(5000);
  const left = readdirSync(state.path, { recursive: true, encoding: "utf8" });
  expect(left.filter((name) => /sandpy-writing|\.lock/.test(name))).toEqual([]);
}, 60_000);
