import type { Peer, World } from "./world.ts";

const START_MS = 60_000;
const POLL_MS = 100;
/** From the start of a container until its Python is ready, and has imported what it does at rest. */
const READY_MS = 1000;

/** The built binary, connected. */
export interface Bridge extends Peer {
  /** Runs code and returns what the model sees; code that fails is thrown. */
  python(code: string): Promise<string>;
  /** Resolves when this many sandboxes have started since the bridge did, and are ready. */
  sandboxesStarted(count: number): Promise<void>;
}

/** Starts a bridge; `env` is put over that of the world. */
export async function connectBridge(
  world: World,
  env: Readonly<Record<string, string>> = {},
): Promise<Bridge> {
  const peer = await world.connect(world.binary, [], { env });
  const started = () =>
    Math.max(0, ...containersOf(world, peer.pid).map(({ name }) => Number(name.split("-").at(-1))));
  const sandboxesStarted = async (count: number) => {
    const giveUpAt = performance.now() + START_MS;
    while (started() < count) {
      if (performance.now() > giveUpAt)
        throw new Error(`no ${count} sandboxes have started after ${START_MS} ms`);
      await Bun.sleep(POLL_MS);
    }
    await Bun.sleep(READY_MS);
  };
  return { ...peer, python: (code) => peer.call("run_python", { code }), sandboxesStarted };
}

/** A bridge's containers, which it counts in their names. Its log would say more, and at that level cost each call some. */
export function containersOf(
  world: World,
  pid: number,
): readonly { readonly id: string; readonly name: string }[] {
  const filter = `label=io.sandpy.pid=${pid}`;
  const command = [world.engine, "ps", "--no-trunc", "--filter", filter, "--format", "{{.ID}} {{.Names}}"];
  const { stdout } = Bun.spawnSync(command, { env: world.env, stderr: "ignore" });
  return stdout
    .toString()
    .split("\n")
    .flatMap((line) => {
      const [id, name] = line.split(" ");
      return id === undefined || name === undefined ? [] : [{ id, name }];
    });
}

/** A bridge at rest: its session has a sandbox, and the spare for the next one is up and disturbs nothing any more. */
export async function connectWarmBridge(world: World): Promise<Bridge> {
  const bridge = await connectBridge(world);
  await bridge.python("1");
  await bridge.sandboxesStarted(2);
  return bridge;
}
