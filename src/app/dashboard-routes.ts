import type { BridgeEvents } from "../core/bridge-events.ts";
import { type Caller, LOCAL_CALLER } from "../core/caller.ts";
import type { Closable } from "../core/lifecycle.ts";
import type { Log } from "../core/log.ts";
import { createDashboard, type Dashboard } from "../mcp/dashboard/dashboard.tsx";
import type { SessionControl } from "../mcp/dashboard/port.ts";
import type { HttpRoutes } from "../mcp/http/http-env.ts";
import type { SessionHandles } from "../session/handles.ts";
import type { Upstream } from "../upstream/upstream.ts";

export interface DashboardRoutesOptions {
  readonly events: BridgeEvents;
  readonly handles: Pick<SessionHandles, "byId" | "drop">;
  readonly upstream: Pick<Upstream, "health">;
  /** Names of tokens, or whole ids, of those who see the sessions of all. */
  readonly admins: readonly string[];
  readonly log: Log;
}

/** Closing ends what the pages hear. */
export interface DashboardRoutes extends Closable {
  readonly routes: HttpRoutes;
}

/** The dashboard, joined with what it shows. The caller closes it. */
export function createDashboardRoutes(options: DashboardRoutesOptions): DashboardRoutes {
  const { events, handles, upstream, admins, log } = options;
  const dashboards: Dashboard[] = [];
  const close = async () => {
    await Promise.all(dashboards.map((dashboard) => dashboard.close()));
  };
  return {
    routes(app, { isAuthRequired, identify }) {
      const dashboard = createDashboard({
        source: { events, sessions: createControl(handles), servers: () => upstream.health() },
        access: { isAuthRequired, identify, isAdmin: (caller) => isAdmin(caller, admins) },
        log,
      });
      dashboards.push(dashboard);
      app.route("/", dashboard.app);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A subject of an issuer is meant only by the whole id: which name it has there, others may choose. */
function isAdmin({ id }: Caller, admins: readonly string[]): boolean {
  return id === LOCAL_CALLER.id || admins.some((admin) => id === admin || id === `token:${admin}`);
}

function createControl(handles: DashboardRoutesOptions["handles"]): SessionControl {
  return {
    async act(sessionId, action) {
      const found = handles.byId(sessionId);
      if (found === undefined) return false;
      switch (action) {
        case "interrupt":
          return found.session.interrupt();
        case "reset":
          await found.session.reset();
          return true;
        case "end":
          await handles.drop(found.handle, "ended");
          return true;
      }
    },
    memoryBytes: async (sessionId) => handles.byId(sessionId)?.session.measure(),
  };
}
