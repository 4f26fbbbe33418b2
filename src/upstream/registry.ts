import { BridgeError } from "../core/errors.ts";
import type { Discovery, ServerDefinition } from "../discovery/server-definition.ts";
import { listNames, nearestNames } from "./names.ts";

const MAX_LISTED_SERVERS = 10;

/** The definitions as they were read last. */
export class Registry {
  readonly #discover: () => Promise<Discovery>;
  readonly #onRead: (discovery: Discovery) => void;
  #current: Promise<Discovery> | undefined;
  #refreshing: Promise<Discovery> | undefined;

  constructor(discover: () => Promise<Discovery>, onRead: (discovery: Discovery) => void) {
    this.#discover = discover;
    this.#onRead = onRead;
  }

  current(): Promise<Discovery> {
    return this.#current ?? this.refresh();
  }

  /** One reading serves all who ask while it is under way. */
  refresh(): Promise<Discovery> {
    this.#refreshing ??= this.#read().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** A server by name or alias; an unknown one is looked for in the files once more. */
  async find(wanted: string): Promise<ServerDefinition> {
    const isFirst = this.#current === undefined;
    const read = await this.current();
    const known = findServer(read, wanted);
    if (known !== undefined) return known;
    const discovery = isFirst ? read : await this.refresh();
    const found = findServer(discovery, wanted);
    if (found === undefined) throw unknownServer(wanted, discovery);
    return found;
  }

  async #read(): Promise<Discovery> {
    const discovery = await this.#discover();
    this.#current = Promise.resolve(discovery);
    this.#onRead(discovery);
    return discovery;
  }
}

function findServer({ servers }: Discovery, wanted: string): ServerDefinition | undefined {
  return servers.find(({ name }) => name === wanted) ?? servers.find(({ alias }) => alias === wanted);
}

function unknownServer(wanted: string, { servers, problems }: Discovery): BridgeError {
  const names = servers.map(({ name }) => name);
  const [near] = nearestNames(wanted, names, 1);
  const guess = near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`;
  const known =
    names.length === 0 ? "none is configured." : `the servers are ${listNames(names, MAX_LISTED_SERVERS)}.`;
  const faulty = problems.length === 1 ? "One definition has" : `${problems.length} definitions have`;
  const excuse = problems.length === 0 ? "" : ` ${faulty} a fault and may be missing for it.`;
  const message = `no server is called ${JSON.stringify(wanted)}: ${known}${guess}${excuse}`;
  return new BridgeError("UPSTREAM_UNKNOWN_SERVER", message, {
    hint: `${names.length === 0 ? "Ask" : "Use one of these names, or ask"} the user to define the server in a file of ~/MCPs.`,
    data: { server: wanted },
  });
}
