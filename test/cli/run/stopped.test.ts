import { expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Outcome } from "../../../src/session/outcome.ts";
import { CliWorld, OK } from "../../helpers/cli-world.ts";
import { until } from "../../helpers/until.ts";

const home = process.env["HOME"] ?? "/";
const FILE = join(home, "stopped.py");
writeFileSync(FILE, "print(1)\n");

const ERROR = { ename: "ValueError", evalue: "x", traceback: "Traceback …\nValueError: x" };
const KILLED = { reason: "reset", signal: null, detail: null } as const;

/** A program that left one file and runs until it is interrupted, and then ends so; `begun` resolves when it runs. */
function worldWhere(end: (world: CliWorld) => Promise<Outcome>) {
  const world = new CliWorld();
  const begun = Promise.withResolvers<void>();
  world.files = {
    ask: async (method, { offset }) => {
      if (method === "list_files") return { value: { files: [{ path: "left", bytes: 1 }], notes: [] } };
      return { value: method === "read_file" ? { data: offset === 0 ? "eA==" : "" } : {} };
    },
  };
  world.execute = (_request, stop) =>
    new Promise((resolve) => {
      stop.addEventListener("abort", () => resolve(end(world)));
      begun.resolve();
    });
  return { world, begun: begun.promise, out: join(home, `out-${crypto.randomUUID()}`) };
}

test.each<[string, Partial<Outcome>, number, string]>([
  ["ends well", { ownStatus: "ok" }, 0, ""],
  ["chooses its exit code", { ownStatus: "exit", exitCode: 3 }, 3, ""],
  ["fails", { ownStatus: "error", error: ERROR }, 1, "Traceback …\nValueError: x\n"],
  ["does not handle it", { error: ERROR }, 130, ""],
  ["has to be killed", { exitCode: null, death: KILLED, stateLost: true }, 130, ""],
])(
  "brings back what an interrupted program left that %s, and ends as it did",
  async (_title, ended, code, stderr) => {
    const { world, begun, out } = worldWhere(async () => ({ ...OK, ...ended, status: "cancelled" }));
    const running = world.run("run", FILE, "--out", out);
    await begun;
    await world.signal("SIGINT");
    expect(await running).toEqual({ code, stdout: "", stderr });
    expect(readdirSync(out).sort()).toEqual(["left", "manifest.json"]);
  },
);

test("waits for nothing after a second signal, and brings nothing back", async () => {
  const { world, begun, out } = worldWhere(async ({ events }) => {
    await until("the bridge to close", () => events.includes("bridge closed"));
    return { ...OK, status: "cancelled" };
  });
  const running = world.run("run", FILE, "--out", out, "--json");
  await begun;
  await until("the bridge to close", () => {
    if (world.listens) void world.signal("SIGINT");
    return world.events.includes("bridge closed");
  });
  const { code, stdout } = await running;
  expect([code, JSON.parse(stdout).status, existsSync(out)]).toEqual([130, "cancelled", false]);
});
