import { expect, test } from "bun:test";
import { createJournal, createRig, define, faultOf, livingWith, scripted, soon, until } from "./harness.ts";

const QUERY = { query: "", limit: 10 };

test("a search starts servers that nobody ever asked, learns their tools and stops them", async () => {
  using journal = createJournal();
  const script = (tool: string) => ({ journal: journal.path, tools: { [tool]: {} } });
  const servers = [
    scripted("one", script("a")),
    scripted("two", script("zebra")),
    define("broken", { command: "/nowhere" }),
  ];
  await using rig = createRig(servers);
  const { catalogue } = rig.upstream;

  await rig.upstream.findServers(QUERY, soon());
  await until(() => servers.slice(0, 2).every((server) => catalogue.known(server) !== undefined));
  await until(() => livingWith(journal.path).length === 0);
  const found = await rig.upstream.findServers({ ...QUERY, query: "zebra" }, soon());

  expect(found.servers.map(({ name }) => name)).toEqual(["two"]);
  await rig.upstream.findServers(QUERY, soon());
  expect(journal.lines().filter((line) => line === "boot").length).toBe(2);
});

test("a search asks those servers first whose names or descriptions have its words", async () => {
  const slow = (name: string) => scripted(name, { slowStartMs: 300, tools: { x: {} } });
  const servers = ["a", "b", "c", "d", "e"].map(slow);
  const weather = { ...slow("w"), description: "Weather everywhere" };
  await using rig = createRig([...servers, weather]);

  await rig.upstream.findServers({ ...QUERY, query: "the weather" }, soon());
  await until(() => rig.upstream.catalogue.known(weather) !== undefined);

  expect(servers.filter((server) => rig.upstream.catalogue.known(server) !== undefined).length).toBeLessThan(
    3,
  );
});

test("a server that somebody uses is asked and goes on running", async () => {
  using journal = createJournal();
  const definition = scripted("fx", { journal: journal.path, tools: { a: {} } });
  await using rig = createRig([definition]);
  await rig.upstream.connect("fx", soon());

  expect((await rig.upstream.ask("fx", soon())).tools.map(({ name }) => name)).toEqual(["a"]);

  expect(livingWith(journal.path).length).toBe(1);
});

test("a server that somebody comes to use while it is asked goes on running", async () => {
  using journal = createJournal();
  const definition = scripted("fx", { journal: journal.path, slowStartMs: 200, tools: { a: {} } });
  await using rig = createRig([definition]);

  await Promise.all([rig.upstream.ask("fx", soon()), rig.upstream.connect("fx", soon())]);

  expect(livingWith(journal.path).length).toBe(1);
});

test("asking fetches again what is known", async () => {
  using journal = createJournal();
  await using rig = createRig([scripted("fx", { journal: journal.path, tools: { a: {} } })]);
  await rig.upstream.tools("fx", soon());

  await rig.upstream.ask("fx", soon());

  expect(journal.lines().filter((line) => line.includes("tools/list")).length).toBe(2);
});

test.each([
  ["gone", "UPSTREAM_UNKNOWN_SERVER"],
  ["off", "UPSTREAM_NOT_USABLE"],
  ["broken", "UPSTREAM_UNREACHABLE"],
])("asking the server %p fails with %s", async (name, code) => {
  const off = { ...define("off", {}), availability: { kind: "disabled", reason: "x" } as const };
  await using rig = createRig([off, define("broken", { command: "/nowhere" })]);

  expect((await faultOf(rig.upstream.ask(name, soon()))).code).toBe(code);
});

test("closing the bridge ends the learning", async () => {
  using journal = createJournal();
  const servers = Array.from({ length: 6 }, (_, index) =>
    scripted(`fx${index}`, { journal: journal.path, dead: true }),
  );
  const rig = createRig(servers);
  await rig.upstream.findServers(QUERY, soon());
  await until(() => journal.lines().length === 2);

  await rig.upstream.close();

  await until(() => livingWith(journal.path).length === 0);
  expect(journal.lines().length).toBe(2);
});
