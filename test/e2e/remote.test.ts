import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { startChild } from "../../src/core/child.ts";
import { serveBothEras, serveHttp, serveSessions, serveSse } from "../helpers/http-servers.ts";
import { browse, createOAuthWorld } from "../helpers/oauth-world.ts";
import { until } from "../helpers/until.ts";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { BINARY, bridgeEnv } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

const home = createHome();
const bridges: Bridge[] = [];
afterEach(async () => {
  for (const bridge of bridges.splice(0)) await bridge[Symbol.asyncDispose]();
});
afterAll(() => home[Symbol.dispose]());

async function start(env: Record<string, string> = {}): Promise<Bridge> {
  const bridge = await startBridge({ home, env });
  bridges.push(bridge);
  await bridge.python("None"); // the first result may carry a note about the engine
  return bridge;
}

describe("Python that calls servers by URL", () => {
  test("reaches each transport and era, and a session that was forgotten", async () => {
    await using sessions = serveSessions();
    await using eras = serveBothEras();
    await using sse = await serveSse();
    home.defineServers({
      http: { type: "http", url: sessions.url, headers: { "X-Key": "k-secret-1" } },
      modern: { url: eras.url },
      old: { url: sse.url },
    });
    const bridge = await start();

    const code =
      "print((await mcp_http.add(a=1, b=2)).text, (await mcp_modern.era()).text, (await mcp_old.add(a=2, b=2)).text)";
    expect((await bridge.python(code)).text).toBe("3 modern 4\n");
    sessions.forget();
    expect((await bridge.python("print((await mcp_http.add(a=5, b=5)).text)")).text).toBe("10\n");

    expect(sessions.adder.runs).toBe(2);
    expect(sessions.seen.every(({ headers }) => headers.get("x-key") === "k-secret-1")).toBe(true);
  });

  test("goes through the proxy of the environment, and not for what is left out of it", async () => {
    await using proxy = serveHttp(() => new Response("no way", { status: 502 }));
    await using direct = serveSessions();
    home.defineServers({
      far: { type: "http", url: "http://far.example/mcp" },
      near: { type: "http", url: direct.url },
    });
    const bridge = await start({ HTTP_PROXY: new URL(proxy.url).origin, NO_PROXY: "127.0.0.1" });

    expect((await bridge.python("print((await mcp_near.add(a=1, b=2)).text)")).text).toBe("3\n");
    const { text, isError } = await bridge.python("await mcp_far.add(a=1, b=2)");

    expect(isError).toBe(true);
    expect(text).toContain('server "far" answered http://far.example/mcp with HTTP 502: "no way"');
    expect(proxy.seen.length).toBeGreaterThan(0);
  });

  test("is told what the user has to run, and goes on once the user has", async () => {
    await using oauth = await createOAuthWorld();
    home.defineServers({ web: { type: "http", url: oauth.url } });
    const bridge = await start();
    const refused = await bridge.python("await mcp_web.add(a=1, b=2)");
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain('server "web" needs a sign-in');
    expect(refused.text).toContain("sandpy auth web");

    const env = bridgeEnv(home.path, { MCP_BRIDGE_LOG_LEVEL: "ERROR" });
    const child = await startChild({
      command: BINARY,
      args: ["auth", "web", "--no-browser"],
      env,
      cwd: home.path,
    });
    child.endInput();
    const address = () => /^ {2}(http\S+)$/m.exec(child.stderrText())?.[1];
    await until("the address of the sign-in", () => address() !== undefined);
    expect(await browse(address() ?? "")).toContain("You can close this page");
    let said = "";
    for await (const chunk of child.stdout) said += new TextDecoder().decode(chunk);
    expect([said, (await child.exited).code]).toEqual(['Signed in to "web", which has 1 tool.\n', 0]);

    // A server that has just refused is not asked again at once.
    let answer = await bridge.python("print((await mcp_web.add(a=1, b=2)).text)");
    for (let round = 0; answer.isError && round < 20; round++) {
      answer = await bridge.python(
        "import asyncio\nawait asyncio.sleep(0.3)\nprint((await mcp_web.add(a=1, b=2)).text)",
      );
    }
    expect(answer.text).toBe("3\n");
  });
});
