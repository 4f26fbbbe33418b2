import { expect, test } from "bun:test";
import { createMask, excerpt } from "../../src/upstream/mask.ts";
import { listNames, nearestNames } from "../../src/upstream/names.ts";

test.each([
  ["serch", ["search", "fetch", "delete_all"], ["search", "fetch"]],
  ["SEND-EMAIL", ["send_email", "send", "read"], ["send_email", "send"]],
  ["github", ["my-github-server", "gitlab", "slack"], ["gitlab", "my-github-server"]],
  ["", ["a", "b"], []],
  ["x", [], []],
  [
    "read",
    ["read_a", "read_b", "read_c", "read_d", "read_e", "read_f"],
    ["read_a", "read_b", "read_c", "read_d", "read_e"],
  ],
  ["高德地图", ["高德地图2", "百度地图"], ["高德地图2", "百度地图"]],
])("finds what is near %p", (wanted, names, near) => {
  expect(nearestNames(wanted, names)).toEqual(near);
});

test.each([
  [[], ""],
  [["a"], '"a"'],
  [["a", "b\n"], '"a", "b\\n"'],
  [["a", "b", "c", "d"], '"a", "b", "c" and 1 more'],
])("lists %p in a sentence", (names, sentence) => {
  expect(listNames(names, 3)).toBe(sentence);
});

test("masks the values of an environment, the longest first, and leaves short ones", () => {
  const mask = createMask(["abcdef", "abcdef-123", "1"]);

  expect(mask("abcdef-123 and abcdef at 1")).toBe("*** and *** at 1");
});

test("hides a secret also where an excerpt would cut it in two", () => {
  const mask = createMask(["abcdef-123"]);

  expect(excerpt("token abcdef-123 was refused", mask, 12)).toBe("token *** wa");
});
