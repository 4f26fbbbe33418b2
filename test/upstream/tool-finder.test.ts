import { describe, expect, test } from "bun:test";
import { createRig, define, faultOf, type Rig, scripted, soon } from "./harness.ts";

const ALL = { query: "", limit: 100, server: null };

function createWorld(): Rig {
  return createRig([
    scripted("web-pages", { tools: { fetch_page: {}, list_links: {} } }),
    scripted("mail", { tools: { send_message: {}, list_messages: {}, delete_message: {} } }),
    { ...scripted("off", { tools: { x: {} } }), availability: { kind: "disabled", reason: "r" } },
  ]);
}

describe("searchTools", () => {
  test("finds tools of servers that nobody has started yet, since it asks them first", async () => {
    await using rig = createWorld();
    const found = await rig.upstream.searchTools({ query: "message", limit: 2, server: null }, soon());
    expect(found).toMatchObject({ total: 3, searched: 5, unknown: 0, learning: 0, suggestions: [] });
    expect(found.matches.map(({ server }) => server)).toEqual(["mail", "mail"]);
    expect(found.matches[0]?.tool).toMatchObject({
      alias: expect.any(String),
      inputSchema: { type: "object" },
    });
  });

  test("lists every tool where no word is given, and resolves to what can be called", async () => {
    await using rig = createWorld();
    const { matches, total } = await rig.upstream.searchTools(ALL, soon());
    expect(total).toBe(5);
    for (const { serverAlias, tool } of matches) {
      const call = { server: serverAlias, tool: tool.alias, arguments: {} };
      expect(await rig.upstream.callTool(call, soon())).toMatchObject({ content: [] });
    }
  });

  test("searches one server by name or alias, and no other", async () => {
    await using rig = createWorld();
    for (const server of ["web-pages", "web_pages"]) {
      const found = await rig.upstream.searchTools({ query: "list", limit: 9, server }, soon());
      expect(found.matches.map(({ tool }) => tool.name)).toEqual(["list_links"]);
      expect([found.total, found.searched]).toEqual([1, 2]);
    }
  });

  test.each([
    ["a server that nobody knows", "mial", "UPSTREAM_UNKNOWN_SERVER"],
    ["a server that is not usable", "off", "UPSTREAM_NOT_USABLE"],
  ])("refuses %s", async (_title, server, code) => {
    await using rig = createWorld();
    expect((await faultOf(rig.upstream.searchTools({ ...ALL, server }, soon()))).code).toBe(code);
  });

  test("suggests words where nothing matches", async () => {
    await using rig = createWorld();
    const found = await rig.upstream.searchTools({ query: "mesages", limit: 5, server: null }, soon());
    expect(found.total + found.suggestions.length).toBeGreaterThan(0);
  });

  test("sees what a server has gained, and what a session added", async () => {
    await using rig = createRig([scripted("fx", { tools: { grow: { adds: "shiny_new" } } })]);
    const find = async () => (await rig.upstream.searchTools({ ...ALL, query: "shiny" }, soon())).total;
    expect(await find()).toBe(0);
    await rig.upstream.callTool({ server: "fx", tool: "grow", arguments: {} }, soon());
    await rig.upstream.tools("fx", soon());
    expect(await find()).toBe(1);
  });

  test("says how many servers it could not ask", async () => {
    await using rig = createRig([
      scripted("fx", { tools: { a: {} } }),
      define("broken", { command: "/no/such/program" }),
    ]);
    expect(await rig.upstream.searchTools(ALL, soon())).toMatchObject({
      total: 1,
      unknown: 1,
      unknownServers: ["broken"],
      learning: 0,
    });
  });
});
