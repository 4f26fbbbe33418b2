import { createHash } from "node:crypto";
import type { Config } from "../config/config.ts";
import { PrivateFolder } from "../core/private-folder.ts";
import { COMMIT, VERSION } from "../core/version.ts";

const FILE = "names.json";
/** Projects and clients that a person goes back and forth between. */
const MAX_PLACES = 32;
/** What takes more is read anew at each start. */
const MAX_PLACE_CHARS = 64 * 1024;

interface RememberedNamesOptions {
  /** All of it but the environment tells one place from another: the same project with other settings has other servers. */
  readonly config: Config;
  /** Another text after each change of a file that decides which servers there are; `valueFiles` are some of them. */
  readonly stamp: (valueFiles: readonly string[]) => Promise<string>;
}

interface Place {
  readonly stamp: string;
  readonly aliases: readonly string[];
  readonly valueFiles: readonly string[];
}

/**
 * What the usable servers were called when their files were read last, for the next bridge: so that it names a thousand
 * servers at once, and reads what they are when somebody needs one. Only the names are kept, and what tells whether the
 * files are still the same. On disk it is one small file, which bridges share without a lock: what one of them loses is
 * read again. What the environment of a bridge changes is not noticed here; whoever asks reads the files soon in any case.
 */
export class RememberedNames {
  readonly #options: RememberedNamesOptions;
  readonly #place: string;

  constructor(options: RememberedNamesOptions) {
    this.#options = options;
    const { env: _, ...settings } = options.config;
    this.#place = digest(JSON.stringify([VERSION, COMMIT, settings]));
  }

  /** The aliases, where no file has changed since they were kept. Never rejects. */
  async find(): Promise<readonly string[] | undefined> {
    const known = (await this.#load()).get(this.#place);
    if (known === undefined) return undefined;
    const stamp = await this.#stamp(known.valueFiles);
    return stamp !== undefined && stamp === known.stamp ? known.aliases : undefined;
  }

  /** Keeps what the files say now. Never rejects. */
  async keep(aliases: readonly string[], valueFiles: readonly string[]): Promise<void> {
    const isLong = JSON.stringify([aliases, valueFiles]).length > MAX_PLACE_CHARS;
    const places = await this.#load();
    const known = places.get(this.#place);
    if (isLong && known === undefined) return;
    const stamp = isLong ? undefined : await this.#stamp(valueFiles);
    if (stamp !== undefined && stamp === known?.stamp && isSame(aliases, known.aliases)) return;
    places.delete(this.#place);
    if (stamp !== undefined) places.set(this.#place, { stamp, aliases, valueFiles });
    for (const oldest of [...places.keys()].slice(0, -MAX_PLACES)) places.delete(oldest);
    await this.#save(places);
  }

  /** `undefined` where the files cannot be looked at: they are read then, which says why. */
  async #stamp(valueFiles: readonly string[]): Promise<string | undefined> {
    return this.#options.stamp(valueFiles).then(digest, () => undefined);
  }

  async #load(): Promise<Map<string, Place>> {
    const folder = await PrivateFolder.open(this.#options.config.cacheDir);
    return new Map(parse(await folder?.read(FILE)));
  }

  async #save(places: ReadonlyMap<string, Place>): Promise<void> {
    const folder = await PrivateFolder.open(this.#options.config.cacheDir);
    const text = JSON.stringify({ version: 1, places: Object.fromEntries(places) });
    await folder?.write(FILE, `${text}\n`).catch(() => undefined); // a full disk costs some milliseconds at a start
  }
}

/** Those of these settings, kept in our folder. */
export function rememberNames(config: Config): RememberedNames {
  const stamp = async (valueFiles: readonly string[]) => {
    const { createStamp } = await import("../discovery/stamp.ts"); // it knows the files of all clients
    return createStamp(config, () => valueFiles)();
  };
  return new RememberedNames({ config, stamp });
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at]);
}

/** By hand: this is read at every start. */
function parse(text: string | undefined): readonly [string, Place][] {
  try {
    const { version, places } = JSON.parse(text ?? "{}") as { version?: unknown; places?: object };
    if (version !== 1 || places === undefined) return [];
    return Object.entries(places as Readonly<Record<string, Partial<Record<keyof Place, unknown>>>>).flatMap(
      ([place, { stamp, aliases, valueFiles }]) =>
        typeof stamp === "string" && isTexts(aliases) && isTexts(valueFiles)
          ? [[place, { stamp, aliases, valueFiles }] as [string, Place]]
          : [],
    );
  } catch {
    return []; // half a file, or another version's
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
