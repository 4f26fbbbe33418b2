import { withDeadline } from "../../core/lifecycle.ts";
import type { DashboardSource, ServerHealth } from "./port.ts";

/** Newer than this is new enough. */
const MEMORY_PAUSE_MS = 3000;
const SERVERS_PAUSE_MS = 1000;
/** A page does not wait longer for what can come later. */
const PATIENCE_MS = 500;

/** What must be asked for, asked only while somebody looks, and for all who look at once. */
export class Gauges {
  readonly #source: Pick<DashboardSource, "sessions" | "servers">;
  readonly #memory = new Map<string, number>();
  #servers: readonly ServerHealth[] = [];
  readonly #memoryTurn = new Turn(MEMORY_PAUSE_MS);
  readonly #serversTurn = new Turn(SERVERS_PAUSE_MS);

  constructor(source: Pick<DashboardSource, "sessions" | "servers">) {
    this.#source = source;
  }

  /** Brings up to date what is due. `sessionIds`: all that have a sandbox. Never rejects. */
  async refresh(sessionIds: readonly string[]): Promise<void> {
    await Promise.all([
      this.#memoryTurn.take(() => this.#readMemory(sessionIds)),
      this.#serversTurn.take(async () => {
        this.#servers = await this.#source.servers();
      }),
    ]);
  }

  memoryBytes(sessionId: string): number | undefined {
    return this.#memory.get(sessionId);
  }

  get servers(): readonly ServerHealth[] {
    return this.#servers;
  }

  async #readMemory(sessionIds: readonly string[]): Promise<void> {
    const wanted = new Set(sessionIds);
    for (const id of this.#memory.keys()) if (!wanted.has(id)) this.#memory.delete(id);
    await Promise.all(
      sessionIds.map(async (id) => {
        const bytes = await this.#source.sessions.memoryBytes(id).catch(() => undefined);
        if (bytes !== undefined) this.#memory.set(id, bytes);
      }),
    );
  }
}

/** Lets work be done once at a time, and with pauses. */
class Turn {
  readonly #pauseMs: number;
  #working: Promise<void> | undefined;
  #doneAt = Number.NEGATIVE_INFINITY;

  constructor(pauseMs: number) {
    this.#pauseMs = pauseMs;
  }

  /** Resolves when the work is done, when it is not due, or when it takes too long; it goes on then. */
  async take(work: () => Promise<void>): Promise<void> {
    if (this.#working === undefined && performance.now() - this.#doneAt < this.#pauseMs) return;
    this.#working ??= work()
      .catch(() => undefined) // what was known before stays
      .finally(() => {
        this.#doneAt = performance.now();
        this.#working = undefined;
      });
    await withDeadline(this.#working, PATIENCE_MS, "asking").catch(() => undefined);
  }
}
