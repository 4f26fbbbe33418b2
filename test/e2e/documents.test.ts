import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { parse } from "yaml";
import { startBridge } from "./helpers/client.ts";
import { DOCUMENTS, type Example, readExamples } from "./helpers/document-examples.ts";
import {
  createWorld,
  type DocumentWorld,
  TOKEN,
  tryCommand,
  tryOnTerminal,
} from "./helpers/document-world.ts";
import { until } from "./helpers/engine.ts";
import { type Served, startServed } from "./helpers/served.ts";

/** What is not run here, and why. Each must still match something. */
const NOT_RUN: readonly (readonly [RegExp, string])[] = [
  [/^\.\/scripts\//, "sets up the machine or takes minutes; CI runs them"],
  [/^(?:git clone|mkdir -p ~\/\.local\/bin && cp dist)/, "needs a place where the repository is hosted"],
  [
    /^(?:curl|brew|sha256sum|diff dist\/release)\b/,
    "needs a release; test/scripts/ installs from one of its own",
  ],
  [/^sandpy image (?:pull|build)\b/, "needs a registry or an index; test/e2e/image.test.ts has its own"],
  [
    /^sandpy auth (?:SERVER|linear)(?: --no-browser)?$/,
    "somebody signs in, in a browser; test/upstream/oauth does",
  ],
];

/** Blocks that are not there to be run. */
const SHOWN = new Map([
  ["text", "what a program prints"],
  ["frames", "forms of frames; test/contract has whole ones"],
  ["caddy", "for a program that is not here"],
]);

/** What the words in capitals stand for. */
const MEANT: readonly (readonly [RegExp, string])[] = [
  [/\bKEY…/, "notes"],
  [/\bCLIENT…/, "cursor"],
  [/ \[(?:FILE|--json|list)\]/g, ""],
  [/ \[DIR\]/, " project"],
  [/\bKEY JSON$/, `preferences '{"units": "metric"}'`],
  [/^(sandpy config get) KEY$/, "$1 memory"],
  [/\bKEY$/, "preferences"],
  [/\bFILE$/, "backup.json"],
  [/\bSERVER\b/, "linear"],
];

/** Those that are typed elsewhere than at home. */
const FOLDERS: readonly (readonly [RegExp, string])[] = [[/--scope project/, "project"]];

/** Those that ask, and where they are typed. */
const ON_TERMINAL = new Map([
  ["sandpy trust", "project"],
  ["sandpy trust project", ""],
  ["sandpy memory tools delete weekly_report", ""],
]);

const examples = DOCUMENTS.flatMap(readExamples);
const isRun = ({ kind, text }: Example) =>
  !SHOWN.has(kind) && !NOT_RUN.some(([pattern]) => pattern.test(text));
const ofKind = (...kinds: readonly string[]) =>
  examples.filter((example) => kinds.includes(example.kind) && isRun(example));
const folderOf = (text: string) => FOLDERS.find(([pattern]) => pattern.test(text))?.[1] ?? "";
const rows = (found: readonly Example[]) => found.map((example) => [example.place, example] as const);

test("every example is of a kind that is tried, and every exception is needed", () => {
  const kinds = new Set(["command", "json", "jsonc", "python", "yaml", "tokens"]);
  expect(examples.filter((each) => isRun(each) && !kinds.has(each.kind)).map(({ place }) => place)).toEqual(
    [],
  );
  const idle = NOT_RUN.filter(([pattern]) => !examples.some(({ text }) => pattern.test(text)));
  const unseen = [...SHOWN.keys()].filter((kind) => !examples.some((each) => each.kind === kind));
  expect([idle, unseen]).toEqual([[], []]);
});

describe("commands", () => {
  // The same words in two documents are one example.
  const commands = [...new Map(ofKind("command").map((example) => [example.text, example])).values()];

  test.concurrent.each(rows(commands.filter(({ text }) => !/^sandpy sessions/.test(text))))(
    "of %s work",
    async (_place, { text }) => {
      using world = createWorld();
      const meant = MEANT.reduce((words, [pattern, words2]) => words.replace(pattern, words2), text);
      const cwd = ON_TERMINAL.get(meant);
      const tried =
        cwd === undefined
          ? await tryCommand(meant, world, folderOf(meant))
          : await tryOnTerminal(meant, world, cwd);
      const codes = meant.startsWith("sandpy doctor") ? [0, 1] : [0]; // the machine may be weaker than it could be
      expect({ meant, ...tried, isFine: codes.includes(tried.code ?? -1) }).toMatchObject({ isFine: true });
    },
  );

  describe("about sessions", () => {
    let world: DocumentWorld;
    let served: Served;
    beforeAll(async () => {
      world = createWorld();
      served = await startServed(world.home, []);
    });
    afterAll(async () => {
      await served[Symbol.asyncDispose]();
      world[Symbol.dispose]();
    });

    test.each(rows(commands.filter(({ text }) => /^sandpy sessions/.test(text))))(
      "of %s work",
      async (_place, { text }) => {
        await using client = await served.connect(TOKEN);
        expect(await client.python("1")).toBe("success");
        const own = { ...world, env: { ...world.env, MCP_BRIDGE_HTTP_PORT: served.url.port } };
        const listed = JSON.parse((await tryCommand("sandpy sessions --json", own)).stdout) as {
          sessions: readonly { id: string }[];
        };
        const meant = text
          .replaceAll(/ \[[^\]]*\]/g, "")
          .replace(/\b(end|interrupt|reset) \S+$/, `$1 ${listed.sessions[0]?.id}`);
        const tried = await tryCommand(meant, own);
        expect({ meant, ...tried }).toMatchObject({ code: 0 });
      },
    );
  });
});

