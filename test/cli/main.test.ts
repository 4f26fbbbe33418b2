import { describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Child, startChild } from "../../src/core/child.ts";
import { patient } from "../helpers/patient.ts";
import { INITIALIZE } from "../helpers/raw-server.ts";

const MAIN = join(import.meta.dir, "../../src/main.ts");

async function start(args: readonly string[], env: Record<string, string> = {}): Promise<Child> {
  const home = process.env["HOME"] ?? "/";
  return startChild({
    command: process.execPath,
    args: [MAIN, ...args],
    env: { HOME: home, ...env },
    cwd: home,
  });
}

async function finish(child: Child): Promise<{ code: number | null; stdout: string; stderr: string }> {
  let stdout = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) stdout += decoder.decode(chunk, { stream: true });
  return { code: (await child.exited).code, stdout, stderr: child.stderrText() };
}

describe("the process", () => {
  test("prints help that was asked for to stdout and exits with 0", async () => {
    const { code, stdout, stderr } = await finish(await start(["--help"]));
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Usage: sandpy ");
  });

  test("prints what a dependency prints to stderr", async () => {
    const preload = join(mkdtempSync(join(tmpdir(), "sandpy-preload-")), "chatty.ts");
    writeFileSync(preload, 'process.on("exit", () => { console.log("so %d", 1); console.table([[2]]); });\n');
    const child = await startChild({
      command: process.execPath,
      args: ["--preload", preload, MAIN, "--version"],
      env: { HOME: process.env["HOME"] ?? "/" },
    });
    const { stdout, stderr } = await finish(child);
    expect(stdout).toStartWith("sandpy ");
    expect(stdout.trim().split("\n")).toHaveLength(1);
    expect(stderr).toStartWith("so 1\n");
    expect(stderr).toContain("2");
  });

  test("prints a usage error to stderr alone and exits with 2", async () => {
    const { code, stdout, stderr } = await finish(await start(["rnu"]));
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe('sandpy: unknown command "rnu"\nDid you mean "run"?');
  });

  test("exits with 3 for a setting that is wrong", async () => {
    const { code, stdout } = await finish(await start([], { MCP_BRIDGE_TIMEOUT: "soon" }));
    expect([code, stdout]).toEqual([3, ""]);
  });

  test.each<[string, (child: Child) => unknown]>([
    ["the end of stdin", (child) => child.endInput()],
    ["SIGTERM", (child) => child.kill("SIGTERM")],
    ["SIGINT", (child) => child.kill("SIGINT")],
    ["SIGHUP", (child) => child.kill("SIGHUP")],
  ])("serves, and exits with 0 at %s", async (_title, end) => {
    const child = await start([]);
    await child.write(INITIALIZE);
    const first = await child.stdout[Symbol.asyncIterator]().next();
    expect(JSON.parse(new TextDecoder().decode(first.value))).toHaveProperty(
      "result.serverInfo.name",
      "sandpy",
    );
    const started = performance.now();
    end(child);
    expect((await child.exited).code).toBe(0);
    expect(performance.now() - started).toBeLessThan(patient(5000));
  });
});
