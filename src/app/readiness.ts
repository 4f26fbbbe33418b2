import { type ErrorCode, toBridgeError } from "../core/errors.ts";
import { withDeadline } from "../core/lifecycle.ts";
import type { LauncherProbe } from "./kernel-launcher.ts";
import type { PoolState } from "./warm-pool.ts";

/** Probes come every few seconds from several sides; the engine is asked once for all of them. */
const KEEP_MS = 3000;
const PROBE_DEADLINE_MS = 8000;

export interface ReadinessPorts {
  /** Asks the engine. Rejects with a BridgeError where there is none, or it does not answer. */
  readonly probe: (signal: AbortSignal) => Promise<LauncherProbe>;
  readonly pool: () => PoolState;
  /** Has the pool try again to make a sandbox ready. */
  readonly warm: () => void;
  /** Whether no new work is taken any more. */
  readonly isDraining: () => boolean;
  readonly keepMs?: number;
}

/** One thing that must be right; `code` says what is not, as in the table of errors. */
interface Check {
  readonly ok: boolean;
  readonly code?: ErrorCode | "IMAGE_MISSING";
}

/** What `/readyz` answers. No names, paths or words of the engine: whoever may see the port may see this. */
export interface ReadinessReport {
  readonly ready: boolean;
  readonly checks: {
    readonly engine: Check & { readonly name?: string };
    readonly image: Check;
    readonly pool: Check & { readonly spare: PoolState["spare"] };
    readonly serving: Check;
  };
}

/** Whether a run would find what it needs: asked anew after 3 s, and never twice at once. */
export interface Readiness {
  report(): Promise<ReadinessReport>;
  /** The report as JSON: 200 when all is right, else 503. */
  respond(): Promise<Response>;
}

export function createReadiness(ports: ReadinessPorts): Readiness {
  const { keepMs = KEEP_MS } = ports;
  let asked: Promise<Pick<ReadinessReport["checks"], "engine" | "image">> | undefined;
  let askedAt = 0;
  let isOpen = false;

  const ask = () => {
    const isStale = performance.now() - askedAt > keepMs;
    if (asked === undefined || (isStale && !isOpen)) {
      isOpen = true;
      asked = askEngine(ports).finally(() => {
        isOpen = false;
        askedAt = performance.now();
      });
      // A pool whose last start failed tries again only when a run comes, and none comes while we are not ready.
      if (ports.pool().failure !== undefined && !ports.isDraining()) ports.warm();
    }
    return asked;
  };

  const report = async (): Promise<ReadinessReport> => {
    const { engine, image } = await ask();
    const { spare, failure } = ports.pool();
    const pool = { ok: failure === undefined, spare, ...(failure === undefined ? {} : { code: failure }) };
    const serving = { ok: !ports.isDraining() };
    const checks = { engine, image, pool, serving };
    return { ready: Object.values(checks).every(({ ok }) => ok), checks };
  };

  return {
    report,
    async respond() {
      const found = await report();
      return Response.json(found, {
        status: found.ready ? 200 : 503,
        headers: { "cache-control": "no-store" },
      });
    },
  };
}

async function askEngine({
  probe,
}: ReadinessPorts): Promise<Pick<ReadinessReport["checks"], "engine" | "image">> {
  const deadline = AbortSignal.timeout(PROBE_DEADLINE_MS);
  try {
    const { engine, hasImage } = await withDeadline(
      probe(deadline),
      PROBE_DEADLINE_MS,
      "asking the engine",
      "ENGINE_TIMEOUT",
    );
    return {
      engine: { ok: true, name: engine },
      image: hasImage ? { ok: true } : { ok: false, code: "IMAGE_MISSING" },
    };
  } catch (error) {
    const code = deadline.aborted ? "ENGINE_TIMEOUT" : toBridgeError(error).code;
    return { engine: { ok: false, code }, image: { ok: false, code } };
  }
}

/** Answers `/healthz`: whoever gets this knows that the process is alive, and nothing else. */
export function respondAlive(): Response {
  return new Response("ok\n", {
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  });
}
