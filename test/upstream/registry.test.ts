import { describe, expect, test } from "bun:test";
import type { Availability, ServerDefinition } from "../../src/discovery/server-definition.ts";
import {
  createClock,
  createJournal,
  createRig,
  define,
  faultOf,
  livingWith,
  scripted,
  soon,
  until,
} from "./harness.ts";

function but(server: ServerDefinition, availability: Availability): ServerDefinition {
  return { ...server, availability };
}

describe("a server that may not be used", () => {
  test.each<[Availability, string, string]>([
    [
      { kind: "disabled", reason: '"disabled" is true' },
      'server "fx" is switched off: "disabled" is true',
      "The user can switch it on in ~/MCPs/all.json.",
    ],
    [
      {
        kind: "needs",
        what: ["environment variable TOKEN", 'an answer to the prompt "Key"'],
        isMoreThanVariables: true,
      },
      'server "fx" needs environment variable TOKEN and an answer to the prompt "Key"',
      "The user can write it out in ~/MCPs/all.json, or define the server anew in a file of ~/MCPs.",
    ],
    [
      { kind: "needs", what: ["environment variable TOKEN"] },
      'server "fx" needs environment variable TOKEN',
      `The user can set the variable where sandpy is started, such as in "env" of sandpy's entry, or write the value into ~/MCPs/all.json.`,
    ],
    [
      { kind: "untrusted", folder: "/home/u/it's", changed: false },
      'server "fx" comes from the project "~/it\'s", which is not trusted',
      "The user can look at ~/MCPs/all.json and then run: sandpy trust ~/'it'\\''s'",
    ],
    [
      { kind: "untrusted", folder: "/p", changed: true },
      'server "fx" comes from the project "/p", which has changed since it was trusted',
      "The user can look at ~/MCPs/all.json and then run: sandpy trust /p",
    ],
    [
      { kind: "forbidden", rule: '"deniedMcpServers" in /etc/x.json' },
      'server "fx" is forbidden by "deniedMcpServers" in /etc/x.json',
      "Use another server.",
    ],
    [
      { kind: "self" },
      'server "fx" is this bridge itself, which would start itself without end',
      'The user can remove "fx" from ~/MCPs/all.json.',
    ],
  ])(
    "because of %j is refused with the reason on every path, and never started",
    async (why, message, hint) => {
      using journal = createJournal();
      await using rig = createRig([but(scripted("fx", { journal: journal.path, tools: { echo: {} } }), why)]);
      const { upstream } = rig;

      for (const work of [
        upstream.connect("fx", soon()),
        upstream.tools("fx", soon()),
        upstream.callTool({ server: "fx", tool: "echo", arguments: {} }, soon()),
      ]) {
        expect(await faultOf(work)).toEqual({ code: "UPSTREAM_NOT_USABLE", message, hint });
      }
      expect(await upstream.servers()).toEqual([]);
      expect(journal.lines()).toEqual([]);
    },
  );

  test("is used as soon as it may be", async () => {
    await using rig = createRig([
      but(scripted("fx", {}), { kind: "untrusted", folder: "/p", changed: false }),
    ]);
    await faultOf(rig.upstream.connect("fx", soon()));
    rig.discovery = { ...rig.discovery, servers: [scripted("fx", {})] };

    await rig.upstream.connect("fx", soon());

    expect((await rig.upstream.servers()).map(({ name }) => name)).toEqual(["fx"]);
  });

  test("is stopped where it runs", async () => {
    using journal = createJournal();
    const server = scripted("fx", { journal: journal.path });
    await using rig = createRig([server]);
    await rig.upstream.connect("fx", soon());
    expect(livingWith(journal.path).length).toBe(1);
    rig.discovery = { ...rig.discovery, servers: [but(server, { kind: "disabled", reason: "r" })] };

    await rig.upstream.refresh();

    await until(() => livingWith(journal.path).length === 0);
    expect((await faultOf(rig.upstream.connect("fx", soon()))).code).toBe("UPSTREAM_NOT_USABLE");
  });

  test("is guessed at after those that may be used", async () => {
    const off = but(define("notes", {}), { kind: "disabled", reason: "r" });
    await using rig = createRig([off, define("notez-2", {})]);

    expect((await faultOf(rig.upstream.connect("notez", soon()))).message).toBe(
      'no server is called "notez": the servers are "notez-2". 1 more cannot be used: "notes". Did you mean "notez-2"?',
    );
  });
});

describe("the files", () => {
  test("are looked at when somebody asks for the servers, and read again only when they have changed", async () => {
    const clock = createClock();
    const seen = { looks: 0, reads: 0, stamp: "1" };
    await using rig = createRig([], {
      clock,
      stamp: async () => {
        seen.looks += 1;
        return seen.stamp;
      },
      discover: async () => {
        seen.reads += 1;
        return { servers: [define(`read-${seen.reads}`, {})], problems: [] };
      },
    });
    const names = async () => (await rig.upstream.servers()).map(({ name }) => name);

    expect(await names()).toEqual(["read-1"]);
    seen.stamp = "2";
    expect(await names()).toEqual(["read-1"]); // a moment later: not looked at again
    clock.time += 1000;
    expect(await names()).toEqual(["read-2"]);
    clock.time += 1000;
    expect(await names()).toEqual(["read-2"]);

    expect(seen.reads).toBe(2);
    expect(seen.looks).toBe(4); // before each of two readings, and two more
  });

  test("are looked at without waiting for the moment to pass when a server is missing", async () => {
    const clock = createClock();
    let stamp = "1";
    const rig = createRig([], { clock, stamp: async () => stamp });
    await using _ = rig;
    expect(await rig.upstream.servers()).toEqual([]);
    rig.discovery = { servers: [scripted("new", {})], problems: [] };
    stamp = "2";

    await rig.upstream.connect("new", soon());
  });

  test("that cannot be read keep what was known", async () => {
    const clock = createClock();
    let fails = false;
    const server = scripted("fx", { tools: { echo: {} } });
    await using rig = createRig([], {
      clock,
      stamp: async () => String(fails),
      discover: async () => {
        if (fails) throw new Error("no");
        return { servers: [server], problems: [] };
      },
    });
    await rig.upstream.connect("fx", soon());
    fails = true;
    clock.time += 1000;

    await rig.upstream.callTool({ server: "fx", tool: "echo", arguments: {} }, soon());
  });
});
