import { describe, expect, test } from "bun:test";
import {
  createToolSearch,
  type SearchableServer,
  type ToolSearch,
} from "../../../src/upstream/search/tool-search.ts";
import { graphServers, SERVERS, server, tool } from "./fixtures.ts";

async function searchIn(servers: readonly SearchableServer[]): Promise<ToolSearch> {
  const search = createToolSearch();
  await search.update(servers);
  return search;
}

/** One index for all tests that change nothing: its table of words is read once. */
const everyday = await searchIn(SERVERS);

function found(query: string, limit = 5): string[] {
  return everyday.search(query, { limit }).hits.map((hit) => `${hit.server}.${hit.tool}`);
}

describe("a name", () => {
  test.each([
    "write_file",
    "writeFile",
    "WRITE FILE",
    "write-file",
    "filesystem.write_file",
    "mcp_filesystem.write_file",
    "filesystem/write_file",
    "mcp__filesystem__write_file",
    "please call write_file for me",
    "`write_file`",
  ])("finds its tool first when written as %j", (query) => {
    expect(found(query)[0]).toBe("filesystem.write_file");
  });

  test.each([
    ["move_file", "filesystem.moveFile"],
    ["calendar_server.delete_event", "calendar-server.delete_event"],
    ["mcp_calendar_server.delete_event", "calendar-server.delete_event"],
    ["calendar-server.delete_event", "calendar-server.delete_event"],
    ["search", "desk.search"],
    ["kitchen_lights_off", "desk.kitchen_lights_off"],
  ])("%j finds %s first", (query, expected) => {
    expect(found(query)[0]).toBe(expected);
  });

  test("that several queries share finds each of its tools", async () => {
    const search = await searchIn([
      server("one", "", [tool("run")]),
      server("two", "", [tool("run"), tool("stop")]),
    ]);
    expect(
      search
        .search("run", { limit: 5 })
        .hits.slice(0, 2)
        .map((hit) => hit.server),
    ).toEqual(["one", "two"]);
    expect(search.search("two.run", { limit: 5 }).hits[0]?.server).toBe("two");
  });

  test("is found among many that say the same, three at once", async () => {
    const search = await searchIn(graphServers());
    const named = ["search_graph", "trace_path", "kitchen_lights_off"];
    const { hits } = search.search(named.join(" "), { limit: 5 });
    expect(hits.slice(0, 3).map((hit) => hit.tool)).toEqual(named);
    for (const name of named) expect(search.search(name, { limit: 5 }).hits[0]?.tool).toBe(name);
  });

  test("that is a plain word does not come first in every sentence with it", () => {
    expect(found("search the weather in Oslo for rain and wind")[0]).toBe("sky.get_forecast");
  });

  test.each(["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf.constructor"])(
    "of the language's own, %j, is a name like any other",
    async (name) => {
      const search = await searchIn([
        server("constructor", "", [tool("__proto__"), tool("constructor"), tool("other")]),
      ]);
      expect(() => search.search(name, { limit: 5 })).not.toThrow();
      expect(() => found(name)).not.toThrow();
      expect(search.search("__proto__", { limit: 5 }).hits[0]?.tool).toBe("__proto__");
      expect(search.search("constructor", { limit: 5 }).hits[0]?.tool).toBe("constructor");
    },
  );
});

describe("a description of the need", () => {
  test.each([
    ["appointments", "calendar-server.list_events"],
    ["attendees", "calendar-server.create_event"],
    ["renaming files", "filesystem.moveFile"],
    ["forcast for tomorow", "sky.get_forecast"],
    ["clsoe the ticket", "desk.close_ticket"],
    ["kitchne_lihgts_fof", "desk.kitchen_lights_off"],
  ])("%j finds %s by its words, whatever their forms and typos", (query, expected) => {
    expect(found(query)).toContain(expected);
  });

  test.each([
    ["will I need an umbrella on Friday", "sky.get_forecast"],
    ["schedule a meeting with Ann", "calendar-server.create_event"],
    ["save the report to ~/notes/report.md", "filesystem.write_file"],
    ["smog and pollution", "sky.get_air_quality"],
  ])("%j finds %s by its meaning", (query, expected) => {
    expect(found(query, 3)).toContain(expected);
  });

  test.each([
    ["how do I cook this dish, the recipe with its ingredients", "kitchen.getRecipeById"],
    ["推荐几道菜", "kitchen.whatToEat"],
    ["天气预报", "sky.get_forecast"],
  ])("%j finds %s across languages", (query, expected) => {
    expect(found(query, 3)).toContain(expected);
  });

  test("ranks the same for accents, case and signs", () => {
    expect(found("Áppointments!")).toEqual(found("appointments"));
  });
});

