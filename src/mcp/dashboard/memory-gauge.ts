import type { SessionControl } from "./port.ts";
import { Turn } from "./turn.ts";

/** Newer than this is new enough. */
const PAUSE_MS = 3000;

/** What sandboxes hold, asked only while somebody looks, and for all who look at once. */
export class MemoryGauge {
  readonly #sessions: Pick<SessionControl, "memoryBytes">;
  readonly #bytes = new Map<string, number>();
  readonly #turn = new Turn(PAUSE_MS);

  constructor(sessions: Pick<SessionControl, "memoryBytes">) {
    this.#sessions = sessions;
  }

  /** Asks again where that is due. `sessionIds`: all that have a sandbox. Never rejects. */
  async refresh(sessionIds: readonly string[]): Promise<void> {
    // No pause begins where nobody was asked: the first sandbox is seen at once.
    if (sessionIds.length > 0) await this.#turn.take(() => this.#read(sessionIds));
  }

  memoryBytes(sessionId: string): number | undefined {
    return this.#bytes.get(sessionId);
  }

  async #read(sessionIds: readonly string[]): Promise<void> {
    const wanted = new Set(sessionIds);
    for (const id of this.#bytes.keys()) if (!wanted.has(id)) this.#bytes.delete(id);
    await Promise.all(
      sessionIds.map(async (id) => {
        const bytes = await this.#sessions.memoryBytes(id).catch(() => undefined);
        if (bytes !== undefined) this.#bytes.set(id, bytes);
      }),
    );
  }
}
