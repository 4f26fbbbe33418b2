import { describe, expect, test } from "bun:test";
import { parseArguments } from "../../src/cli/arguments.ts";
import { flatten, loadNode, summaryOf } from "../../src/cli/command-tree.ts";
import { EXAMPLES } from "../../src/cli/examples.ts";
import { root } from "../../src/cli/root.ts";

const nodes = flatten(await loadNode(root, "sandpy"));

describe("every command", () => {
  test.each(nodes.map((node) => [node.path, node] as const))(
    "%s says what it is, with examples",
    (path, node) => {
      expect(summaryOf(node)).toMatch(/^\S.*[^,]$/);
      expect(EXAMPLES[path] ?? []).not.toEqual([]);
      for (const [name, arg] of Object.entries(node.args)) {
        expect([name, arg.description ?? ""]).toEqual([name, expect.stringMatching(/\S/)]);
      }
    },
  );
});

test("no example is of a command that is not there", () => {
  const paths = nodes.map(({ path }) => path);
  expect(Object.keys(EXAMPLES).filter((path) => !paths.includes(path))).toEqual([]);
});

/** The words of our program in a line of a shell, without what belongs to the shell. */
function wordsOf(line: string): string[] {
  const own = line.slice(line.indexOf("sandpy")).replace(/\)"?$/, "");
  const words = own.match(/'[^']*'|\S+/g) ?? [];
  const end = words.findIndex((word) => /^[<>|]/.test(word));
  return words.slice(0, end === -1 ? undefined : end).map((word) => word.replace(/^'(.*)'$/, "$1"));
}

test.each(
  Object.entries(EXAMPLES).flatMap(([path, examples]) => examples.map(([line]) => [line, path] as const)),
)("%s is what the command takes", (line, path) => {
  const words = wordsOf(line);
  let at = "sandpy";
  let rest = words.slice(1);
  while (rest[0] !== undefined && nodes.some((node) => node.path === `${at} ${rest[0]}`)) {
    at = `${at} ${rest[0]}`;
    rest = rest.slice(1);
  }
  expect(`${at} `).toStartWith(`${path} `);
  const node = nodes.find((each) => each.path === at);
  expect(() => parseArguments(rest, node?.args ?? {})).not.toThrow();
});
