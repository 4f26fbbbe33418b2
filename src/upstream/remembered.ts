import { PrivateFolder } from "../core/private-folder.ts";

const FILE = "eras.json";
/** A server may be updated meanwhile, and one that speaks more than it did goes on answering as before. */
const KEPT_MS = 24 * 3600 * 1000;
const MAX_KEPT = 1000;

/** The two families of revisions of MCP: `initialize`, or `server/discover` (from 2026-07-28). */
export type Era = "legacy" | "modern";
export type RemoteProtocol = "http" | "sse";

/** What a connection has found out about a server. */
export interface Finding {
  readonly era: Era | undefined;
  /** What worked where the definition does not say. */
  readonly protocol: RemoteProtocol | undefined;
}

export interface RememberedOptions {
  /** Where sign-ins are kept; `undefined`: nowhere, so there are none. */
  readonly dataDir?: string | undefined;
  /** Where findings are kept for other bridges; `undefined`: for this one alone. */
  readonly cacheDir?: string | undefined;
  readonly now?: () => number;
}

interface Kept extends Finding {
  readonly at: number;
}

/**
 * What connections find out about servers, for the next connection, for a day. Keys are fingerprints of definitions. On
 * disk it is one small file, which bridges share without a lock: what one of them loses is found out again.
 */
export class Remembered {
  readonly dataDir: string | undefined;
  readonly #cacheDir: string | undefined;
  readonly #now: () => number;
  #kept = new Map<string, Kept>();
  #loading: Promise<void> | undefined;

  constructor({ dataDir, cacheDir, now = Date.now }: RememberedOptions) {
    this.dataDir = dataDir;
    this.#cacheDir = cacheDir;
    this.#now = now;
  }

  async find(fingerprint: string): Promise<Finding> {
    await this.#load();
    const kept = this.#kept.get(fingerprint);
    const isFresh = kept !== undefined && this.#now() - kept.at < KEPT_MS && kept.at <= this.#now();
    return isFresh ? kept : { era: undefined, protocol: undefined };
  }

  /** Keeps a finding that is new; `undefined` forgets. */
  async keep(fingerprint: string, finding: Finding | undefined): Promise<void> {
    const { era, protocol } = await this.find(fingerprint);
    if (finding?.era === era && finding?.protocol === protocol) return;
    this.#kept.delete(fingerprint);
    if (finding !== undefined) {
      this.#kept.set(fingerprint, { era: finding.era, protocol: finding.protocol, at: this.#now() });
    }
    for (const oldest of [...this.#kept.keys()].slice(0, -MAX_KEPT)) this.#kept.delete(oldest);
    await this.#save();
  }

  #load(): Promise<void> {
    this.#loading ??= this.#read();
    return this.#loading;
  }

  async #read(): Promise<void> {
    const text =
      this.#cacheDir === undefined ? undefined : await (await PrivateFolder.open(this.#cacheDir))?.read(FILE);
    this.#kept = new Map(parse(text).slice(-MAX_KEPT));
  }

  async #save(): Promise<void> {
    if (this.#cacheDir === undefined) return;
    const folder = await PrivateFolder.open(this.#cacheDir);
    const text = JSON.stringify({ version: 1, servers: Object.fromEntries(this.#kept) });
    await folder?.write(FILE, `${text}\n`).catch(() => undefined); // a full disk costs a round trip, not a server
  }
}

/** By hand: this is loaded at every start, and zod takes longer than all the rest. */
function parse(text: string | undefined): [string, Kept][] {
  try {
    const { version, servers } = JSON.parse(text ?? "{}") as { version?: unknown; servers?: object };
    if (version !== 1 || servers === undefined) return [];
    return Object.entries(servers as Readonly<Record<string, Partial<Record<keyof Kept, unknown>>>>).flatMap(
      ([fingerprint, { era, protocol, at }]) =>
        typeof at !== "number"
          ? []
          : [
              [
                fingerprint,
                {
                  era: era === "legacy" || era === "modern" ? era : undefined,
                  protocol: protocol === "http" || protocol === "sse" ? protocol : undefined,
                  at,
                },
              ] as [string, Kept],
            ],
    );
  } catch {
    return []; // half a file, or another version's
  }
}