describe("Python", () => {
  const documents = [...new Set(ofKind("python").map(({ document }) => document))];
  test.each(documents)("of %s runs, as one session", async (document) => {
    using world = createWorld();
    await using bridge = await startBridge({ home: world.home });
    for (const { place, text } of ofKind("python").filter((example) => example.document === document)) {
      const answer = await bridge.call({ code: world.here(text) });
      expect({ place, status: answer.structured["status"], text: answer.text }).toMatchObject({
        status: "success",
      });
    }
  });
});

describe("JSON", () => {
  const objects = ofKind("json").map((each) => ({ ...each, value: JSON.parse(each.text) as Json }));
  const having = (...keys: readonly string[]) =>
    objects.filter(({ value }) => keys.every((key) => key in value));
  const table = (found: typeof objects) => found.map((each) => [each.place, each] as const);

  test("is a file with servers, a line of the log or the audit, or an answer, each of which is tried", () => {
    const known = [
      having("mcpServers"),
      having("servers"),
      having("argumentsHash"),
      having("level"),
      having("checks"),
    ];
    expect(new Set(known.flat())).toEqual(new Set(objects));
  });

  test.each(table([...having("mcpServers"), ...having("servers")]))(
    "%s: servers that work or are found",
    async (_place, { text, value }) => {
      using world = createWorld();
      const entries = Object.entries((value["mcpServers"] ?? value["servers"]) as Record<string, Entry>);
      const own = entries.find(([name]) => name === "sandpy")?.[1];
      if (own?.command !== undefined) {
        const client = new Client({ name: "test", version: "1" });
        const transport = new StdioClientTransport({
          command: own.command,
          args: [...(own.args ?? [])],
          env: { ...world.env, ...own.env },
        });
        await client.connect(transport);
        expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["run_python"]);
        await client.close();
      } else if (own?.url !== undefined) {
        await using served = await startServed(world.home, ["--token-file", join(world.home.path, "tokens")]);
        const [, token = ""] =
          own.headers?.["Authorization"]?.replace(/\$\{SANDPY_TOKEN\}/, TOKEN).split("Bearer ") ?? [];
        await using client = await served.connect(token);
        expect([new URL(own.url).pathname, await client.python("1")]).toEqual(["/mcp", "success"]);
      } else {
        world.home.write("MCPs/servers.json", world.here(text));
        const { code, stdout } = await tryCommand("sandpy servers --json", world);
        const found = (JSON.parse(stdout) as { servers: readonly { name: string; state: string }[] }).servers;
        expect([code, found.map(({ name, state }) => [name, state])]).toEqual([
          0,
          entries.map(([name]) => [name, "usable"]),
        ]);
      }
    },
  );

  test.each(table(having("argumentsHash")))("%s: a line of the audit", async (_place, { value }) => {
    using world = createWorld();
    await using bridge = await startBridge({ home: world.home });
    await bridge.python(world.here('await mcp_notes.read_text_file(path="/home/me/notes/trip.md")'));
    await bridge[Symbol.asyncDispose]();
    const lines = readFileSync(join(world.home.path, ".local/share/sandpy/audit.jsonl"), "utf8").trim();
    expect(Object.keys(JSON.parse(lines) as Json).sort()).toEqual(Object.keys(value).sort());
  });

  test.each(table(having("checks")))("%s: the answer of /readyz", async (_place, { value }) => {
    using world = createWorld();
    await using served = await startServed(world.home, []);
    const answer = (await (await fetch(new URL("/readyz", served.origin))).json()) as Json;
    const checks = (from: Json) => Object.keys(from["checks"] as Json);
    expect([Object.keys(answer), checks(answer)]).toEqual([Object.keys(value), checks(value)]);
  });

  test.each(table(having("level")))("%s: a line of the log", async (_place, { value }) => {
    using world = createWorld();
    const env = { MCP_BRIDGE_LOG_LEVEL: "DEBUG", MCP_BRIDGE_LOG_FORMAT: "json" };
    await using served = await startServed(
      world.home,
      ["--token-file", join(world.home.path, "tokens")],
      env,
    );
    await using client = await served.connect(TOKEN);
    expect(await client.python('await mcp_github.search_issues("bug")')).toBe("success");
    const line = () =>
      served
        .stderr()
        .split("\n")
        .find((each) => each.includes(`"${value["message"]}"`));
    await until("the server's message is in the log", () => line() !== undefined);
    const logged = JSON.parse(line() ?? "") as Json;
    expect(Object.keys(logged).sort()).toEqual(Object.keys(value).sort());
    expect(logged["caller"]).toBe(value["caller"]);
  });

  test.each(rows(ofKind("jsonc")))("%s: a configuration file", async (_place, { text }) => {
    using world = createWorld();
    chmodSync(world.home.write("example.jsonc", text), 0o600);
    expect(await tryCommand("sandpy config --config example.jsonc --json", world)).toMatchObject({ code: 0 });
  });
});

test.each(rows(ofKind("tokens")))("%s: a file that lets in", async (_place, { text }) => {
  using world = createWorld();
  chmodSync(world.home.write("tokens", text), 0o600);
  await using served = await startServed(world.home, ["--token-file", join(world.home.path, "tokens")]);
  await using client = await served.connect(TOKEN);
  expect(await client.python("1")).toBe("success");
});

test.each(rows(ofKind("yaml")))(
  "%s: YAML, and for our action only inputs that it has",
  (_place, { text }) => {
    const action = parse(readFileSync(join(import.meta.dir, "../../action.yml"), "utf8")) as { inputs: Json };
    const { jobs = {} } = parse(text) as {
      jobs?: Record<string, { steps: readonly { uses?: string; with?: Json }[] }>;
    };
    const ours = Object.values(jobs).flatMap(({ steps }) =>
      steps.filter(({ uses }) => uses?.startsWith("OWNER/")),
    );
    const unknown = ours
      .flatMap((step) => Object.keys(step.with ?? {}))
      .filter((key) => !(key in action.inputs));
    expect(unknown).toEqual([]);
  },
);

type Json = Readonly<Record<string, unknown>>;
interface Entry {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
