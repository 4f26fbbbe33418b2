import { expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { leanSdk, markPure } from "../../scripts/lib/lean-sdk.ts";

const ROOT = join(import.meta.dir, "../..");

/** Both halves of the SDK, which greet each other and call a tool. */
const PROGRAM = `
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
const server = new McpServer({ name: "lean", version: "1" }, { capabilities: { tools: {} } });
server.registerTool("greet", {}, async () => ({ content: [{ type: "text", text: "hello" }] }));
const client = new Client({ name: "test", version: "1" });
const [one, other] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(one), client.connect(other)]);
const { content } = await client.callTool({ name: "greet", arguments: {} });
process.stdout.write(client.getServerVersion().name + " says " + content[0].text);
`;

async function bundle(plugins: readonly Bun.BunPlugin[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "sandpy-lean-"));
  writeFileSync(join(folder, "program.ts"), PROGRAM);
  const build = await Bun.build({
    entrypoints: [join(folder, "program.ts")],
    root: ROOT,
    target: "bun",
    outdir: join(folder, "out"),
    plugins: [resolveHere, ...plugins],
  });
  return build.outputs[0]?.path ?? "";
}

/** As if the program lay in this repository. */
const resolveHere: Bun.BunPlugin = {
  name: "here",
  setup({ onResolve }) {
    onResolve({ filter: /^@modelcontextprotocol\/(client|server)$/ }, ({ path }) => ({
      path: Bun.resolveSync(path, ROOT),
    }));
  },
};

/** How many schemas of the protocol a bundle makes when it is loaded; what is made later stands indented. */
async function schemasOf(path: string): Promise<number> {
  return (await Bun.file(path).text()).match(/^(?:var|const) \w+Schema = /gm)?.length ?? 0;
}

test("leaves out the schemas of the SDK that nobody uses, and what it serves stays the same", async () => {
  const [whole, lean] = await Promise.all([bundle([]), bundle([leanSdk])]);
  expect(await schemasOf(whole)).toBeGreaterThan(150);
  expect(await schemasOf(lean)).toBeLessThan(80);
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, lean], { cwd: ROOT });
  expect([exitCode, stdout.toString(), stderr.toString()]).toEqual([0, "lean says hello", ""]);
});

test("stops where the SDK is another than it knows", () => {
  expect(() => markPure("const OneSchema = z.string();\n", 2)).toThrow("has 1 schemas where 2 were expected");
});

test("marks each schema, on one line or on several, and nothing else", () => {
  const source = [
    'const VERSION = "1";',
    "const OneSchema = z.object({",
    "\ta: z.string(),",
    "",
    "\tb: z.lazy(() => {",
    "\t\treturn z.number();",
    "\t})",
    "});",
    "const TwoSchema = z.union([OneSchema, z.null()]);",
    "",
  ];
  expect(markPure(source.join("\n"), 2).split("\n")).toEqual([
    'const VERSION = "1";',
    "const OneSchema = /* @__PURE__ */ (() => (z.object({",
    ...source.slice(2, 7),
    "})))();",
    "const TwoSchema = /* @__PURE__ */ (() => (z.union([OneSchema, z.null()])))();",
    "",
  ]);
});
