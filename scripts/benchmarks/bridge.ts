import { withDeadline } from "../../src/core/lifecycle.ts";
import type { Peer, World } from "./world.ts";

const START_MS = 60_000;

/** The built binary, connected. */
export interface Bridge extends Peer {
  /** Runs code and returns what the model sees; code that fails is thrown. */
  python(code: string): Promise<string>;
  /** Resolves when this many sandboxes have started since the bridge did. */
  sandboxesStarted(count: number): Promise<void>;
}

export async function connectBridge(world: World): Promise<Bridge> {
  let log = "";
  let onLog = () => {};
  const peer = await world.connect(world.binary, [], {
    env: { MCP_BRIDGE_LOG_LEVEL: "DEBUG" },
    onStderr: (text) => {
      log += text;
      onLog();
    },
  });
  const sandboxesStarted = (count: number) => {
    const started = new Promise<void>((resolve) => {
      onLog = () => {
        if (log.split("DEBUG sandpy: started a sandbox").length > count) resolve();
      };
      onLog();
    });
    return withDeadline(started, START_MS, "the start of a sandbox");
  };
  return { ...peer, python: (code) => peer.call("run_python", { code }), sandboxesStarted };
}

/** A bridge at rest: its session has a sandbox, and the spare for the next one is up and disturbs nothing any more. */
export async function connectWarmBridge(world: World): Promise<Bridge> {
  const bridge = await connectBridge(world);
  await bridge.python("1");
  await bridge.sandboxesStarted(2);
  return bridge;
}
