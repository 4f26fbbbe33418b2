import { describe, expect, test } from "bun:test";
import { nameKey, parseQuery } from "../../../src/upstream/search/query.ts";
import { Spelling } from "../../../src/upstream/search/spelling.ts";
import { splitWords, stemOf, termsOf } from "../../../src/upstream/search/words.ts";

describe("splitWords", () => {
  test.each([
    ["read_file", ["read", "file"]],
    ["readFile", ["read", "file"]],
    ["PDFMerger", ["pdf", "merger"]],
    ["getURLs", ["get", "urls"]],
    ["get-36kr-trending", ["get", "36", "kr", "trending"]],
    ["server.tool", ["server", "tool"]],
    ["Café Zürich", ["cafe", "zurich"]],
    ["погода в Москве", ["погода", "в", "москве"]],
    ["根据ID获取网页", ["根据", "id", "获取网页"]],
    ["ﬁle №5", ["file", "no", "5"]],
    ["", []],
    ["— !", []],
  ])("of %j gives %j", (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });
});

describe("termsOf", () => {
  test.each([
    ["files", ["file"]],
    ["queries", ["query"]],
    ["status", ["status"]],
    ["news", ["news"]],
    ["access", ["access"]],
    ["获取网页", ["获取", "取网", "网页"]],
    ["天气", ["天气"]],
    ["天", ["天"]],
  ])("of %j gives %j", (word, terms) => {
    expect(termsOf(word)).toEqual(terms);
  });

  test("never gives an empty stem", () => {
    for (const word of ["s", "is", "us", "ies", "sses", "yes"])
      expect(stemOf(word).length).toBeGreaterThan(0);
  });
});

describe("parseQuery", () => {
  test.each([
    ["save it to ~/markdown/report.md", ["save", "file", "md"]],
    ["open C:\\Users\\Ann\\table.xlsx now", ["open", "file", "xlsx", "now"]],
    ["read ./notes and /etc/hosts", ["read", "file"]],
    ["fetch https://example.org/a/b.html?x=1", ["fetch", "url"]],
    ["P/E ratio and client/server", ["p", "e", "ratio", "client", "server"]],
    ["files files FILES", ["files"]],
  ])("of %j keeps the words %j", (text, words) => {
    expect([...parseQuery(text).words]).toEqual(words);
  });

  test("reads only the beginning of a long query", () => {
    const query = parseQuery(Array.from({ length: 50_000 }, (_, index) => `w${index}`).join(" "));
    expect(query.words.length).toBeLessThanOrEqual(64);
    expect(query.tokens.length).toBeLessThanOrEqual(200);
  });

  test("compares names by their words", () => {
    expect(new Set(["readFile", "read_file", "Read-File", "read file"].map(nameKey))).toEqual(
      new Set(["read_file"]),
    );
  });
});

describe("Spelling", () => {
  const words = ["browser", "trending", "download", "upload", "weather", "file"];
  const spelling = new Spelling(words);

  test.each([
    ["broswer", "browser"],
    ["treending", "trending"],
    ["donwnload", "download"],
    ["wether", "weather"],
  ])("takes %s for %s", (word, expected) => {
    expect(words[spelling.near(word, 2)[0] ?? -1]).toBe(expected);
  });

  test("finds nothing that is not near, and nothing without slips", () => {
    expect(spelling.near("elephant", 2)).toEqual([]);
    expect(spelling.near("browser", 0)).toEqual([]);
    expect(spelling.near("x".repeat(100_000), 2)).toEqual([]);
  });

  test("suggests from further away, the nearest first", () => {
    expect(spelling.suggest("downlaods", 2)).toEqual(["download"]);
    expect(new Spelling(["downloads", "download"]).suggest("downlaod", 2)).toEqual(["download", "downloads"]);
    expect(spelling.suggest("", 2)).toEqual([]);
  });
});
