import { isLegacyRequest } from "@modelcontextprotocol/server";
import { BridgeError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { ResultRooms } from "../unread-results.ts";
import { within } from "../within.ts";
import type { Connect } from "./connection.ts";
import type { McpEndpoint, McpRequest } from "./http-app.ts";
import type { SharedServerOptions } from "./legacy-session.ts";
import { LegacySessions, type SessionLimits } from "./legacy-sessions.ts";
import { ModernEndpoint } from "./modern-endpoint.ts";
import { refuse } from "./refusal.ts";

const FIRST_MODERN_REVISION = "2026-07-28";
/** How long a cancelled run has to say how far it came. */
const CANCEL_MS = 750;

export interface McpEndpointOptions {
  readonly connect: Connect;
  readonly server: SharedServerOptions;
  readonly limits: SessionLimits;
  readonly onClient: () => void;
  readonly log: Log;
}

/** MCP over streamable HTTP in both eras at one address. The older HTTP with SSE is not served. */
export interface ClosableEndpoint extends McpEndpoint {
  /** Waits `graceMs` for what runs, less once `hurry` aborts, then cancels it, then ends everything. */
  close(graceMs: number, hurry: AbortSignal): Promise<void>;
}

export function createMcpEndpoint(options: McpEndpointOptions): ClosableEndpoint {
  const rooms = new ResultRooms();
  const legacy = new LegacySessions({ ...options, rooms });
  const modern = new ModernEndpoint({ ...options, rooms });
  const idle = async () => void (await Promise.all([legacy.idle(), modern.idle()]));
  return {
    async handle({ request, caller, body }: McpRequest) {
      const { method, headers } = request;
      if (method === "POST") {
        if (await isLegacyRequest(request, body)) return legacy.handle(request, caller, body);
        options.onClient();
        return modern.handle(request, caller, body);
      }
      const revision = headers.get("mcp-protocol-version") ?? "";
      const isModern = /^\d{4}-\d\d-\d\d$/.test(revision) && revision >= FIRST_MODERN_REVISION;
      if (isModern || (method !== "GET" && method !== "DELETE")) {
        const allow = isModern ? "POST" : "GET, POST, DELETE";
        return refuse(405, `${method} is not served here: send ${allow}`, { headers: { allow } });
      }
      return legacy.handle(request, caller, undefined);
    },
    async close(graceMs, hurry) {
      if (!(await within(idle(), graceMs, hurry))) {
        const reason = new BridgeError("CANCELLED", "the server is shutting down");
        legacy.cancel(reason);
        modern.cancel(reason);
        await within(idle(), CANCEL_MS);
      }
      await Promise.all([legacy.close(), modern.close()]);
    },
  };
}
