import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { assignPythonNames } from "../../src/core/python-names.ts";
import type { ServerSummary, ToolSummary } from "../../src/kernel/host-tools.ts";
import type { Session } from "../../src/session/session.ts";
import { createHostKernels } from "../helpers/host-kernels.ts";
import { createHostSession } from "../helpers/host-session.ts";
import { createHostTools } from "../helpers/host-tools.ts";
import { createRig, define, soon } from "../upstream/harness.ts";

const SHARED = join(import.meta.dir, "../../../shared/livemcp/catalog.json");
const NPM = join(import.meta.dir, "../../node_modules/@modelcontextprotocol");

interface Listed {
  readonly name: string;
  readonly description: string;
  readonly tools: readonly Omit<ToolSummary, "alias">[];
}

/** The three servers that the tests start anyhow, as they list their tools. */
async function listNpmServers(): Promise<Listed[]> {
  const start = (name: string, ...args: string[]) =>
    define(name, { args: [join(NPM, `server-${name}/dist/index.js`), ...args] });
  const names = ["filesystem", "memory", "everything"];
  await using rig = createRig([start("filesystem", tmpdir()), start("memory"), start("everything")]);
  return await Promise.all(
    names.map(async (name) => ({ name, description: "", tools: await rig.upstream.tools(name, soon()) })),
  );
}

/** A catalogue, how it is read, and which share of its schemas the compact documentation may cost. */
const catalogues: (readonly [string, () => Promise<readonly Listed[]>, number])[] = [
  ["three npm servers", listNpmServers, 0.45], // which have few parameters
];
if (existsSync(SHARED)) {
  catalogues.push(["livemcp's", async () => JSON.parse(readFileSync(SHARED, "utf8")) as Listed[], 0.4]);
} else {
  process.stderr.write(
    "livemcp's catalogue is not here: the documentation of three npm servers is measured alone\n",
  );
}

const tokens = (text: string) => encode(text).length;

describe.each(catalogues)("what Python shows of the catalogue of %s", (_title, load, maxShare) => {
  let session: Session;
  let listed: readonly Listed[];

  beforeAll(async () => {
    listed = await load();
    const aliases = assignPythonNames(listed.map(({ name }) => name));
    const servers: ServerSummary[] = listed.map(({ name, description, tools }, at) => ({
      name,
      alias: aliases[at] ?? "",
      description: description.replaceAll(/\s+/g, " ").slice(0, 200),
      status: "idle",
      tools: tools.length,
    }));
    session = createHostSession({
      kernels: createHostKernels(true),
      tools: createHostTools({
        servers: async () => servers,
        listServers: async () => servers,
        toolDocs: async (wanted) => {
          const { tools = [] } = listed.find(({ name }) => name === wanted) ?? {};
          const names = assignPythonNames(tools.map(({ name }) => name));
          return tools.map((tool, at) => ({ ...tool, alias: names[at] ?? "" }));
        },
      }),
      maxOutputChars: 1_000_000,
    });
  });
  afterAll(() => session.close());

  async function shown(code: string): Promise<string> {
    const outcome = await session.execute({ code, servers: [], timeoutMs: 20_000 }, soon(30_000));
    expect(outcome.status).toBe("ok");
    return outcome.stdout.text;
  }

  test("names of 70 servers cost at most 700 tokens, and a line each in detail", async () => {
    const names = await shown("print(runtime.discovered_servers())");
    expect(tokens(names)).toBeLessThanOrEqual(10 * Math.max(listed.length, 3));
    const lines = (await shown("print(runtime.discovered_servers(detailed=True))")).trimEnd().split("\n");
    expect(lines).toHaveLength(listed.length);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(250);
  });

  test("compact documentation costs a small share of the schemas", async () => {
    const printed = await shown(
      "for server in runtime.list_servers():\n    for doc in runtime.query_tool_docs_sync(server):\n        print(doc)",
    );
    const schemas = listed.flatMap(({ tools }) =>
      tools.map(({ name, description, inputSchema }) => JSON.stringify({ name, description, inputSchema })),
    );
    const cost = schemas.reduce((sum, schema) => sum + tokens(schema), 0);
    expect(printed.trimEnd().split("\n")).toHaveLength(schemas.length);
    expect(tokens(printed) / cost).toBeLessThanOrEqual(maxShare);
  });

  test("every printed call is one that can be made", async () => {
    const code =
      "docs = [d for s in runtime.list_servers() for d in runtime.query_tool_docs_sync(s)]\n" +
      "calls = [repr(d)[len('await '):].partition('(')[0] for d in docs]\n" +
      "print(len(calls), [c for c in calls if not callable(eval(c))])";
    const count = listed.reduce((sum, { tools }) => sum + tools.length, 0);
    expect(await shown(code)).toBe(`${count} []\n`);
  });
});
