import { describe, expect, test } from "bun:test";
import type { Availability, ServerDefinition } from "../../src/discovery/server-definition.ts";
import { createRig, define, faultOf, scripted, soon } from "./harness.ts";

function unusable(name: string, availability: Availability, description = ""): ServerDefinition {
  return { ...scripted(name, {}), availability, description };
}

const OFF = unusable("web-off", { kind: "disabled", reason: '"disabled" is true in its entry' }, "web pages");
const REASONS: readonly (readonly [string, Availability, string])[] = [
  ["switched off", OFF.availability, 'is switched off: "disabled" is true in its entry'],
  [
    "without a variable",
    { kind: "needs", what: ["variable TOKEN", "variable ID"] },
    "needs variable TOKEN and variable ID",
  ],
  [
    "of a stranger",
    { kind: "untrusted", folder: "/home/u/p", changed: false },
    'comes from the project "~/p", which is not trusted',
  ],
  [
    "of a project that changed",
    { kind: "untrusted", folder: "/p", changed: true },
    "has changed since it was trusted",
  ],
  [
    "forbidden",
    { kind: "forbidden", rule: "deniedMcpServers in managed.json" },
    "is forbidden by deniedMcpServers",
  ],
  ["that is us", { kind: "self" }, "is this bridge itself"],
];

describe("findServers", () => {
  const servers = [
    { ...define("files", {}), description: "Read and write\n\u0007files  of the project" },
    OFF,
    { ...scripted("web", { tools: { fetch_page: {} } }), description: "web pages" },
  ];

  test.each([
    ["page", ["web", "web-off"], 2],
    ["WEB pages, please", ["web", "web-off"], 2],
    ["file", ["files"], 1],
    ["", ["files", "web", "web-off"], 3],
    ["nothing like it", [], 0],
  ])("finds %j: usable ones first among equals", async (query, names, total) => {
    await using rig = createRig(servers);
    const found = await rig.upstream.findServers({ query, limit: 20 }, soon());
    expect([found.servers.map(({ name }) => name), found.total, found.searched]).toEqual([names, total, 3]);
  });

  test("waits for no server, says what is known, and how many there are beyond the limit", async () => {
    await using rig = createRig(servers);
    const before = await rig.upstream.findServers({ query: "", limit: 1 }, soon());
    expect(before).toEqual({
      servers: [
        {
          name: "files",
          alias: "files",
          description: "Read and write files of the project",
          status: "idle",
          tools: null,
          reason: null,
        },
      ],
      total: 3,
      searched: 3,
    });
    await rig.upstream.tools("web", soon());
    const found = await rig.upstream.findServers({ query: "fetch", limit: 5 }, soon());
    expect(found.servers).toMatchObject([{ name: "web", tools: 1, status: "connected" }]);
  });
});

describe.each(REASONS)("a server %s", (_title, availability, reason) => {
  const definition = unusable("fx", availability);

  test("is found, with why it is not usable and what the user can do", async () => {
    await using rig = createRig([definition]);
    const { servers } = await rig.upstream.findServers({ query: "fx", limit: 5 }, soon());
    expect<string | undefined>(servers[0]?.status).toBe(availability.kind);
    expect(servers[0]?.reason).toContain(reason);
    expect(servers[0]?.reason).toMatch(/\. (The user can|The user has to|Use another) .*$/);
  });

  test("is described, but not offered, connected, called or added", async () => {
    await using rig = createRig([definition]);
    const { upstream } = rig;
    expect(await upstream.servers()).toEqual([]);
    expect(await upstream.describeServer("fx", soon())).toMatchObject({
      tools: null,
      status: availability.kind,
    });
    for (const use of [
      upstream.connect("fx", soon()),
      upstream.tools("fx", soon()),
      upstream.toolDocs("fx", soon()),
      upstream.callTool({ server: "fx", tool: "t", arguments: {} }, soon()),
      upstream.addServer("fx", soon()),
      upstream.listResources("fx", soon()),
      upstream.readResource("fx", "x:1", soon()),
      upstream.listPrompts("fx", soon()),
      upstream.getPrompt({ server: "fx", prompt: "p", arguments: {} }, soon()),
    ]) {
      const { code, message, hint } = await faultOf(use);
      expect([code, hint !== undefined]).toEqual(["UPSTREAM_NOT_USABLE", true]);
      expect(message).toContain(reason);
    }
  });
});
