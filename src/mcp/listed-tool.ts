import { withDeadline } from "../core/lifecycle.ts";
import { describeRunPython } from "./tool-description.ts";

/** A client waits for `tools/list` before anything else: what is not known by then is said later. */
const WAIT_MS = 150;
/** How often it is looked whether the servers have changed, once a client has seen them. */
const LOOK_MS = 5000;

/** The usable servers, for the description of the tool; `app` joins it to the upstream. */
export interface ServerNames {
  /** Their aliases in order of precedence, read from files or as they were read last. */
  read(): Promise<readonly string[]>;
  /** Calls `listener` with the aliases after each reading; returns how to stop that. */
  onRead(listener: (aliases: readonly string[]) => void): () => void;
}

export const NO_SERVERS: ServerNames = { read: async () => [], onRead: () => () => undefined };

/** The description of `run_python` for one client, which is told when it is another than the one that it saw last. */
export class ListedTool {
  readonly #names: ServerNames;
  readonly #onChange: () => void;
  #stop: () => void = () => undefined;
  #isClosed = false;
  #aliases: readonly string[] | undefined;
  #seen: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Begins to find out what the servers are, once what is answered now is answered. */
  constructor(names: ServerNames, onChange: () => void) {
    this.#names = names;
    this.#onChange = onChange;
    setImmediate(() => {
      if (this.#isClosed) return;
      this.#stop = names.onRead((aliases) => this.#take(aliases));
      void this.#look();
    });
  }

  /** The description as far as it is known now; waits for the servers, but not long. */
  async describe(): Promise<string> {
    await withDeadline(this.#look(), WAIT_MS, "reading the servers").catch(() => undefined); // then without them
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref();
    this.#seen = describeRunPython(this.#aliases);
    return this.#seen;
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const aliases = await this.#names.read().catch(() => undefined); // what is known stays
    if (aliases !== undefined) this.#take(aliases);
  }

  #take(aliases: readonly string[]): void {
    this.#aliases = aliases;
    if (this.#seen === undefined || this.#seen === describeRunPython(aliases)) return;
    this.#seen = undefined; // told once, until it has looked
    this.#onChange();
  }
}
