import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { childDepthVariables } from "../config/depth.ts";
import type { BridgeEvents } from "../core/bridge-events.ts";
import type { Log } from "../core/log.ts";
import type { Tracing } from "../core/tracing.ts";
import { createUpstream, type Upstream } from "../upstream/upstream.ts";

export interface UpstreamPorts {
  readonly log: Log;
  /** The binary itself, so that a configuration that names it is not started; absent when run from source. */
  readonly selfPath?: string | undefined;
  /** Who is told of calls; absent: nobody. */
  readonly events?: BridgeEvents;
  /** Where calls are traced; absent: nowhere. */
  readonly tracing?: Tracing | undefined;
}

/** The upstream servers as the settings say. The caller closes it. */
export function openUpstream(config: Config, { log, selfPath, events, tracing }: UpstreamPorts): Upstream {
  let valueFiles: readonly string[] = [];
  let stamp: Promise<() => Promise<string>> | undefined;
  // What knows the files of all clients is loaded at its first use: the first container must not wait for it.
  const loadStamp = async () => {
    const { createStamp } = await import("../discovery/stamp.ts");
    return createStamp(config, () => valueFiles);
  };
  return createUpstream({
    discover: async () => {
      const { discover } = await import("../discovery/discover.ts");
      const discovery = await discover(config, { selfPath });
      valueFiles = discovery.valueFiles ?? [];
      return discovery;
    },
    stamp: async () => {
      stamp ??= loadStamp();
      return (await stamp)();
    },
    env: config.env,
    childEnv: childDepthVariables(config.env),
    catalogueDir: catalogueFolder(config),
    dataDir: config.dataDir,
    cacheDir: config.cacheDir,
    addable: config.addServers,
    maxCalls: config.policy.maxCalls,
    approvalMs: config.policy.approvalTimeoutMs,
    audit: config.audit,
    idleMs: config.upstreamIdleTimeoutMs,
    log,
    events,
    tracing,
  });
}

/** Where the tools of servers are remembered. */
export function catalogueFolder({ cacheDir }: Config): string {
  return join(cacheDir, "tools");
}