describe("an answer", () => {
  test("says how many tools there are beside those shown", () => {
    const answer = everyday.search("file", { limit: 2 });
    expect(answer.hits).toHaveLength(2);
    expect(answer.total).toBeGreaterThan(2);
    expect(everyday.search("file", { limit: 100 }).hits).toHaveLength(answer.total);
    expect(answer.suggestions).toEqual([]);
  });

  test("has scores that fall", () => {
    const scores = everyday.search("write a file", { limit: 100 }).hits.map((hit) => hit.score);
    expect(scores).toEqual([...scores].sort((one, other) => other - one));
    expect(Math.min(...scores)).toBeGreaterThan(0);
  });

  test.each([
    ["qqgetqqforecastqq", "get_forecast"],
    ["xforexcastx", "forecast"],
  ])("to %j, which nothing matches, suggests %j", (query, near) => {
    const { hits, total, suggestions } = everyday.search(query, { limit: 5 });
    expect({ hits, total }).toEqual({ hits: [], total: 0 });
    expect(suggestions[0]).toBe(near);
  });

  test("to what is like nothing names some tools, each of another server, or of the server that was asked for", () => {
    const { total, suggestions } = everyday.search("qqxv zzkk", { limit: 5 });
    expect(total).toBe(0);
    expect(suggestions).toEqual(SERVERS.map(({ tools }) => tools[0]?.name ?? ""));
    const ofDesk = everyday.search("qqxv zzkk", { limit: 5, server: "desk" }).suggestions;
    expect(ofDesk).toEqual(["search", "close_ticket", "kitchen_lights_off"]);
  });

  test.each([0, -1])("of at most %i tools has none, and still counts", (limit) => {
    expect(everyday.search("file", { limit })).toMatchObject({ hits: [] });
    expect(everyday.search("file", { limit }).total).toBeGreaterThan(0);
  });

  test("holds to one server, by name or alias", async () => {
    for (const name of ["calendar-server", "calendar_server", "mcp_calendar_server"]) {
      const { hits, total } = everyday.search("show files and appointments", { limit: 50, server: name });
      expect(new Set(hits.map((hit) => hit.server))).toEqual(new Set(["calendar-server"]));
      expect(total).toBeLessThanOrEqual(3);
    }
    const twins = await searchIn([
      server("web-pages", "", [tool("fetch")]),
      server("web_pages", "", [tool("fetch")]),
    ]);
    expect(twins.search("fetch", { limit: 5, server: "web-pages" }).hits).toMatchObject([
      { server: "web-pages", tool: "fetch" },
    ]);
    expect(everyday.search("file", { limit: 5, server: "no such server" })).toMatchObject({
      hits: [],
      total: 0,
    });
  });
});

describe("a query without words", () => {
  test.each(["", "   ", "?!", "\u0000", "what can you do for me?"])(
    "%j lists tools, each server in turn",
    (query) => {
      const { hits, total } = everyday.search(query, { limit: 6 });
      expect(total).toBe(SERVERS.reduce((sum, { tools }) => sum + tools.length, 0));
      expect(hits.map((hit) => hit.server)).toEqual([...SERVERS.map(({ name }) => name), "filesystem"]);
      expect(hits[0]).toEqual({ server: "filesystem", tool: "read_file", score: 0 });
    },
  );

  test("lists one server's tools in their order", () => {
    const { hits } = everyday.search("", { limit: 10, server: "desk" });
    expect(hits.map((hit) => hit.tool)).toEqual(["search", "close_ticket", "kitchen_lights_off"]);
  });

  test("has nothing to list where there is no tool", async () => {
    const nothing = { hits: [], total: 0, suggestions: [] };
    for (const search of [createToolSearch(), await searchIn([])]) {
      for (const query of ["", "file"]) expect(search.search(query, { limit: 5 })).toEqual(nothing);
    }
  });
});

