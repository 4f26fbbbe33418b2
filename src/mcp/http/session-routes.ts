import type { Context } from "hono";
import type { ErrorCode } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { VERSION } from "../../core/version.ts";
import type { SessionAction } from "../dashboard/port.ts";
import type { SessionBoard } from "../dashboard/session-board.ts";
import type { SessionView } from "../dashboard/view.ts";
import type { HttpEnv, HttpRoutes } from "./http-env.ts";
import {
  type Acted,
  SERVER_NAME,
  SESSIONS_PATH,
  type SessionList,
  type SessionSummary,
} from "./session-api.ts";

const SERVER = { name: SERVER_NAME, version: VERSION } as const;
const MAX_LINE_CHARS = 200;
const MAX_QUOTED_CHARS = 48;
const NOT_KEPT = { "cache-control": "no-store" } as const;

/**
 * `/api/sessions`, for the command line: lists the caller's sessions, and interrupts, resets and ends them; an admin's are
 * all. Handles are in none of it. Closing the board is up to whoever made it.
 */
export function createSessionRoutes(board: SessionBoard, log: Log): HttpRoutes {
  return (app, { authenticated }) => {
    app.get(SESSIONS_PATH, authenticated, async (c) => {
      await board.memory.refresh(board.sandboxes());
      const now = Date.now();
      const sessions = board.sessionsOf(c.get("caller")).map((view) => summarize(view, board, now));
      return c.json({ server: SERVER, sessions } satisfies SessionList, 200, NOT_KEPT);
    });
    app.delete(`${SESSIONS_PATH}/:id`, authenticated, (c) => act(c, c.req.param("id"), "end"));
    app.post(`${SESSIONS_PATH}/:id/:action{interrupt|reset}`, authenticated, (c) =>
      act(c, c.req.param("id"), c.req.param("action") === "reset" ? "reset" : "interrupt"),
    );
  };

  async function act(c: Context<HttpEnv>, id: string, action: SessionAction): Promise<Response> {
    c.env?.keepOpen?.(); // an engine may take its time to stop a sandbox
    try {
      const outcome = await board.act(c.get("caller"), id, action);
      if (outcome === "unknown") {
        const shown = JSON.stringify(id.length > MAX_QUOTED_CHARS ? `${id.slice(0, MAX_QUOTED_CHARS)}…` : id);
        return fail(c, 404, "SESSION_UNKNOWN", `there is no session ${shown}`);
      }
      return c.json({ server: SERVER, id, done: outcome === "done" } satisfies Acted, 200, NOT_KEPT);
    } catch (error) {
      log.warning("could not act on a session", { session: id, action, error: String(error) });
      return fail(c, 500, "INTERNAL", "that did not work; the server's log says why");
    }
  }
}

function fail(c: Context<HttpEnv>, status: 404 | 500, code: ErrorCode, message: string): Response {
  return c.json({ error: { code, message } }, status, NOT_KEPT);
}

function summarize(view: SessionView, board: SessionBoard, now: number): SessionSummary {
  const { id, state, execution } = view;
  const isBusy = execution !== undefined && execution.outcome === undefined;
  const memory = view.hasSandbox ? board.memory.memoryBytes(id) : undefined;
  return {
    id,
    caller: view.callerName,
    caller_id: view.callerId,
    state: state === "no sandbox" ? "stopped" : state,
    memory_bytes: memory ?? null,
    age_seconds: secondsSince(view.openedAt, now),
    idle_seconds: state === "running" ? 0 : secondsSince(view.activeAt, now),
    executions: view.executions,
    waiting: view.queued,
    code: isBusy ? firstLine(execution.code) : null,
  };
}

/** The first line that says something. */
function firstLine(code: string): string {
  const line = /\S[^\r\n]*/.exec(code)?.[0].trimEnd() ?? "";
  return line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS - 1).toWellFormed()}…` : line;
}

/** Clocks are set back at times. */
function secondsSince(at: number, now: number): number {
  return Math.max(0, Math.round((now - at) / 1000));
}
