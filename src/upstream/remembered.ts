const ERA_MS = 24 * 3600 * 1000;

/** The two families of revisions of MCP: `initialize`, or `server/discover` (from 2026-07-28). */
export type Era = "legacy" | "modern";

/** Which era a server speaks, for a day: it may be updated meanwhile. */
export class Eras {
  readonly #known = new Map<string, { readonly era: Era; readonly at: number }>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  get(fingerprint: string): Era | undefined {
    const known = this.#known.get(fingerprint);
    return known !== undefined && this.#now() - known.at < ERA_MS ? known.era : undefined;
  }

  /** `undefined` forgets. */
  set(fingerprint: string, era: Era | undefined): void {
    if (era === undefined) this.#known.delete(fingerprint);
    else if (this.get(fingerprint) !== era) this.#known.set(fingerprint, { era, at: this.#now() });
  }
}

/** What connections find out about servers, for the next connection. Keys are fingerprints of definitions. */
export interface Remembered {
  readonly eras: Eras;
  /** The protocol that worked for a server whose definition does not say. */
  readonly protocols: Map<string, "http" | "sse">;
  /** Where sign-ins are kept; `undefined`: nowhere, so there are none. */
  readonly dataDir: string | undefined;
}

export function createRemembered(dataDir: string | undefined): Remembered {
  return { eras: new Eras(), protocols: new Map(), dataDir };
}
