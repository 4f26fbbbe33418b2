import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { connectBridge } from "./bridge.ts";
import { atMost, type Comparison } from "./comparison.ts";
import { defineCatalog, readLivemcp } from "./livemcp.ts";
import type { World } from "./world.ts";

/** What a model reads of a tool costs a share of the tool's schema. */
export async function benchDoc(world: World): Promise<Comparison[]> {
  const found = readLivemcp(world, "doc");
  if (found === undefined) return [];
  defineCatalog(world, found);
  const bridge = await connectBridge(world);
  const ours: number[] = [];
  for (const { name } of found.servers) {
    const code = `for doc in await runtime.query_tool_docs(${JSON.stringify(name)}): print(doc)`;
    ours.push(countTokens(await bridge.python(code)));
  }
  const theirs = found.servers.map(({ tools }) => {
    const entries = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    return countTokens(entries.map((entry) => JSON.stringify(entry)).join("\n"));
  });
  return [
    {
      bench: "doc",
      measured: "documentation of 527 tools, as printed",
      yardstick: "their entries in tools/list",
      unit: "tokens",
      ours: [sum(ours)],
      theirs: [sum(theirs)],
      target: atMost(0.4, 0),
    },
  ];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
