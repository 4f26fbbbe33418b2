import type { Discovery } from "../discovery/server-definition.ts";
import type { ServerNames } from "../mcp/listed-tool.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { RememberedNames } from "./remembered-names.ts";

/** Whoever has the names waits for nothing; what is wrong in the files is said, and what has changed is told, this much later. */
const READ_DELAY_MS = 500;

export interface ServerNamesOptions {
  /** Called when somebody asks for the names, and not before. */
  readonly loadUpstream: () => Promise<Upstream>;
  /** Where names are kept from one bridge to the next. */
  readonly remembered: RememberedNames;
  /** Nothing is read by itself any more once it is aborted. */
  readonly signal: AbortSignal;
  /** 500 by default. */
  readonly readDelayMs?: number;
}

/**
 * What the description of `run_python` names: the usable servers. As long as the files are as they were at the last reading,
 * which may have been another bridge's, their names are known without one. They are read soon after in any case, or when
 * somebody needs a server.
 */
export function createServerNames({
  loadUpstream,
  remembered,
  signal,
  readDelayMs = READ_DELAY_MS,
}: ServerNamesOptions): ServerNames {
  const listeners = new Set<(aliases: readonly string[]) => void>();
  let isRead = false;
  let opening: Promise<Upstream> | undefined;
  const open = async () => {
    const upstream = await loadUpstream();
    upstream.onRead((discovery) => {
      isRead = true;
      const aliases = usableAliases(discovery);
      void remembered.keep(aliases, discovery.valueFiles ?? []);
      for (const listener of listeners) listener(aliases);
    });
    return upstream;
  };
  const read = async () => {
    opening ??= open();
    return usableAliases(await (await opening).definitions());
  };
  const readSoon = () => {
    const timer = setTimeout(() => {
      if (!isRead) void read().catch(() => undefined); // whoever needs them hears why
    }, readDelayMs);
    timer.unref();
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  };
  let recalled: Promise<readonly string[] | undefined> | undefined;
  const recall = async () => {
    opening ??= open();
    opening.catch(() => undefined); // as above
    const aliases = await remembered.find();
    if (aliases !== undefined && !signal.aborted) readSoon();
    return aliases;
  };
  return {
    async read() {
      if (isRead) return read();
      recalled ??= recall();
      return (await recalled) ?? read();
    },
    onRead(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function usableAliases({ servers }: Discovery): readonly string[] {
  return servers.filter(({ availability }) => availability.kind === "usable").map(({ alias }) => alias);
}
