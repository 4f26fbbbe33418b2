import { join } from "node:path";
import { type Child, startChild } from "../../src/core/child.ts";
import { BINARY, bridgeEnv, until } from "../../test/e2e/helpers/engine.ts";
import type { TestHome } from "../../test/e2e/helpers/home.ts";
import { connectHttp } from "../../test/e2e/helpers/session-clients.ts";
import { ECHO_SERVER } from "../benchmarks/world.ts";
import type { Random } from "../fuzz-programs/random.ts";

const TOKEN = "soak-0123456789abcdef";
const LISTENS_MS = 30_000;
/** What listens says so. */
const ADDRESS = / at (http:\S+)/;

/** What bridges are doing when they are killed. */
export const CODE = [
  "1 + 1", // and nothing after it
  "while True: pass",
  "import subprocess, time\nsubprocess.Popen(['python3', '-c', 'import time; time.sleep(600)'])\ntime.sleep(600)",
  "while True: await mcp_bench.echo(text='x' * 1000)",
  "while True: await mcp_family.echo(text='x')",
  "i = 0\nwhile True:\n    i += 1\n    save_memory('soak', i)\n    open(f'/projects/{i % 20}', 'w').write('x' * i)",
  "while True: print('x' * 100_000)",
  "hoard = []\nwhile True: hoard.append(bytearray(10_000_000))",
];
const CALLS_A_SERVER = "await mcp_bench.echo(text='may I')";

/** Upstream servers: one, and one with a child and a grandchild that heed no polite signal. */
export const SERVERS = {
  bench: ECHO_SERVER,
  family: {
    command: "/bin/sh",
    args: [
      "-c",
      `trap '' TERM HUP; sh -c "trap '' TERM HUP; sleep 600 & wait" & exec "$0" "$@"`,
      ECHO_SERVER.command,
      ...ECHO_SERVER.args,
    ],
  },
};

export type Kind = "stdio" | "approval" | "http" | "run";

/** In which way a bridge is used, and how often of a hundred times. */
export function pickKind(random: Random): Kind {
  const lot = random.below(100);
  return lot < 60 ? "stdio" : lot < 70 ? "approval" : lot < 85 ? "http" : "run";
}

/** Starts a bridge and gives it something to do; nobody waits for an answer. */
export async function startVictim(kind: Kind, home: TestHome, code: string): Promise<Child> {
  const env = {
    ...bridgeEnv(home.path),
    TMPDIR: join(home.path, "tmp"),
    MCP_BRIDGE_MEMORY: "128m",
    ...(kind === "http" ? { MCP_BRIDGE_HTTP_TOKEN: TOKEN } : {}),
    ...(kind === "approval" ? { MCP_BRIDGE_ASK: "*" } : {}),
  };
  const args = {
    stdio: [],
    approval: [],
    http: ["serve", "--http", "--port", "0"],
    run: ["run", "--servers", "bench,family", "-c", code],
  };
  let stderr = "";
  const onStderr = (text: string) => {
    stderr += text;
  };
  const bridge = await startChild({ command: BINARY, args: args[kind], env, cwd: home.path, onStderr });
  void drain(bridge.stdout);
  if (kind === "run") bridge.endInput();
  else if (kind === "http") {
    await until("it listens", () => ADDRESS.test(stderr), LISTENS_MS);
    void useOverHttp(new URL(ADDRESS.exec(stderr)?.[1] ?? ""), code);
  } else {
    const asked = kind === "approval" ? CALLS_A_SERVER : code;
    await bridge.write(INITIALIZE + renderRun(asked)).catch(() => undefined); // it may have ended
  }
  return bridge;
}

async function useOverHttp(url: URL, code: string): Promise<void> {
  try {
    await using client = await connectHttp(url, TOKEN, "v1");
    await client.run(code);
  } catch {
    // the server is killed, after all
  }
}

async function drain(stdout: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of stdout);
}

const INITIALIZE = render(1, "initialize", {
  protocolVersion: "2025-11-25",
  capabilities: { elicitation: {} },
  clientInfo: { name: "soak", version: "1" },
});

function renderRun(code: string): string {
  return render(2, "tools/call", { name: "run_python", arguments: { code } });
}

function render(id: number, method: string, params: object): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
}
