import { afterEach, describe, expect, test } from "bun:test";
import { createHealthRoutes, type HealthRoutes } from "../../src/app/health-routes.ts";
import { createBridgeEvents } from "../../src/core/bridge-events.ts";
import { createAuthenticator } from "../../src/mcp/http/authenticator.ts";
import { LOOPBACK_HOSTS } from "../../src/mcp/http/host-guard.ts";
import { createHttpApp } from "../../src/mcp/http/http-app.ts";
import { createStaticTokens } from "../../src/mcp/http/static-tokens.ts";
import { ALICE, digestOf } from "../helpers/http-world.ts";
import { createMemoryLog } from "../helpers/logs.ts";

const open: HealthRoutes[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((routes) => routes.close()));
});

function createApp({ isMetricsOpen = false, isDraining = false } = {}) {
  const health = createHealthRoutes({
    events: createBridgeEvents(),
    launcher: { probe: async () => ({ engine: "docker", hasImage: true }) },
    pool: { state: { spare: "ready", failure: undefined }, warm: () => undefined },
    isMetricsOpen,
  });
  open.push(health);
  const tokens = [{ name: "alice", digest: digestOf(ALICE) }];
  return createHttpApp({
    path: "/mcp",
    endpoint: { handle: async () => new Response() },
    authenticator: createAuthenticator({ verifiers: [createStaticTokens(async () => tokens)] }),
    hosts: { hosts: LOOPBACK_HOSTS, origins: [] },
    routes: [health.routes],
    isDraining: () => isDraining,
    log: createMemoryLog(),
  });
}

describe("beside MCP", () => {
  test.each([
    ["/healthz", {}, {}, 200],
    ["/healthz", {}, { isDraining: true }, 200],
    ["/healthz", { host: "evil.example" }, {}, 403],
    ["/readyz", {}, {}, 200],
    ["/readyz", {}, { isDraining: true }, 503],
    ["/metrics", {}, {}, 401],
    ["/metrics", { authorization: "Bearer wrong-token-000001" }, {}, 401],
    ["/metrics", { authorization: `Bearer ${ALICE}` }, {}, 200],
    ["/metrics", {}, { isMetricsOpen: true }, 200],
  ])("%s with %j where %j is %i", async (path, headers, how, status) => {
    const response = await createApp(how).request(path, { headers: { host: "localhost", ...headers } });
    expect(response.status).toBe(status);
  });

  test("metrics keep the content type of Prometheus", async () => {
    const response = await createApp({ isMetricsOpen: true }).request("/metrics", {
      headers: { host: "localhost" },
    });
    expect(response.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
    expect(await response.text()).toContain('sandpy_sandboxes{use="spare"} 1');
  });
});
