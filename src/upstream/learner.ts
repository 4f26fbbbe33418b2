import { BridgeError } from "../core/errors.ts";
import { untilAborted, withDeadline } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import { outsideRuns } from "../core/run-context.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import type { Catalogue, KnownServer } from "./catalogue/catalogue.ts";
import type { Pool } from "./pool.ts";

/** In the background, few at a time: a start may well keep a core busy. */
const MAX_AT_ONCE = 2;
/** Servers that one bridge starts for nothing but their tools. */
const MAX_LEARNED = 100;

export interface LearnerOptions {
  readonly pool: Pool;
  readonly catalogue: Catalogue;
  readonly log: Log;
}

/** Finds out which tools servers have: those that nobody has ever asked are started for it once, and stopped again. */
export class Learner {
  readonly #options: LearnerOptions;
  readonly #tried = new Set<string>();
  readonly #waiting: ServerDefinition[] = [];
  readonly #closed = new AbortController();
  #working = 0;
  #idle = Promise.withResolvers<void>();

  constructor(options: LearnerOptions) {
    this.#options = options;
  }

  /** Asks a server now, and stops it again if nobody else has used it. Rejects with an `UPSTREAM_*` error. */
  async ask(definition: ServerDefinition, signal: AbortSignal): Promise<KnownServer> {
    const { pool, catalogue } = this.#options;
    const isRunning = pool.status(definition) === "connected";
    try {
      await pool.use(definition, { signal, isPassing: true }, async (live) => {
        const { listTools } = await import("./call.ts"); // loads the SDK, which is loaded by now
        if (isRunning) live.toolList.invalidate();
        await listTools(live, definition, signal);
      });
    } finally {
      await pool.stopUnwanted(definition);
    }
    const known = catalogue.known(definition);
    if (known === undefined) throw new BridgeError("CANCELLED", "the server's definition changed meanwhile");
    return known;
  }

  /**
   * Starts, in the background and a few at a time, those of `definitions` that nobody has ever asked; each once for as
   * long as the bridge runs, those first that a search for `query` most likely means. The catalogue says when it knows
   * more. Returns how many are still to be asked.
   */
  learn(definitions: readonly ServerDefinition[], query = ""): number {
    const { catalogue } = this.#options;
    for (const definition of definitions) {
      const isNew = definition.availability.kind === "usable" && catalogue.known(definition) === undefined;
      const mark = `${definition.name} ${definition.fingerprint}`;
      if (!isNew || this.#tried.has(mark) || this.#tried.size >= MAX_LEARNED) continue;
      this.#tried.add(mark);
      this.#waiting.push(definition);
    }
    const words = query.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
    if (words.length > 0) this.#waiting.sort((a, b) => countWords(b, words) - countWords(a, words));
    while (this.#working < MAX_AT_ONCE && this.#waiting.length > 0) void outsideRuns(() => this.#work());
    return this.#waiting.length + this.#working;
  }

  /** Waits until nobody is being asked any more, at most `ms` and until `signal` aborts. Never rejects. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#working === 0) return;
    await untilAborted(withDeadline(this.#idle.promise, ms, "asking servers"), signal).catch(() => undefined);
  }

  close(): void {
    this.#closed.abort(new BridgeError("CANCELLED", "the bridge is shutting down"));
    this.#waiting.length = 0;
  }

  async #work(): Promise<void> {
    if (this.#working === 0) this.#idle = Promise.withResolvers<void>();
    this.#working += 1;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const { name } = next;
      await this.ask(next, this.#closed.signal).catch((error: unknown) =>
        this.#options.log.debug("could not learn the tools of server", {
          server: name,
          error: String(error),
        }),
      );
    }
    this.#working -= 1;
    if (this.#working === 0) this.#idle.resolve();
  }
}

/** How many of the words stand in what a definition says of its server. */
function countWords({ name, description }: ServerDefinition, words: readonly string[]): number {
  const text = `${name} ${description}`.toLowerCase();
  return words.filter((word) => text.includes(word)).length;
}
