import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../src/core/log.ts";
import type {
  Discovery,
  RemoteServer,
  ServerDefinition,
  StdioServer,
} from "../../src/discovery/server-definition.ts";
import type { HostTools } from "../../src/kernel/host-tools.ts";
import type { Clock } from "../../src/upstream/clock.ts";
import { createUpstream, type Upstream, type UpstreamOptions } from "../../src/upstream/upstream.ts";
import type { Script } from "../fixtures/servers/scripted-server.ts";
import { until as untilTrue } from "../helpers/until.ts";

export const SERVERS = join(import.meta.dir, "../fixtures/servers");
const SCRIPTED = join(SERVERS, "scripted-server.ts");

/** The environment of a bridge that a person started. */
export const ENV = { PATH: process.env["PATH"] ?? "", HOME: "/home/u" };

type Settings = Partial<StdioServer>;

/** A definition as discovery gives it. */
export function define(name: string, settings: Settings): ServerDefinition {
  return {
    name,
    alias: name.replaceAll("-", "_"),
    description: "",
    transport: { kind: "stdio", command: process.execPath, args: [], env: {}, cwd: undefined, ...settings },
    availability: { kind: "usable" },
    tools: { allow: undefined, deny: [] },
    startMs: undefined,
    callMs: undefined,
    origins: [{ client: "sandpy", scope: "user", file: "/home/u/MCPs/all.json", key: name }],
    fingerprint: name,
    sources: [],
    pin: "",
  };
}

/** A server that is reached by URL. */
export function remote(name: string, url: string, settings: Partial<RemoteServer> = {}): ServerDefinition {
  const headers = {};
  const transport = {
    kind: "remote",
    protocol: "auto",
    url,
    headers,
    oauth: undefined,
    ...settings,
  } as const;
  return { ...define(name, {}), transport, fingerprint: `${name} ${url}` };
}

/** The scripted server under a name. */
export function scripted(name: string, script: Script, settings: Settings = {}): ServerDefinition {
  return define(name, { args: [SCRIPTED, JSON.stringify(script)], ...settings });
}

/** The scripted server behind a shell that stays in between. */
export function wrapped(name: string, script: Script): ServerDefinition {
  const args = [process.execPath, SCRIPTED, JSON.stringify(script)];
  return define(name, { command: join(SERVERS, "wrapper.sh"), args });
}

/** An upstream whose servers a test may change, with everything that it logged. */
export interface Rig extends AsyncDisposable {
  /** The upstream, and what one session may ask of it. */
  readonly upstream: Upstream & HostTools;
  readonly logged: string[];
  /** What discovery finds from now on. */
  discovery: Discovery;
}

export function createRig(servers: readonly ServerDefinition[], options: Partial<UpstreamOptions> = {}): Rig {
  const logged: string[] = [];
  const upstream = createUpstream({
    discover: async () => rig.discovery,
    env: ENV,
    log: createLog("DEBUG", (line) => logged.push(line)),
    ...options,
    limits: { stopGraceMs: 200, ...options.limits },
  });
  const rig: Rig = {
    upstream: Object.assign(upstream, upstream.openSession()),
    logged,
    discovery: { servers, problems: [] },
    [Symbol.asyncDispose]: () => rig.upstream.close(),
  };
  return rig;
}

/** A signal for calls that are expected to end by themselves. */
export function soon(ms = 15_000): AbortSignal {
  return AbortSignal.timeout(ms);
}

/** What a promise rejects with, as plain data. */
export async function faultOf(
  promise: Promise<unknown>,
): Promise<{ code: unknown; message: string; hint: unknown }> {
  const error = await promise.then(
    () => new Error("it resolved"),
    (reason: Error & { code?: unknown; hint?: unknown }) => reason,
  );
  const { code, message, hint } = error as Error & { code?: unknown; hint?: unknown };
  return { code, message, hint };
}

/** Waits for a condition; the deadline only ends a test that fails. */
export function until(condition: () => boolean, ms = 10_000): Promise<void> {
  return untilTrue(String(condition), condition, ms);
}

/** Aborts as a timeout does, `ms` after `condition` first holds: what has to come before may take as long as it likes. */
export function soonAfter(condition: () => boolean, ms: number): AbortSignal {
  const late = new AbortController();
  const end = () => late.abort(new DOMException("the time is over", "TimeoutError"));
  void until(condition).then(
    () => setTimeout(end, ms),
    (error: unknown) => late.abort(error),
  );
  return late.signal;
}

/** A file for a scripted server to write what it receives, and its lines so far. */
export function createJournal(): Disposable & { readonly path: string; lines(): string[] } {
  const folder = mkdtempSync(join(tmpdir(), "sandpy-journal-"));
  const path = join(folder, "journal");
  return {
    path,
    lines: () => {
      try {
        return readFileSync(path, "utf8").trimEnd().split("\n");
      } catch {
        return []; // not written yet
      }
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A clock that stands still, and sleeps by moving on. */
export function createClock(): Clock & { time: number; readonly slept: number[] } {
  return {
    time: 1000,
    slept: [],
    now() {
      return this.time;
    },
    async sleep(ms) {
      this.slept.push(ms);
      this.time += ms;
    },
  };
}

/** The processes that have `text` in their arguments, without those that are dead and only not yet collected. */
export function livingWith(text: string): string[] {
  const { stdout } = Bun.spawnSync(["ps", "-e", "-ww", "-o", "stat=,args="]);
  return stdout
    .toString()
    .split("\n")
    .filter((line) => line.includes(text) && !line.startsWith("Z"));
}
