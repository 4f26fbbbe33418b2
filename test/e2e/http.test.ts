import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  Client as NewerClient,
  StreamableHTTPClientTransport as NewerTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { runChild } from "../../src/core/child.ts";
import { BINARY, bridgeEnv, containersOf, until } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { ADA, BOB, type Served, startServed, writeTokens } from "./helpers/served.ts";

const GONE_WITHIN_MS = 9000;
const TIMEOUT = { timeout: 60_000 };

let home: TestHome;

beforeAll(() => {
  home = createHome();
  writeTokens(home);
});
afterAll(() => home[Symbol.dispose]());

const start = (...flags: string[]) => startServed(home, ["--token-file", `${home.path}/tokens`, ...flags]);
const withToken = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

async function connectOlder(served: Served, token: string): Promise<Client> {
  const client = new Client({ name: "v1", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(served.url, withToken(token)) as never);
  return client;
}

async function python(
  client: Client | NewerClient,
  code: string,
  onprogress: () => void = () => undefined,
): Promise<string> {
  const params = { name: "run_python", arguments: { code } };
  const options = { ...TIMEOUT, onprogress };
  const result =
    client instanceof Client
      ? await client.callTool(params, undefined, options)
      : await client.callTool(params, options);
  return (result["content"] as { text: string }[]).map(({ text }) => text).join("");
}

/** What to call at output, and whether there was any. */
function watchOutput(): readonly [heard: () => void, wasHeard: () => boolean] {
  let wasHeard = false;
  const heard = () => {
    wasHeard = true;
  };
  return [heard, () => wasHeard];
}

describe("one server", () => {
  let served: Served;
  beforeAll(async () => {
    served = await start();
  });
  afterAll(() => served[Symbol.asyncDispose]());

  test("CLI-12: starts nothing for whom it does not know", async () => {
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "run_python", arguments: { code: "1" } },
    };
    const statuses = await Promise.all(
      [
        {},
        { authorization: "Bearer wrong-0123456789abcdef" },
        { authorization: `Bearer ${ADA}`, "mcp-session-id": "x" },
      ].map(async (headers) => {
        const answer = await fetch(served.url, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            ...headers,
          } as Record<string, string>,
          body: JSON.stringify(call),
        });
        return answer.status;
      }),
    );
    expect(statuses).toEqual([401, 401, 404]);
    expect(await containersOf(served.child.pid)).toEqual([]);
  });

  test("serves clients of both lines of the SDK, and each session keeps its own variables", async () => {
    const ada = await connectOlder(served, ADA);
    const bob = await connectOlder(served, BOB);
    const newer = new NewerClient({ name: "v2", version: "1" }, { versionNegotiation: { mode: "auto" } });
    await newer.connect(new NewerTransport(served.url, withToken(ADA)));
    expect(newer.getNegotiatedProtocolVersion()).toBe("2026-07-28");
    await Promise.all([python(ada, "who = 'ada'"), python(bob, "who = 'bob'")]);
    const answers = await Promise.all([python(ada, "who"), python(bob, "who"), python(newer, "6 * 7")]);
    expect(answers.slice(0, 2)).toEqual(["'ada'", "'bob'"]);
    expect(answers[2]).toContain("42");
    expect(await python(newer, "'who' in globals()")).toContain("False");
    await Promise.all([ada.close(), bob.close(), newer.close()]);
  });

  test("ends the sandbox of a session that is deleted", async () => {
    const transport = new StreamableHTTPClientTransport(served.url, withToken(ADA));
    const client = new Client({ name: "v1", version: "1" });
    await client.connect(transport as never);
    const pid = Number.parseInt(
      await python(client, "import os; open('/tmp/mark', 'w').close(); os.getpid()"),
      10,
    );
    expect(pid).toBeGreaterThan(0);
    const before = new Set(await containersOf(served.child.pid));
    await transport.terminateSession();
    let left: readonly string[] = [];
    for (const deadline = Date.now() + 10_000; Date.now() < deadline; ) {
      left = (await containersOf(served.child.pid)).filter((name) => before.has(name));
      if (left.length < before.size) break;
    }
    expect(left.length).toBeLessThan(before.size);
    expect(python(client, "1")).rejects.toThrow();
    await client.close();
  });
});

describe("SIGTERM", () => {
  test("lets what runs end, takes nothing new, and leaves nothing", async () => {
    await using served = await start("--grace", "6");
    const { pid } = served.child;
    const client = await connectOlder(served, ADA);
    await python(client, "import time");
    const [begun, hasBegun] = watchOutput();
    const running = python(client, "print('begun', flush=True); time.sleep(2); 'done'", begun);
    await until("the run to begin", hasBegun);
    served.child.kill("SIGTERM");
    await untilRefused(served);
    expect(await running).toContain("done");
    await client.close();
    const { code } = await served.child.exited;
    expect([code, await containersOf(pid)]).toEqual([0, []]);
    expect(fetch(served.url)).rejects.toThrow();
  });

  test("twice does not wait", async () => {
    await using served = await start("--grace", "60");
    const { pid } = served.child;
    const client = await connectOlder(served, ADA);
    await python(client, "import time");
    const [begun, hasBegun] = watchOutput();
    const running = python(client, "print('begun', flush=True); time.sleep(50)", begun);
    await until("the run to begin", hasBegun);
    const startedAt = performance.now();
    served.child.kill("SIGTERM");
    await untilRefused(served);
    served.child.kill("SIGTERM");
    const { code } = await served.child.exited;
    expect([code, performance.now() - startedAt < GONE_WITHIN_MS]).toEqual([0, true]);
    expect(await running).toContain("cancelled");
    expect(await containersOf(pid)).toEqual([]);
    await client.close();
  });
});

/** Waits until the server takes no new work. */
async function untilRefused({ url }: Served): Promise<void> {
  const headers = { authorization: `Bearer ${ADA}` };
  for (const deadline = Date.now() + 5000; Date.now() < deadline; ) {
    if ((await fetch(url, { headers })).status === 503) return;
  }
  throw new Error("new work is taken");
}

describe("what does not start", () => {
  test("says so with its exit code", async () => {
    await using served = await start();
    const args = ["serve", "--http", "--port", served.url.port];
    const taken = await runChild({ command: BINARY, args, env: bridgeEnv(home.path), timeoutMs: 20_000 });
    expect([taken.code, taken.stdout]).toEqual([3, ""]);
    expect(taken.stderr).toContain(`the port of 127.0.0.1:${served.url.port} is in use already`);
    const open = ["serve", "--http", "--host", "0.0.0.0", "--port", "0"];
    const refusal = await runChild({
      command: BINARY,
      args: open,
      env: bridgeEnv(home.path),
      timeoutMs: 20_000,
    });
    expect([refusal.code, refusal.stderr]).toEqual([3, expect.stringContaining("--insecure-no-auth")]);
  });
});
