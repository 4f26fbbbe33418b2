import { expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Availability, ServerDefinition } from "../../src/discovery/server-definition.ts";
import type { HostTools } from "../../src/kernel/host-tools.ts";
import { createClock, createJournal, createRig, faultOf, scripted, soon } from "./harness.ts";

const DISABLED: Availability = { kind: "disabled", reason: '"disabled" is true' };

function off(name: string, availability = DISABLED): ServerDefinition {
  return { ...scripted(name, { tools: { t: {} } }), availability };
}

test("a server that is switched off is added for one session, where the user permits it", async () => {
  await using rig = createRig([off("notes-old")], { addable: ["git", "notes*"] });
  const other = rig.upstream.openSession();
  const call = { server: "notes_old", tool: "t", arguments: {} };
  expect((await faultOf(rig.upstream.callTool(call, soon()))).code).toBe("UPSTREAM_NOT_USABLE");

  const details = await rig.upstream.addServer("notes-old", soon());

  expect(details).toMatchObject({ name: "notes-old", status: "connected", reason: null });
  expect(details.tools?.map(({ name }) => name)).toEqual(["t"]);
  expect(await rig.upstream.callTool(call, soon())).toMatchObject({ structuredContent: {} });
  expect((await rig.upstream.servers()).map(({ name }) => name)).toEqual(["notes-old"]);
  expect(await other.servers()).toEqual([]);
  expect((await faultOf(other.callTool(call, soon()))).code).toBe("UPSTREAM_NOT_USABLE");
});

/** What asks for a server in more than one step. */
const STEPS: Record<string, (host: HostTools) => Promise<unknown>> = {
  add_server: (host) => host.addServer("fx", soon()),
  describe_server: (host) => host.describeServer("fx", soon()),
  tool_docs: (host) => host.toolDocs("fx", soon()),
  search_tools: (host) => host.searchTools({ query: "t", limit: 1, server: "fx" }, soon()),
  call_tool: (host) => host.callTool({ server: "fx", tool: "t", arguments: {} }, soon()),
};

test.each(Object.entries(STEPS))("%s looks at the files of an added server once", async (_, ask) => {
  let looks = 0;
  const stamp = async () => {
    looks += 1;
    return "same";
  };
  await using rig = createRig([off("fx")], { addable: ["*"], stamp, clock: createClock() });
  await rig.upstream.addServer("fx", soon());
  const session = rig.upstream.openSession();
  await session.addServer("fx", soon());
  looks = 0;
  await ask(session);
  expect(looks).toBe(1);
});

test.each(["describe_server", "tool_docs", "search_tools"])(
  "%s starts no server that is taken away while it reads what is known of it",
  async (method) => {
    using journal = createJournal();
    const server = scripted("fx", { journal: journal.path, tools: { t: {} } });
    await using rig = createRig([server], { catalogueDir: mkdtempSync(join(tmpdir(), "sandpy-catalogue-")) });
    await rig.upstream.servers();
    const asked = faultOf(STEPS[method]?.(rig.upstream) ?? Promise.resolve());
    rig.discovery = {
      ...rig.discovery,
      servers: [{ ...server, availability: { kind: "forbidden", rule: "r" } }],
    };
    await rig.upstream.refresh();
    expect((await asked).code).toBe("UPSTREAM_NOT_USABLE");
    expect(journal.lines()).toEqual([]);
  },
);

test("a usable server is only connected", async () => {
  await using rig = createRig([scripted("fx", { tools: { t: {} } })]);
  expect(await rig.upstream.addServer("fx", soon())).toMatchObject({ status: "connected", reason: null });
});

test("an added server is gone again once its file forbids it", async () => {
  await using rig = createRig([off("fx")], { addable: ["*"] });
  await rig.upstream.addServer("fx", soon());
  rig.discovery = { ...rig.discovery, servers: [off("fx", { kind: "forbidden", rule: "r" })] };
  await rig.upstream.refresh();
  expect((await faultOf(rig.upstream.tools("fx", soon()))).message).toBe('server "fx" is forbidden by r');
});

test.each<[string, Availability, readonly string[], string, string]>([
  [
    "one that no setting names",
    DISABLED,
    ["other", "f"],
    "is switched off",
    "Or start Sandpy with MCP_BRIDGE_ADD_SERVERS=fx, which lets sessions add it.",
  ],
  [
    "one that would start the bridge",
    { ...DISABLED, otherwise: { kind: "self" } },
    ["*"],
    'is switched off: "disabled" is true, and is this bridge itself',
    "The user can remove",
  ],
  [
    "one of a stranger's project",
    { ...DISABLED, otherwise: { kind: "untrusted", folder: "/p", changed: false } },
    ["*"],
    "which is not trusted",
    "sandpy trust /p",
  ],
  [
    "one that lacks a variable",
    { ...DISABLED, otherwise: { kind: "needs", what: ["variable TOKEN"] } },
    ["*"],
    "needs variable TOKEN",
    "can set the variable where sandpy is started",
  ],
  [
    "one that is not trusted",
    { kind: "untrusted", folder: "/p", changed: true },
    ["*"],
    "has changed",
    "trust",
  ],
  [
    "one that needs something",
    { kind: "needs", what: ["variable TOKEN"] },
    ["*"],
    "needs",
    "can set the variable",
  ],
  ["a forbidden one", { kind: "forbidden", rule: "r" }, ["*"], "is forbidden by r", "another"],
  ["the bridge itself", { kind: "self" }, ["*"], "is this bridge itself", "remove"],
])(
  "refuses to add %s, and says what the user has to do",
  async (_title, availability, addable, reason, remedy) => {
    await using rig = createRig([off("fx", availability)], { addable });
    const { code, message, hint } = await faultOf(rig.upstream.addServer("fx", soon()));
    expect(code).toBe("UPSTREAM_NOT_USABLE");
    expect(message).toContain(reason);
    expect(hint).toContain(remedy);
    expect(await rig.upstream.servers()).toEqual([]);
  },
);

test("refuses to add what nobody knows, and names what is there", async () => {
  await using rig = createRig([off("notes")], { addable: ["*"] });
  const { code, message } = await faultOf(rig.upstream.addServer("note", soon()));
  expect(code).toBe("UPSTREAM_UNKNOWN_SERVER");
  expect(message).toContain('Did you mean "notes"?');
});