describe("an update", () => {
  const one = server("one", "", [tool("alpha", "Counts sheep.")]);
  const two = server("two", "", [tool("beta", "Counts goats.")]);
  const names = (search: ToolSearch, query: string) =>
    search.search(query, { limit: 5 }).hits.map((hit) => hit.tool);

  test("adds, replaces and removes servers", async () => {
    const search = await searchIn([one]);
    expect(names(search, "sheep goats")).toEqual(["alpha"]);
    await search.update([one, two]);
    expect(names(search, "goats")[0]).toBe("beta");
    await search.update([server("one", "", [tool("gamma", "Counts cows.")]), two]);
    expect(names(search, "alpha")).not.toContain("alpha");
    expect(names(search, "cows")[0]).toBe("gamma");
    await search.update([two]);
    expect(names(search, "gamma cows sheep")).not.toContain("gamma");
  });

  test("of ten thousand tools lets everything else go on, and finds what was there until it is done", async () => {
    const search = await searchIn(SERVERS);
    const words = SERVERS.flatMap(({ tools }) => tools.map(({ description }) => description)).join(" ");
    const tools = Array.from({ length: 10_000 }, (_, index) =>
      tool(`many_${index}`, words.slice(index % 400)),
    );
    let turns = 0;
    const turning = setInterval(() => {
      turns += 1;
      expect(names(search, "many_7")).not.toContain("many_7");
    }, 1);
    await search.update([server("many", "", tools)]);
    clearInterval(turning);
    expect(turns).toBeGreaterThan(10);
    expect(names(search, "many_7")[0]).toBe("many_7");
  });

  test("takes apart only what is new", async () => {
    let reads = 0;
    const watched = {
      ...one,
      get description() {
        reads += 1;
        return "";
      },
    };
    const search = await searchIn([watched]);
    search.search("sheep", { limit: 1 });
    const once = reads;
    expect(once).toBeGreaterThan(0);
    await search.update([watched, two]);
    search.search("goats", { limit: 1 });
    await search.update([two, watched]);
    search.search("goats", { limit: 1 });
    expect(reads).toBe(once);
  });
});

describe("what is too much", () => {
  test("of a query is left out: 100 kB take no longer than a page", () => {
    const query = "write a file about the weather ".repeat(3500);
    const { hits } = everyday.search(query, { limit: 5 });
    expect(hits.map((hit) => hit.tool)).toContain("write_file");
  });

  test.each([
    ["half of a character", "file \ud83d"],
    ["one endless word", "x".repeat(100_000)],
    [
      "a thousand words that nothing has",
      Array.from({ length: 1000 }, (_, index) => `qwxz${index}q`).join(" "),
    ],
    ["nothing but stop words", "what can you do for me"],
  ])("or odd, such as %s, does no harm", (_what, query) => {
    expect(() => everyday.search(query, { limit: 5 })).not.toThrow();
  });

  test("of a tool is left out", async () => {
    const odd: SearchableServer = server("odd", "x".repeat(1_000_000), [
      { ...tool("no_properties"), inputSchema: {} },
      { ...tool("null_properties"), inputSchema: { properties: null } },
      {
        ...tool("text_properties"),
        inputSchema: { properties: { a: "text", b: null, c: { description: 7 } } },
      },
      tool("manual", "needle ".repeat(200_000)),
    ]);
    const search = await searchIn([odd]);
    expect(search.search("needle", { limit: 5 }).hits[0]?.tool).toBe("manual");
    expect(search.search("null_properties", { limit: 5 }).hits[0]?.tool).toBe("null_properties");
  });
});
