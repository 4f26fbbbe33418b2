import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { engine, until } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { type Served, startServed } from "./helpers/served.ts";

const TOKEN = "ada-0123456789abcdef";
const SERVER = join(import.meta.dir, "../fixtures/servers/scripted-server.ts");

/** A home with a token of Ada's and a server `fx` that has the tool `get`. */
function createServedHome(): TestHome {
  const home = createHome();
  home.defineServers({
    fx: { command: process.execPath, args: [SERVER, JSON.stringify({ tools: { get: {} } })] },
  });
  chmodSync(home.write("tokens", `ada ${TOKEN}\n`), 0o600);
  return home;
}

const flagsFor = (home: TestHome) => ["--token-file", join(home.path, "tokens")];
const ask = (served: Served, path: string, token?: string) =>
  fetch(
    `${served.origin}${path}`,
    token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
  );

describe("a server that runs code", () => {
  let home: TestHome;
  let served: Served;
  beforeAll(async () => {
    home = createServedHome();
    served = await startServed(home, flagsFor(home), { MCP_BRIDGE_TIMEOUT: "20" });
  });
  afterAll(async () => {
    await served[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  test("is alive and ready", async () => {
    expect(await (await ask(served, "/healthz")).text()).toBe("ok\n");
    const ready = await ask(served, "/readyz");
    expect(await ready.json()).toMatchObject({
      ready: true,
      checks: { engine: { ok: true, name: engine }, image: { ok: true } },
    });
    expect(ready.status).toBe(200);
  });

  test("counts what ran, what was called and what died", async () => {
    await using client = await served.connect(TOKEN);
    expect(await client.python("print(await mcp_fx.get())")).toBe("success");
    expect(await client.python("1 / 0")).toBe("error");
    expect(await client.python("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")).not.toBe(
      "success",
    );
    expect((await ask(served, "/metrics")).status).toBe(401);
    const scrape = async () => (await ask(served, "/metrics", TOKEN)).text();
    const text = await scrape();
    for (const sample of [
      'sandpy_executions_total{outcome="ok"} 1',
      'sandpy_executions_total{outcome="error"} 1',
      'sandpy_executions_total{outcome="died"} 1',
      'sandpy_execution_duration_seconds_count{outcome="ok"} 1',
      "sandpy_execution_queue_wait_seconds_count 3",
      'sandpy_upstream_calls_total{server="fx",outcome="ok"} 1',
      'sandpy_kernel_deaths_total{cause="signal"} 1',
      'sandpy_sandboxes{use="session"} 1',
      "sandpy_sandbox_start_duration_seconds_count 1",
      "sandpy_sessions 1",
    ]) {
      expect(text).toContain(`${sample}\n`);
    }
    expect(text).toMatch(/sandpy_build_info\{version="\d[^"]*",commit="[0-9a-f]+"\} 1/);
  });

  test("names caller and execution in the audit", async () => {
    const file = join(home.path, ".local/share/sandpy/audit.jsonl");
    await until("a line in the audit", () => existsSync(file) && readFileSync(file, "utf8") !== "");
    const line = JSON.parse(readFileSync(file, "utf8").split("\n")[0] ?? "") as Record<string, unknown>;
    expect(line).toMatchObject({ caller: "token:ada", server: "fx", tool: "get", outcome: "ok" });
    for (const name of ["session", "execution"]) expect(line[name]).toMatch(/^[0-9a-f]{12}$/);
  });
});

test("a server whose engine is broken is alive and not ready, and says no more than that", async () => {
  using home = createServedHome();
  const stub = home.write(`bin/${engine}`, "#!/bin/sh\necho 'secret words of the engine' >&2\nexit 125\n");
  chmodSync(stub, 0o755);
  await using served = await startServed(home, flagsFor(home), { PATH: join(home.path, "bin") });
  expect((await ask(served, "/healthz")).status).toBe(200);
  const ready = await ask(served, "/readyz");
  expect(ready.status).toBe(503);
  const text = await ready.text();
  expect(JSON.parse(text)).toMatchObject({ ready: false, checks: { engine: { ok: false } } });
  expect(text).not.toContain("secret");
  expect(text).not.toContain(home.path);
});
