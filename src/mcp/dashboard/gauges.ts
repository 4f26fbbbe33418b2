import type { MemoryGauge } from "./memory-gauge.ts";
import type { DashboardSource, ServerHealth } from "./port.ts";
import { Turn } from "./turn.ts";

const SERVERS_PAUSE_MS = 1000;

/** What must be asked for, asked only while somebody looks, and for all who look at once. */
export class Gauges {
  readonly #memory: MemoryGauge;
  readonly #readServers: DashboardSource["servers"];
  #servers: readonly ServerHealth[] = [];
  readonly #serversTurn = new Turn(SERVERS_PAUSE_MS);

  constructor(memory: MemoryGauge, readServers: DashboardSource["servers"]) {
    this.#memory = memory;
    this.#readServers = readServers;
  }

  /** Brings up to date what is due. `sessionIds`: all that have a sandbox. Never rejects. */
  async refresh(sessionIds: readonly string[]): Promise<void> {
    await Promise.all([
      this.#memory.refresh(sessionIds),
      this.#serversTurn.take(async () => {
        this.#servers = await this.#readServers();
      }),
    ]);
  }

  memoryBytes(sessionId: string): number | undefined {
    return this.#memory.memoryBytes(sessionId);
  }

  get servers(): readonly ServerHealth[] {
    return this.#servers;
  }
}
