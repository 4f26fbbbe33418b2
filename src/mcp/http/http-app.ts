import { randomBytes } from "node:crypto";
import { Hono } from "hono";
import { cors } from "hono/cors";
import type { Caller } from "../../core/caller.ts";
import type { Log } from "../../core/log.ts";
import { withinRun } from "../../core/run-context.ts";
import { Admission } from "./admission.ts";
import type { Authenticator } from "./authenticator.ts";
import { createHostGuard, type HostRules } from "./host-guard.ts";
import type { HttpApp, HttpEnv, HttpGuards, HttpRoutes } from "./http-env.ts";
import { createBodies, readJsonBody } from "./read-body.ts";
import { refuse } from "./refusal.ts";
import { trackResponse } from "./track-response.ts";

/** A session of an older client is one open stream; the rest are calls. */
const MAX_OPEN = { total: 1024, perCaller: 128 };
/** What pages of other origins send and may read of the answer. */
const REQUEST_HEADERS = [
  "Authorization",
  "Content-Type",
  "Last-Event-ID",
  "Mcp-Method",
  "Mcp-Name",
  "Mcp-Protocol-Version",
  "Mcp-Session-Id",
  "Traceparent",
  "Tracestate",
  "X-Request-Id",
];
const ANSWER_HEADERS = ["Mcp-Session-Id", "Retry-After", "WWW-Authenticate", "X-Request-Id"];
const REQUEST_ID = /^[\w.:-]{1,64}$/;

/** A request whose sender is known, and whose body has been read. */
export interface McpRequest {
  readonly request: Request;
  readonly caller: Caller;
  /** Of a POST, as JSON. */
  readonly body: unknown;
}

/** What speaks MCP. */
export interface McpEndpoint {
  handle(request: McpRequest): Promise<Response>;
}

export interface HttpAppOptions {
  /** Where MCP is, such as `/mcp`. */
  readonly path: string;
  readonly endpoint: McpEndpoint;
  readonly authenticator: Authenticator;
  readonly hosts: HostRules;
  readonly routes: readonly HttpRoutes[];
  readonly isDraining: () => boolean;
  readonly log: Log;
}

/**
 * Everything that the server answers, as a function from requests to responses. In this order: who is asked and by which
 * page (`Host`, `Origin`), who asks, whether there is room, the body, MCP. Nothing is read or made for whom a step refuses.
 */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const { path, authenticator, endpoint, isDraining, log } = options;
  const checkHost = createHostGuard(options.hosts);
  const app = new Hono<HttpEnv>();
  app.use((c, next) => {
    const asked = c.req.header("x-request-id") ?? "";
    const requestId = REQUEST_ID.test(asked) ? asked : randomBytes(9).toString("base64url");
    const startedAt = performance.now();
    c.set("requestId", requestId);
    return withinRun({ requestId }, async () => {
      const refusal = checkHost(c.req.raw.headers);
      if (refusal === undefined) await next();
      else c.res = refusal;
      c.header("x-request-id", requestId);
      c.header("x-content-type-options", "nosniff");
      log.debug("request", {
        method: c.req.method,
        path: c.req.path,
        status: c.res.status,
        caller: c.get("caller")?.id,
        ms: Math.round(performance.now() - startedAt),
      });
    });
  });
  app.use(
    cors({
      origin: (origin) => origin, // who got here has an origin that is allowed
      allowMethods: ["GET", "POST", "DELETE"],
      allowHeaders: REQUEST_HEADERS,
      exposeHeaders: ANSWER_HEADERS,
      maxAge: 600,
    }),
  );
  const guards: HttpGuards = {
    isAuthRequired: authenticator.isRequired,
    identify: (token) => authenticator.identify(token),
    isDraining,
    async authenticated(c, next) {
      const identity = await authenticator.authenticate(c.req.header("authorization") ?? null);
      if (identity instanceof Response) return identity;
      if (identity.kind !== "caller") throw new Error(`nobody may pass as ${identity.kind}`);
      c.set("caller", identity.caller);
      return withinRun({ callerId: identity.caller.id }, next);
    },
  };
  const admission = new Admission(MAX_OPEN);
  const bodies = createBodies();
  app.all(path, guards.authenticated, async (c) => {
    if (isDraining()) return refuse(503, "the server is shutting down", { headers: { "retry-after": "5" } });
    const caller = c.get("caller");
    const leaveOpen = admission.enter(caller.id);
    if (typeof leaveOpen === "string") return refuseFull(leaveOpen);
    let leave = leaveOpen;
    try {
      const request = c.req.raw;
      const keepOpen = () => c.env?.keepOpen?.();
      const body =
        request.method === "POST" ? await readJsonBody(request, caller.id, bodies, keepOpen) : undefined;
      if (body instanceof Response) return trackResponse(body, leave);
      leave = () => {
        leaveOpen();
        body?.leave(); // its program is held until the answer is there
      };
      keepOpen();
      return trackResponse(await endpoint.handle({ request, caller, body: body?.value }), leave);
    } catch (error) {
      leave();
      throw error;
    }
  });
  for (const add of options.routes) add(app, guards);
  app.notFound((c) => refuse(404, `there is nothing at ${JSON.stringify(c.req.path)}: MCP is at ${path}`));
  app.onError((error) => {
    log.error("a request failed", { error: error.stack ?? error.message });
    return refuse(500, "internal error; the server's log says more", { code: -32603 });
  });
  return app;
}

function refuseFull(whose: "caller" | "total"): Response {
  const message =
    whose === "caller"
      ? `${MAX_OPEN.perCaller} requests of yours are open already: wait for their answers`
      : "the server has too many open requests: try again soon";
  return refuse(429, message, { headers: { "retry-after": "1" } });
}
