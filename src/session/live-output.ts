import type { ExecuteRequest } from "./outcome.ts";
import type { StreamName } from "./output.ts";

/**
 * Shows output as it comes, and holds the program back while it is not taken. `release()` ends that: a program that is
 * being stopped must be heard, or the engine passes nothing on to it either, not even that it is to stop.
 */
export class LiveOutput {
  readonly #show: ExecuteRequest["onOutput"];
  readonly #released = Promise.withResolvers<void>();
  #isReleased = false;
  #untaken = 0;

  constructor(show: ExecuteRequest["onOutput"]) {
    this.#show = show;
  }

  /** Resolves when the program may go on. After `release()`, what nobody takes in time is not shown. */
  show(name: StreamName, text: string, skipped: number, bytes?: Uint8Array): void | Promise<void> {
    if (this.#isReleased && this.#untaken > 0) return undefined;
    const taken = this.#show?.(name, text, skipped, bytes);
    if (taken === undefined) return undefined;
    this.#untaken += 1;
    const settled = taken.finally(() => {
      this.#untaken -= 1;
    });
    return Promise.race([settled, this.#released.promise]);
  }

  release(): void {
    this.#isReleased = true;
    this.#released.resolve();
  }
}
