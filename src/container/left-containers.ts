import { outsideRuns } from "../core/run-context.ts";
import { listing, named, removal } from "./engine-commands.ts";
import type { RunCommand } from "./sandbox.ts";

const FIRST_PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 60_000;
const COMMAND_TIMEOUT_MS = 10_000;

/**
 * Containers that could not be removed, since the engine was away or did not answer. They are tried again until they are
 * gone, or the process is: then the next bridge finds them by their labels.
 */
export class LeftContainers {
  readonly #names = new Set<string>();
  readonly #run: RunCommand;
  #isWaiting = false;

  constructor(run: RunCommand) {
    this.#run = run;
  }

  add(name: string): void {
    this.#names.add(name);
    if (!this.#isWaiting) this.#tryAfter(FIRST_PAUSE_MS);
  }

  #tryAfter(pauseMs: number): void {
    this.#isWaiting = true;
    const timer = outsideRuns(() => setTimeout(() => void this.#try(pauseMs), pauseMs));
    timer.unref();
  }

  async #try(pauseMs: number): Promise<void> {
    for (const name of [...this.#names]) {
      if (!(await this.#isRemoved(name))) break; // the others would fare no better
      this.#names.delete(name);
    }
    this.#isWaiting = false;
    if (this.#names.size > 0) this.#tryAfter(Math.min(2 * pauseMs, LONGEST_PAUSE_MS));
  }

  async #isRemoved(name: string): Promise<boolean> {
    const ask = (command: readonly string[]) =>
      this.#run(command, COMMAND_TIMEOUT_MS, AbortSignal.timeout(2 * COMMAND_TIMEOUT_MS));
    try {
      await ask(removal(name));
      const { code, stdout } = await ask(listing(named(name)));
      return code === 0 && stdout.trim() === "";
    } catch {
      return false; // it still hangs
    }
  }
}
