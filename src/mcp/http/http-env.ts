import type { Hono, MiddlewareHandler } from "hono";
import type { Caller } from "../../core/caller.ts";
import type { Identity } from "./identity.ts";

/** What handlers find in their context: `c.get("caller")`, `c.get("requestId")`, `c.env.keepOpen()`. */
export interface HttpEnv {
  Variables: {
    /** Who asks; only behind {@link HttpGuards.authenticated}. */
    caller: Caller;
    /** Of this request, in logs and in the answer's `X-Request-Id`. */
    requestId: string;
  };
  Bindings: {
    /** Lets the answer be silent for as long as it takes; otherwise the connection is cut after a while. */
    keepOpen(): void;
    /** The address that the request came from; of IPv6, the network of the subscriber. */
    readonly peer: string | undefined;
  };
}

export type HttpApp = Hono<HttpEnv>;

/** What stands before handlers. `Host` and `Origin` of every request have been checked before. */
export interface HttpGuards {
  /** Lets only those through who say who they are, and sets `caller`. */
  readonly authenticated: MiddlewareHandler<HttpEnv>;
  /** Whose a token is that came another way than in a header, such as by a form. */
  identify(token: string): Promise<Identity>;
  /** Whether anybody has to say who they are. */
  readonly isAuthRequired: boolean;
  /** No more work is taken: the server is about to end. */
  isDraining(): boolean;
}

/** Adds routes beside that of MCP: public ones as they are, others behind `guards.authenticated`. */
export type HttpRoutes = (app: HttpApp, guards: HttpGuards) => void;
