import { detectEngine } from "../../src/container/detect.ts";
import type { ContainerEngine, EngineInfo, Sandbox, SandboxSpec } from "../../src/container/engine.ts";
import { createLog } from "../../src/core/log.ts";
import { HEIR_COMMAND, SANDBOX_COMMAND } from "../../src/kernel/command.ts";
import { MAX_FRAME_BYTES, type OutgoingLine, PROTOCOL, renderLine } from "../../src/kernel/protocol.ts";
import { renderPayload } from "../../src/kernel/source.ts";
import { time } from "./statistics.ts";
import type { World } from "./world.ts";

const DEADLINE_MS = 60_000;

const TAKE_PIPES = `import os
for fd in range(3): os.dup2(3 + fd, fd)
`;

/** Containers with the very flags of the product, and nothing of the product between them and the bench. */
export class Containers {
  readonly #world: World;
  readonly #engine: ContainerEngine;

  private constructor(world: World, engine: ContainerEngine) {
    this.#world = world;
    this.#engine = engine;
  }

  get engine(): EngineInfo {
    return this.#engine.info;
  }

  /** Finds the engine as the product does, and an OCI runtime of it that starts containers. */
  static async find(world: World): Promise<Containers> {
    const { engine, ociRuntime, env } = world.config;
    const log = createLog("ERROR", (line) => process.stderr.write(line));
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const first = await detectEngine({ engine, ociRuntime, env, log }, signal);
    if (await new Containers(world, first).#works()) return new Containers(world, first);
    for (const other of await first.alternatives(signal)) {
      if (!(await new Containers(world, other).#works())) continue;
      await other.prefer();
      return new Containers(world, other);
    }
    throw new Error(`no container engine starts "${world.config.image}" with the product's flags`);
  }

  /** Starts a program of the image; the container is closed with the world at the latest. */
  start(...command: readonly string[]): Promise<RawContainer> {
    return this.#start({ command });
  }

  /** Starts a Python program that speaks as the product does: by the bench's own pipes where the engine hands them down. */
  startSpeaker(code: string): Promise<RawContainer> {
    const run = ["python3", "-I", "-c"];
    return this.#start({ command: [...run, code], heirCommand: [...run, TAKE_PIPES + code] });
  }

  async #start(program: Pick<SandboxSpec, "command" | "heirCommand">): Promise<RawContainer> {
    const { image, containerUser: user, memoryBytes, pids, cpus, projectsQuotaBytes } = this.#world.config;
    const spec: SandboxSpec = {
      image,
      user,
      limits: { memoryBytes, pids, cpus, projectsBytes: projectsQuotaBytes },
      ...program,
    };
    const sandbox = await this.#engine.start(spec, AbortSignal.timeout(DEADLINE_MS));
    this.#world.scope.add(sandbox.name, () => sandbox.close());
    return new RawContainer(sandbox);
  }

  /** All that a program of the image prints. */
  async outputOf(...command: readonly string[]): Promise<string> {
    const container = await this.start(...command);
    let text = "";
    for (let line = await container.readLine(); line !== ""; line = await container.readLine()) text += line;
    return text;
  }

  /** Starts the product's Python and waits until its kernel is ready. */
  async startKernel(): Promise<RawContainer> {
    const container = await this.#start({ command: SANDBOX_COMMAND, heirCommand: HEIR_COMMAND });
    const rlimits = this.#engine.info.enforcesLimits
      ? null
      : { memory_bytes: this.#world.config.memoryBytes, processes: this.#world.config.pids };
    const ready = container.waitFor('"type":"ready"');
    await container.write(renderPayload({ protocol: PROTOCOL, max_frame_bytes: MAX_FRAME_BYTES, rlimits }));
    await ready;
    return container;
  }

  /** Milliseconds from nothing to the first result in a new container, which is closed afterwards. */
  async timeToResult(): Promise<number> {
    const started = performance.now();
    const container = await this.startKernel();
    await container.execute("1");
    const took = performance.now() - started;
    await container.close();
    return took;
  }

  async #works(): Promise<boolean> {
    const container = await this.start("python3", "-c", "pass");
    return (await container.ended()) === 0;
  }
}

/** A container's pipes. */
export class RawContainer {
  readonly #sandbox: Sandbox;
  readonly #chunks: AsyncIterator<Uint8Array>;
  #id = 0;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
    this.#chunks = sandbox.stdout[Symbol.asyncIterator]();
  }

  write(bytes: Uint8Array | string): Promise<void> {
    return this.#sandbox.write(bytes);
  }

  /** Reads on until `text` has come. It is looked for in the last bytes alone, so that reading costs next to nothing. */
  async waitFor(text: string): Promise<void> {
    let tail = "";
    for (;;) {
      const { done, value } = await this.#chunks.next();
      if (done === true) throw new Error(`the container ended before it wrote ${JSON.stringify(text)}`);
      tail = (tail + Buffer.from(value).toString("latin1", Math.max(0, value.length - 4096))).slice(-8192);
      if (tail.includes(text)) return;
    }
  }

  /** The next line, for programs that write one at a time; "" at the end. */
  async readLine(): Promise<string> {
    let text = "";
    while (!text.endsWith("\n")) {
      const { done, value } = await this.#chunks.next();
      if (done === true) return text;
      text += Buffer.from(value).toString();
    }
    return text;
  }

  /** One frame there and its answer back: runs a cell in a container of {@link Containers.startKernel}. */
  async execute(code: string): Promise<void> {
    this.#id += 1;
    const frame = {
      type: "execute",
      id: this.#id,
      code,
      servers: [],
      loaded: [],
      argv: null,
      filename: null,
      projects: "",
    } as const;
    const done = this.waitFor(`"type":"done","id":${this.#id},`);
    await this.send(["k", frame]);
    await done;
  }

  /** Milliseconds to replace the kernel by a fresh one and to get that one's first result. */
  timeToResetAndResult(): Promise<number> {
    return time(async () => {
      const ready = this.waitFor('"type":"ready"');
      await this.send(["s", { type: "reset" }]);
      await ready;
      await this.execute("1");
    });
  }

  send(line: OutgoingLine): Promise<void> {
    return this.write(renderLine(line));
  }

  /** The exit code, once all output was read and dropped. */
  async ended(): Promise<number | null> {
    while ((await this.#chunks.next()).done !== true);
    return (await this.#sandbox.ended).code;
  }

  close(): Promise<void> {
    return this.#sandbox.close();
  }
}
