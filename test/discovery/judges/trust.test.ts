import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fingerprintOf } from "../../../src/discovery/fingerprint.ts";
import { createTrustJudge } from "../../../src/discovery/judges/trust.ts";
import type {
  Origin,
  RemoteServer,
  ServerDefinition,
  StdioServer,
} from "../../../src/discovery/server-definition.ts";
import { pinOf } from "../../../src/discovery/trust/pin.ts";
import { trustSubject } from "../../../src/discovery/trust/subject.ts";
import type { TrustEntry } from "../../../src/discovery/trust/trust-store.ts";

let root: string;
let project: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "sandpy-trust-")));
  project = join(root, "project");
  mkdirSync(project);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const STDIO: StdioServer = { kind: "stdio", command: "node", args: ["a.js"], env: {}, cwd: undefined };
const REMOTE: RemoteServer = {
  kind: "remote",
  protocol: "auto",
  url: "https://a.example/mcp",
  headers: {},
  oauth: undefined,
};

function define(transport: StdioServer | RemoteServer, origin: Partial<Origin> = {}): ServerDefinition {
  return {
    name: "x",
    alias: "x",
    description: "",
    transport,
    availability: { kind: "usable" },
    tools: { allow: undefined, deny: [] },
    startMs: undefined,
    callMs: undefined,
    origins: [
      {
        client: "Cursor",
        scope: "project",
        file: join(project, ".mcp.json"),
        key: "x",
        folder: project,
        ...origin,
      },
    ],
    fingerprint: fingerprintOf(transport),
    sources: [],
    pin: pinOf(fingerprintOf(transport), transport, []),
  };
}

/** What the user has trusted when he trusted these. */
async function trusting(...servers: readonly ServerDefinition[]): Promise<TrustEntry[]> {
  const subjects = await Promise.all(servers.map((server) => trustSubject(server)));
  return subjects.flatMap((subject) => {
    if (subject === undefined) return [];
    const { folder, file, key, pin } = subject;
    return [{ folder, file, key, pin, at: "" }];
  });
}

test.each(["user", "system", "explicit"] as const)(
  "needs no trust for what the scope %s defines",
  async (scope) => {
    expect(await createTrustJudge([])(define(STDIO, { scope }))).toBeUndefined();
  },
);

test("refuses what a project defines until exactly that is trusted", async () => {
  const server = define(STDIO);
  expect(await createTrustJudge([])(server)).toEqual({ kind: "untrusted", folder: project, changed: false });
  expect(await createTrustJudge(await trusting(server))(server)).toBeUndefined();
});

describe("what was trusted", () => {
  test.each<[string, StdioServer | RemoteServer, StdioServer | RemoteServer]>([
    ["another command", STDIO, { ...STDIO, command: "deno" }],
    ["another argument", STDIO, { ...STDIO, args: ["b.js"] }],
    ["another folder", STDIO, { ...STDIO, cwd: "/elsewhere" }],
    ["one more variable", STDIO, { ...STDIO, env: { TOKEN: "t" } }],
    [
      "another value of a variable that loads code",
      { ...STDIO, env: { NODE_OPTIONS: "--trace-warnings" } },
      { ...STDIO, env: { NODE_OPTIONS: "--require=./evil.js" } },
    ],
    ["another URL", REMOTE, { ...REMOTE, url: "https://b.example/mcp" }],
    ["one more header", REMOTE, { ...REMOTE, headers: { "X-Key": "k" } }],
    ["a URL in place of a command", STDIO, REMOTE],
  ])("asks again for %s", async (_title, before, after) => {
    const judge = createTrustJudge(await trusting(define(before)));

    expect(await judge(define(after))).toEqual({ kind: "untrusted", folder: project, changed: true });
  });

  test("does not ask again for another token", async () => {
    const judge = createTrustJudge(await trusting(define({ ...STDIO, env: { TOKEN: "one" } })));

    expect(await judge(define({ ...STDIO, env: { TOKEN: "two" } }))).toBeUndefined();
  });

  test("says nothing of the same server in another file, under another name or in another folder", async () => {
    const other = join(root, "other");
    mkdirSync(other);
    const judge = createTrustJudge(await trusting(define(STDIO)));

    for (const origin of [
      { file: join(project, ".cursor/mcp.json") },
      { key: "y" },
      { folder: other, file: join(other, ".mcp.json") },
    ]) {
      expect(await judge(define(STDIO, origin))).toMatchObject({ kind: "untrusted", changed: false });
    }
  });

  test("holds by every path that leads to the folder", async () => {
    const link = join(root, "link");
    symlinkSync(project, link);
    const judge = createTrustJudge(
      await trusting(define(STDIO, { folder: link, file: join(link, ".mcp.json") })),
    );

    expect(await judge(define(STDIO))).toBeUndefined();
  });

  test("does not hold for another folder that a link leads to by now", async () => {
    const link = join(root, "link");
    symlinkSync(project, link);
    const linked = define(STDIO, { folder: link, file: join(link, ".mcp.json") });
    const judge = createTrustJudge(await trusting(linked));
    rmSync(link);
    mkdirSync(join(root, "evil"));
    symlinkSync(join(root, "evil"), link);

    expect(await judge(linked)).toEqual({ kind: "untrusted", folder: link, changed: false });
  });
});
