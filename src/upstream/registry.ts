import { BridgeError } from "../core/errors.ts";
import { outsideRuns } from "../core/run-context.ts";
import type { Discovery, ServerDefinition } from "../discovery/server-definition.ts";
import type { Clock } from "./clock.ts";
import { listNames, nearestNames } from "./names.ts";

const MAX_LISTED_SERVERS = 10;
/** Between two looks at the files: who edits one by hand cannot be faster, and many short calls pay for one look. */
const LOOK_PAUSE_MS = 200;

export interface RegistryOptions {
  /** Reads the configuration files. */
  readonly discover: () => Promise<Discovery>;
  /** Another text after each change of what `discover` reads; cheap. Absent: nobody can tell, so it is read again. */
  readonly stamp?: (() => Promise<string>) | undefined;
  readonly onRead: (discovery: Discovery) => void;
  readonly clock: Pick<Clock, "now">;
}

/** The definitions as they were read last. They are read again when the files have changed. */
export class Registry {
  readonly #options: RegistryOptions;
  #current: Promise<Discovery> | undefined;
  /** What it has resolved with. */
  #known: Discovery | undefined;
  #refreshing: Promise<Discovery> | undefined;
  #looking: Promise<Discovery> | undefined;
  #stamp: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #readings = 0;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** How often the files were read: what was found holds as long as this is the same. */
  get readings(): number {
    return this.#readings;
  }

  /** All definitions. Looks whether the files have changed, unless it did a moment ago. */
  current(): Promise<Discovery> {
    const { stamp, clock } = this.#options;
    if (this.#current === undefined) return this.refresh();
    if (stamp === undefined || clock.now() - this.#lookedAt < LOOK_PAUSE_MS) return this.#current;
    return this.#look();
  }

  /** One reading serves all who ask while it is under way. */
  refresh(): Promise<Discovery> {
    this.#refreshing ??= outsideRuns(() => this.#read()).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /**
   * A server by name or alias. For one that is unknown or may not be used the files are looked at once more: the user
   * may just have changed that. Does not wait for the files otherwise.
   */
  async find(wanted: string): Promise<ServerDefinition> {
    return this.findUsable(wanted) ?? this.findOther(wanted);
  }

  /** The same for one that {@link findUsable} has not found: that is not tried again. */
  async findOther(wanted: string): Promise<ServerDefinition> {
    const found = findServer(await (this.#current === undefined ? this.refresh() : this.#look()), wanted);
    if (found === undefined) throw unknownServer(wanted, await this.current());
    return found;
  }

  /** The same for one that is known to be usable, without waiting for anything. */
  findUsable(wanted: string): ServerDefinition | undefined {
    const known = this.#known === undefined ? undefined : findServer(this.#known, wanted);
    if (known === undefined || !isUsable(known)) return undefined;
    void this.current().catch(() => undefined); // one that is gone or forbidden by now ends soon
    return known;
  }

  #look(): Promise<Discovery> {
    this.#looking ??= this.#readIfChanged().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #readIfChanged(): Promise<Discovery> {
    const { stamp, clock } = this.#options;
    const now = await stamp?.();
    this.#lookedAt = clock.now();
    const isSame = now !== undefined && now === this.#stamp && this.#current !== undefined;
    return isSame && this.#current !== undefined ? this.#current : this.refresh();
  }

  async #read(): Promise<Discovery> {
    const { discover, stamp, onRead, clock } = this.#options;
    // Taken before: a change while it reads is seen at the next look.
    this.#stamp = await stamp?.();
    const discovery = await discover();
    this.#current = Promise.resolve(discovery);
    this.#known = discovery;
    this.#readings += 1;
    this.#lookedAt = clock.now();
    onRead(discovery);
    return discovery;
  }
}

function findServer({ servers }: Discovery, wanted: string): ServerDefinition | undefined {
  return servers.find(({ name }) => name === wanted) ?? servers.find(({ alias }) => alias === wanted);
}

function isUsable({ availability }: ServerDefinition): boolean {
  return availability.kind === "usable";
}

function unknownServer(wanted: string, { servers, problems }: Discovery): BridgeError {
  const namesOf = (some: readonly ServerDefinition[]) => some.map(({ name }) => name);
  const usable = namesOf(servers.filter(isUsable));
  const others = namesOf(servers.filter((server) => !isUsable(server)));
  const [near = nearestNames(wanted, others, 1)[0]] = nearestNames(wanted, usable, 1);
  const guess = near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`;
  const known =
    usable.length === 0
      ? `${others.length === 0 ? "none is configured" : "none can be used"}.`
      : `the servers are ${listNames(usable, MAX_LISTED_SERVERS)}.`;
  const rest =
    others.length === 0
      ? ""
      : ` ${others.length} more cannot be used: ${listNames(others, MAX_LISTED_SERVERS)}.`;
  const faults = problems.filter(({ isNote }) => isNote !== true).length;
  const faulty = faults === 1 ? "One definition has" : `${faults} definitions have`;
  const excuse = faults === 0 ? "" : ` ${faulty} a fault and may be missing for it.`;
  const message = `no server is called ${JSON.stringify(wanted)}: ${known}${rest}${guess}${excuse}`;
  return new BridgeError("UPSTREAM_UNKNOWN_SERVER", message, {
    hint: `${usable.length === 0 ? "" : "Use one of these names. "}The user can define others in a file of ~/MCPs.`,
    data: { server: wanted },
  });
}
