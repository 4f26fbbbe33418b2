// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables as files write them
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import {
  CLAUDE_CODE,
  CONTINUE,
  CURSOR,
  type Dialect,
  GEMINI,
  GENERIC,
  LITERAL,
  MCPORTER,
  OPENCODE,
  VSCODE,
  WINDSURF,
} from "../../src/discovery/dialects.ts";
import { createExpander, workspaceOf } from "../../src/discovery/variables.ts";
import { patient } from "../helpers/patient.ts";

const DIALECTS = {
  CLAUDE_CODE,
  CONTINUE,
  CURSOR,
  GEMINI,
  GENERIC,
  LITERAL,
  MCPORTER,
  OPENCODE,
  VSCODE,
  WINDSURF,
};

const folder = mkdtempSync(join(tmpdir(), "sandpy-variables-"));
beforeAll(() => {
  writeFileSync(join(folder, "key.txt"), "from file\n");
  writeFileSync(join(folder, "large.txt"), "x".repeat(64 * 1024 + 1));
  mkdirSync(join(folder, "sub"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function expand(text: string, dialect: Dialect, platform: NodeJS.Platform = "linux") {
  const env = { HOME: folder, NAME: "value", EMPTY: "", TRICKY: "${NAME}$&$1" };
  const expander = createExpander({
    config: { ...loadConfig(env), platform },
    dialect,
    fileFolder: folder,
    workspaceFolder: "/srv/app",
    inputs: new Map([["key", "Your key"]]),
    budget: { takeFile: () => true, takeChars: () => true },
  });
  return { text: expander.expand(text), needs: expander.needs };
}

describe("a variable that is known is filled in", () => {
  test.each([
    ["GENERIC", "a${NAME}b${NAME}", "avaluebvalue"],
    ["GENERIC", "${env:NAME} {env:NAME} $env:NAME", "value value value"],
    ["GENERIC", "$NAME", "value"],
    ["GENERIC", "$NAME/x", "value/x"],
    ["GENERIC", "pa$NAME", "pa$NAME"],
    ["GENERIC", "$NAMEx-", "$NAMEx-"],
    ["GENERIC", "${EMPTY}", ""],
    ["GENERIC", "${EMPTY:-d}", "d"],
    ["GENERIC", "${NOPE:-}", ""],
    ["GENERIC", "${NOPE:-http://x:1/{y}}", "http://x:1/{y}"],
    ["GENERIC", "${NOPE:-${NAME}}", "value"],
    ["GENERIC", "${TRICKY}", "${NAME}$&$1"],
    ["GENERIC", "{file:key.txt}", "from file"],
    ["GENERIC", "${workspaceFolder}/x ${workspaceFolderBasename}", "/srv/app/x app"],
    ["GENERIC", "${{ secrets.NAME }}", "value"],
    ["CLAUDE_CODE", "${NAME} $NAME ${env:NAME} {env:NAME}", "value $NAME ${env:NAME} {env:NAME}"],
    ["CURSOR", "${env:NAME} ${NAME} ${userHome}", `value \${NAME} ${folder}`],
    ["GEMINI", "a$NAME-%NAME%-${NAME}", "avalue-value-value"],
    ["OPENCODE", "{env:NAME} ${NAME}", "value ${NAME}"],
    ["WINDSURF", "${file:~/key.txt}", "from file"],
    ["CONTINUE", "${{ secrets.NAME }} ${NAME}", "value ${NAME}"],
    ["MCPORTER", "$env:NAME ${NAME:-x}", "value value"],
    ["LITERAL", "${NAME} $NAME {env:NAME} %NAME%", "${NAME} $NAME {env:NAME} %NAME%"],
  ] as const)("in %s: %s", (name, text, expected) => {
    expect(expand(text, DIALECTS[name])).toEqual({ text: expected, needs: [] });
  });

  test("whatever its case on Windows", () => {
    expect(expand("${name}", GENERIC, "win32")).toEqual({ text: "value", needs: [] });
  });
});

describe("what is missing is said, and stays as it is written", () => {
  test.each([
    ["GENERIC", "${NOPE} ${NOPE}", ["environment variable NOPE"]],
    ["GENERIC", "${constructor}", ["environment variable constructor"]],
    ["CURSOR", "${env:NOPE}", ["environment variable NOPE"]],
    ["GEMINI", "$NOPE", ["environment variable NOPE"]],
    ["VSCODE", "${input:key}", ['an answer to the prompt "Your key"']],
    ["VSCODE", "${input:other}", ['an answer to the prompt "other"']],
    ["VSCODE", "${config:a.b}", ['a value of "${config:a.b}" that only the editor knows']],
    ["OPENCODE", "{file:none.txt}", ["file none.txt"]],
    ["OPENCODE", "{file:large.txt}", ["file large.txt"]],
    ["OPENCODE", "{file:sub}", ["file sub"]],
    ["CONTINUE", "${{ secrets.NOPE }}", ["environment variable NOPE"]],
  ] as const)("in %s: %s", (name, text, needs) => {
    expect(expand(text, DIALECTS[name])).toEqual({ text, needs: [...needs] });
  });
});

test("a long text of unfinished variables takes no long time", () => {
  const text = "${".repeat(50_000) + "{env:".repeat(50_000);
  const start = performance.now();

  expand(text, GENERIC);

  expect(performance.now() - start).toBeLessThan(patient(2000));
});

test.each([
  ["/home/me", undefined],
  ["/", undefined],
  ["/home/me/app", "/home/me/app"],
])("a bridge that was started in %s means the project %p", (projectDir, expected) => {
  expect(workspaceOf({ ...loadConfig({ HOME: "/home/me" }), projectDir })).toBe(expected);
});
