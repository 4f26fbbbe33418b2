import { describe, expect, test } from "bun:test";
import type { ServerDefinition, ToolPolicy } from "../../src/discovery/server-definition.ts";
import type { Script } from "../fixtures/servers/scripted-server.ts";
import { createJournal, createRig, faultOf, scripted, soon } from "./harness.ts";

const OPEN: ToolPolicy = { allow: undefined, deny: [], ask: [], readOnly: undefined };

function withPolicy(script: Script, policy: Partial<ToolPolicy>): ServerDefinition {
  const server = scripted("fx", script);
  return { ...server, tools: { ...server.tools, policy: { ...OPEN, ...policy } } };
}

const call = (tool: string) => ({ server: "fx", tool, arguments: {} });

describe("a tool that the user's settings refuse", () => {
  const tools = { "del-all": {}, get: { annotations: { readOnlyHint: true } } };
  const deny = [{ glob: "del-*", rule: '"fx/del-*" of --deny-tool', where: "--deny-tool" }];

  test.each(["del-all", "del_all"])(
    "UPS-1: is not called by the name %j, and the rule is named",
    async (name) => {
      using journal = createJournal();
      await using rig = createRig([withPolicy({ tools, journal: journal.path }, { deny })]);

      expect(await faultOf(rig.upstream.callTool(call(name), soon()))).toEqual({
        code: "UPSTREAM_NOT_USABLE",
        message: 'tool "del-all" of server "fx" may not be used: "fx/del-*" of --deny-tool forbids it',
        hint: "Only the user can allow it, by changing --deny-tool.",
      });
      expect(journal.lines().some((line) => line.includes("tools/call"))).toBe(false);
    },
  );

  test("is in no list and no search, and is not suggested", async () => {
    await using rig = createRig([withPolicy({ tools }, { deny })]);
    const { upstream } = rig;
    const names = async (list: Promise<readonly { readonly name: string }[] | null>) =>
      (await list)?.map(({ name }) => name);

    expect(await names(upstream.tools("fx", soon()))).toEqual(["get"]);
    expect(await names(upstream.toolDocs("fx", soon()))).toEqual(["get"]);
    expect(await names(upstream.describeServer("fx", soon()).then(({ tools: all }) => all))).toEqual(["get"]);
    expect(await upstream.listServers(soon())).toMatchObject([{ tools: 1 }]);
    const found = await upstream.searchTools({ query: "del all", limit: 5, server: null }, soon());
    expect(found.matches).toEqual([]);
    expect((await faultOf(upstream.callTool(call("del-al"), soon()))).message).not.toContain("del-all");
  });

  test("is one that does not say that it only reads, where only reading is allowed", async () => {
    await using rig = createRig([withPolicy({ tools, resources: [] }, { readOnly: "--read-only" })]);

    expect(await rig.upstream.callTool(call("get"), soon())).toMatchObject({ structuredContent: {} });
    expect(await rig.upstream.listResources("fx", soon())).toMatchObject({ resources: [] });
    expect(await faultOf(rig.upstream.callTool(call("del-all"), soon()))).toMatchObject({
      code: "UPSTREAM_NOT_USABLE",
      message:
        'tool "del-all" of server "fx" may not be used: --read-only is on for tools that only read, and its server does not say that of it',
    });
  });
});

describe("calls beyond the limit of a run", () => {
  const maxCalls = { count: 3, where: "MCP_BRIDGE_MAX_CALLS_PER_RUN" };

  test("are refused, however many come at once, and the server does not hear of them", async () => {
    using journal = createJournal();
    await using rig = createRig([scripted("fx", { tools: { get: {} }, journal: journal.path })], {
      maxCalls,
    });

    const results = await Promise.allSettled(
      Array.from({ length: 200 }, () => rig.upstream.callTool(call("get"), soon())),
    );

    expect(results.map(({ status }) => status)).toEqual([
      ...Array<"fulfilled">(3).fill("fulfilled"),
      ...Array<"rejected">(197).fill("rejected"),
    ]);
    expect(journal.lines().filter((line) => line.includes("tools/call")).length).toBe(3);
    expect(await faultOf(rig.upstream.callTool(call("get"), soon()))).toEqual({
      code: "LIMIT_EXCEEDED",
      message: "this run has made 3 calls to servers, as many as MCP_BRIDGE_MAX_CALLS_PER_RUN allows",
      hint: "Make fewer, or the others in another run, or ask the user to raise MCP_BRIDGE_MAX_CALLS_PER_RUN.",
    });
  });

  test("are counted anew with the next run, for each session by itself, and with those that fail", async () => {
    await using rig = createRig([scripted("fx", { tools: { get: {} }, resources: [] })], { maxCalls });
    const other = rig.upstream.openSession();
    await rig.upstream.callTool(call("get"), soon());
    await rig.upstream.listResources("fx", soon());
    expect((await faultOf(rig.upstream.callTool(call("nothing"), soon()))).code).toBe(
      "UPSTREAM_UNKNOWN_TOOL",
    );

    expect((await faultOf(rig.upstream.readResource("fx", "a:b", soon()))).code).toBe("LIMIT_EXCEEDED");
    expect((await faultOf(rig.upstream.listPrompts("fx", soon()))).code).toBe("LIMIT_EXCEEDED");
    expect(await other.callTool(call("get"), soon())).toMatchObject({ structuredContent: {} });
    rig.upstream.beginRun();
    expect(await rig.upstream.callTool(call("get"), soon())).toMatchObject({ structuredContent: {} });
  });
});
