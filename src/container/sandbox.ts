import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "../core/child.ts";
import { BridgeError } from "../core/errors.ts";
import { withDeadline } from "../core/lifecycle.ts";
import type { Sandbox, SandboxExit } from "./engine.ts";
import { type EngineAnswer, lastLine } from "./engine-call.ts";
import { listing, named, removal } from "./engine-commands.ts";
import type { HandedStart } from "./handing-down.ts";

const COMMAND_TIMEOUT_MS = 5000;
const REMOVE_WITHIN_MS = 8000;
const REMOVALS = 3;
const CLIENT_GRACE_MS = 500;
const GONE_POLL_MS = 50;
/** How long an engine that cannot be asked is waited for. What it has then is to be removed when it is back. */
const UNREACHABLE_MS = 1000;

/** Runs an engine command with a deadline; what {@link callEngine} does for one engine. */
export type RunCommand = (
  args: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<EngineAnswer>;

/** A container behind the client process that holds its stdin and stdout, or that has handed ours to it. */
export class ClientSandbox implements Sandbox {
  readonly name: string;
  readonly handedDown: HandedStart | undefined;
  readonly ended: Promise<SandboxExit>;
  readonly #engine: string;
  readonly #child: Child;
  readonly #run: RunCommand;
  readonly #onLeft: () => void;
  #closing: Promise<void> | undefined;

  /** `onLeft` is called where it could not be removed, before `close` rejects. */
  constructor(
    { name, handedDown }: Pick<Sandbox, "name" | "handedDown">,
    engine: string,
    child: Child,
    run: RunCommand,
    onLeft: () => void,
  ) {
    this.name = name;
    this.handedDown = handedDown;
    this.#engine = engine;
    this.#child = child;
    this.#run = run;
    this.#onLeft = onLeft;
    this.ended = child.exited.then(({ code }) => ({ code, stderr: child.stderrText() }));
  }

  get stdout(): AsyncIterable<Uint8Array> {
    return this.#child.stdout;
  }

  write(bytes: Uint8Array | string): Promise<void> {
    return this.#child.write(bytes);
  }

  close(): Promise<void> {
    this.#closing ??= this.#remove();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #remove(): Promise<void> {
    const budget = AbortSignal.timeout(REMOVE_WITHIN_MS);
    try {
      await this.#kill(budget);
      await this.#waitUntilGone(budget);
    } catch (error) {
      this.#onLeft();
      const reason = error instanceof Error ? error.message : String(error);
      throw new BridgeError("ENGINE_FAILED", `the container "${this.name}" could not be removed: ${reason}`, {
        hint: `Remove it by hand: ${this.#engine} rm --force ${this.name}`,
        cause: error,
      });
    } finally {
      await this.#child.stop(0);
    }
  }

  /**
   * Kills by name: a signal to the client would be passed on to the first process of the container, which may ignore
   * it. A client that has not created the container yet does so after the first removal, so it is tried again.
   */
  async #kill(budget: AbortSignal): Promise<void> {
    let hasEnded = false;
    for (let tries = 0; tries < REMOVALS; tries += 1) {
      // Podman fails the first time where its monitor was killed, and only then knows that the container has ended.
      const { code } = await this.#ask(removal(this.name), budget);
      hasEnded = await this.#endsSoon();
      if (hasEnded && code === 0) return;
    }
    if (hasEnded) return; // whether it is gone is asked for next
    // A client that stays is stuck: it goes, and what it may have made in its last moment goes after it.
    await this.#child.stop(0);
    await this.#ask(removal(this.name), budget);
  }

  async #endsSoon(): Promise<boolean> {
    return withDeadline(this.ended, CLIENT_GRACE_MS, "the engine's client").then(
      () => true,
      () => false, // not yet
    );
  }

  /** Asks until it is gone, for an engine may remove it in the background; throws when it is not known to be. */
  async #waitUntilGone(budget: AbortSignal): Promise<void> {
    let words = "";
    let answered = performance.now();
    while (!budget.aborted && performance.now() - answered < UNREACHABLE_MS) {
      const answer = await this.#ask(listing(named(this.name)), budget);
      if (answer.code === 0 && answer.stdout.trim() === "") return;
      if (answer.code === 0) answered = performance.now();
      words = answer.code === 0 ? "it is still there" : lastLine(answer.stderr);
      await sleep(GONE_POLL_MS);
    }
    throw new Error(words);
  }

  #ask(args: readonly string[], budget: AbortSignal): Promise<EngineAnswer> {
    return this.#run(args, COMMAND_TIMEOUT_MS, budget);
  }
}
