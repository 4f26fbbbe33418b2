import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { SearchableServer } from "../../src/upstream/search/tool-search.ts";
import { connectBridge } from "./bridge.ts";
import { atMost, type Comparison } from "./comparison.ts";
import { defineCatalog, readLivemcp, type Task } from "./livemcp.ts";
import type { World } from "./world.ts";

const TASKS = 20;

/**
 * All that a model reads for a task: our description, what it searches for step by step, the documentation of the tools that
 * the task takes, and their results. Beside it, what it reads where every schema of every server is in its context.
 */
export async function benchTask(world: World): Promise<Comparison[]> {
  const found = readLivemcp(world, "task");
  if (found === undefined) return [];
  defineCatalog(world, found);
  const bridge = await connectBridge(world);
  const { tools } = await bridge.client.listTools();
  const ourContext = countTokens(JSON.stringify(tools)) + countTokens(bridge.client.getInstructions() ?? "");
  const all = found.servers.flatMap(({ tools: entries }) => entries);
  const theirContext = countTokens(JSON.stringify(all));
  const ours: number[] = [];
  const theirs: number[] = [];
  for (const task of found.tasks.slice(0, TASKS)) {
    const wanted = task.tools.map((tool) => locate(found.servers, tool));
    const read: number[] = [];
    for (const code of codeFor(task, wanted)) read.push(countTokens(await bridge.python(code)));
    const [searched = 0, documented = 0, called = 0] = read;
    ours.push(ourContext + searched + documented + called);
    theirs.push(theirContext + called);
  }
  return [
    {
      bench: "task",
      measured: `what a model reads for one of ${TASKS} tasks`,
      yardstick: "the same with all schemas loaded",
      unit: "tokens",
      ours,
      theirs,
      target: atMost(0.05, 0),
    },
  ];
}

interface Located {
  readonly server: string;
  readonly tool: string;
  readonly args: unknown;
}

/** What a model writes: a search for each step, a look at the tools that it chose, and the calls. */
function codeFor({ queries }: Task, wanted: readonly Located[]): readonly string[] {
  const [whole = "", ...steps] = queries;
  const words = JSON.stringify(steps.length === 0 ? [whole] : steps);
  const pairs = JSON.stringify(wanted.map(({ server, tool }) => [server, tool]));
  const calls = JSON.stringify(JSON.stringify(wanted));
  return [
    `for step in ${words}:\n    print(await runtime.search_tool_docs(step, limit=3))`,
    `for server, tool in ${pairs}:\n    print(await runtime.query_tool_docs(server, tool))`,
    `import json\nfor c in json.loads(${calls}):\n    print((await runtime.call_tool(c["server"], c["tool"], c["args"])).text)`,
  ];
}

function locate(servers: readonly SearchableServer[], tool: string): Located {
  for (const server of servers) {
    const entry = server.tools.find(({ name }) => name === tool);
    if (entry !== undefined) return { server: server.name, tool, args: exampleOf(entry.inputSchema) };
  }
  throw new Error(`no server of the catalogue has the tool "${tool}"`);
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

/** The simplest value that a schema takes. */
function exampleOf(given: unknown): unknown {
  const schema = (given ?? {}) as Schema;
  if (schema.enum !== undefined) return schema.enum[0];
  const type = typeof schema.type === "string" ? schema.type : schema.type?.[0];
  if (type === "object") {
    const { properties = {}, required = [] } = schema;
    return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name])]));
  }
  if (type === "array") return [exampleOf(schema.items)];
  if (type === "number" || type === "integer") return 1;
  return type === "boolean" ? true : "text";
}
