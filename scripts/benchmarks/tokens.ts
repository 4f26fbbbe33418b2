import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { type Comparison, valueAtMost } from "./comparison.ts";
import type { Peer, World } from "./world.ts";

/** What a model's context pays for us at most, however many servers are behind us. */
export async function benchTokens(world: World): Promise<Comparison[]> {
  const command = Bun.which("node") ?? process.execPath;
  const program = (name: string) =>
    join(world.root, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
  const servers = {
    filesystem: { command, args: [program("filesystem"), world.home] },
    memory: {
      command,
      args: [program("memory")],
      env: { MEMORY_FILE_PATH: join(world.home, "memory.jsonl") },
    },
    everything: { command, args: [program("everything")] },
  };
  let theirs = 0;
  for (const { command, args, ...rest } of Object.values(servers)) {
    theirs += await tokensOf(await world.connect(command, args, rest));
  }
  const ours: number[] = [];
  for (const defined of [{}, servers, many(70), many(1000)]) {
    world.defineServers(defined);
    ours.push(await tokensOf(await world.connect(world.binary, [])));
  }
  return [
    {
      bench: "tokens",
      measured: "tools/list + instructions, the most of 0, 3, 70 and 1,000 servers",
      yardstick: "tools/list + instructions of three official servers",
      unit: "tokens",
      ours: [Math.max(...ours)],
      theirs: [theirs],
      target: valueAtMost(200),
    },
  ];
}

async function tokensOf(peer: Peer): Promise<number> {
  const { tools } = await peer.client.listTools();
  const instructions = peer.client.getInstructions() ?? "";
  await peer.close();
  return countTokens(JSON.stringify(tools)) + countTokens(instructions);
}

function many(count: number): Record<string, unknown> {
  const entry = { command: "never-started", args: [] };
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`server-${index}`, entry]));
}
