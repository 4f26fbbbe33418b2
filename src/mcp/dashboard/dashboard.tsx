import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { JSX } from "hono/jsx/jsx-runtime";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Closable } from "../../core/lifecycle.ts";
import type { Log } from "../../core/log.ts";
import { Admission } from "../http/admission.ts";
import { CONTENT_SECURITY_POLICY } from "./assets.ts";
import { createEventStream } from "./event-stream.ts";
import { Gauges } from "./gauges.ts";
import { LoginPage, Page } from "./page.tsx";
import { listsFor, type Viewer } from "./parts.tsx";
import type { DashboardAccess, DashboardSource, SessionAction } from "./port.ts";
import { Viewers } from "./viewers.ts";

/** A token and a little more. */
const MAX_FORM_BYTES = 32 * 1024;
const MAX_STREAMS = { total: 64, perCaller: 16 };

/** What the server that we are mounted on tells of a request. */
export interface DashboardEnv {
  Bindings: {
    /** Lets the answer be silent for as long as it takes. */
    keepOpen?: () => void;
    /** The address that the request came from. */
    peer?: string | undefined;
  };
}

export interface DashboardOptions {
  readonly source: DashboardSource;
  readonly access: DashboardAccess;
  readonly log: Log;
}

/** Closing ends every stream. */
export interface Dashboard extends Closable {
  /** `/`, `/dashboard/…` and `/api/events`. `Host` must have been checked: names of others may lead to this machine. */
  readonly app: Hono<DashboardEnv>;
}

type DashboardContext = Context<DashboardEnv>;

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "same-origin", // with "no-referrer", forms would not say which page they are from
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** What came of a form, said on the next page. */
const NOTES = {
  interrupt: "The running code was interrupted.",
  reset: "The session has a fresh Python.",
  end: "The session was ended.",
  gone: "There was nothing to do: the session is gone, or nothing runs in it.",
  failed: "That did not work; the server's log says why.",
} as const;
type Note = keyof typeof NOTES;

/** Creates the dashboard. The caller closes it, and the board of its source after it. */
export function createDashboard({ source, access, log }: DashboardOptions): Dashboard {
  const { board } = source;
  const gauges = new Gauges(board.memory, () => source.servers());
  const viewers = new Viewers(access, board);
  const closed = new AbortController();
  const streams = new Admission(MAX_STREAMS);
  const app = new Hono<DashboardEnv>();

  for (const path of ["/", "/dashboard/*", "/api/events"]) {
    app.use(path, async (c, next) => {
      await next();
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) c.header(name, value);
    });
  }
  const limit = bodyLimit({ maxSize: MAX_FORM_BYTES, onError: (c) => c.text("the form is too large", 413) });

  app.get("/", async (c) => {
    const viewer = await viewers.viewerOf(c);
    if (viewer === "nobody") return c.redirect("/dashboard/login", 303);
    if (viewer === "unavailable") return unavailable(c);
    await gauges.refresh(board.sandboxes());
    const did = c.req.query("did") ?? "";
    const note = Object.hasOwn(NOTES, did) ? NOTES[did as Note] : undefined;
    return sendPage(
      c,
      <Page viewer={viewer} lists={listsFor(viewer, board, gauges)} note={note} now={Date.now()} />,
    );
  });

  app.get("/api/events", async (c) => {
    const viewer = await viewers.viewerOf(c);
    if (viewer === "nobody") return c.text("sign in first", 401);
    if (viewer === "unavailable") return unavailable(c);
    const leave = closed.signal.aborted ? "total" : streams.enter(viewer.caller.id);
    if (typeof leave === "string") {
      c.header("retry-after", "30");
      return c.text("too many pages are open", 429);
    }
    c.env?.keepOpen?.();
    const body = createEventStream({
      board,
      gauges,
      viewer: async () => {
        const now = await viewers.viewerOf(c);
        return now === "nobody" ? undefined : now === "unavailable" ? viewer : now;
      },
      onEnd: leave,
      signal: closed.signal,
    });
    return c.body(body, 200, { "content-type": "text/event-stream", "x-accel-buffering": "no" });
  });

  app.get("/dashboard/login", async (c) => {
    if (typeof (await viewers.viewerOf(c)) === "object") return c.redirect("/", 303);
    return sendPage(c, <LoginPage fault={undefined} />);
  });

  app.post("/dashboard/login", limit, async (c) => {
    if (!isFromOurPage(c)) return strangePage(c);
    const { token } = await c.req.parseBody();
    const answer = await viewers.signIn(c, typeof token === "string" ? token.trim() : "", c.env?.peer);
    if ("waitSeconds" in answer) {
      c.header("retry-after", String(answer.waitSeconds));
      const fault = `Too many wrong tokens: try again in ${answer.waitSeconds} s.`;
      return sendPage(c, <LoginPage fault={fault} />, 429);
    }
    if (answer.kind === "caller") return c.redirect("/", 303);
    log.debug("a sign-in to the dashboard was refused", { reason: answer.kind });
    return sendPage(
      c,
      <LoginPage fault={`Not signed in: ${answer.reason}.`} />,
      answer.kind === "unavailable" ? 503 : 403,
    );
  });

  app.post("/dashboard/logout", limit, async (c) => {
    const asked = await readForm(c);
    if (asked instanceof Response) return asked;
    viewers.signOut(c);
    return c.redirect("/dashboard/login", 303);
  });

  app.post("/dashboard/act", limit, async (c) => {
    const asked = await readForm(c);
    if (asked instanceof Response) return asked;
    const { viewer, form } = asked;
    const { session, action } = form;
    if (!isAction(action)) return c.text('"action" is interrupt, reset or end', 400);
    const note = await act(viewer, String(session), action);
    if (c.req.header("accept") === "application/json") return c.json({ message: NOTES[note] });
    return c.redirect(`/?did=${note}`, 303);
  });

  const act = async ({ caller }: Viewer, session: string, action: SessionAction): Promise<Note> => {
    try {
      return (await board.act(caller, session, action)) === "done" ? action : "gone";
    } catch (error) {
      log.warning("the dashboard could not act on a session", { session, action, error: String(error) });
      return "failed";
    }
  };

  /** A form of a page that we made for whoever sends it; everything else is refused. */
  const readForm = async (
    c: DashboardContext,
  ): Promise<{ readonly viewer: Viewer; readonly form: Readonly<Record<string, unknown>> } | Response> => {
    if (!isFromOurPage(c)) return strangePage(c);
    const viewer = await viewers.viewerOf(c);
    if (viewer === "nobody") return c.redirect("/dashboard/login", 303);
    if (viewer === "unavailable") return unavailable(c);
    const form = await c.req.parseBody();
    return viewers.isFormOf(c, viewer, form["token"]) ? { viewer, form } : strangePage(c);
  };

  const close = async () => closed.abort();
  return { app, close, [Symbol.asyncDispose]: close };
}

function isAction(text: unknown): text is SessionAction {
  return text === "interrupt" || text === "reset" || text === "end";
}

/** Browsers say with each form which page it is from. */
function isFromOurPage(c: DashboardContext): boolean {
  const site = c.req.header("sec-fetch-site");
  const origin = c.req.header("origin");
  if (site !== undefined && site !== "same-origin") return false;
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === c.req.header("host");
}

/** Without the first line browsers would lay it out as pages of the last century. */
async function sendPage(
  c: DashboardContext,
  page: JSX.Element,
  status: ContentfulStatusCode = 200,
): Promise<Response> {
  return c.html(`<!doctype html>${await page}`, status);
}

function strangePage(c: DashboardContext): Response {
  return c.text(
    "this form is not from a page of this server, or is too old: reload the page and send it again",
    403,
  );
}

function unavailable(c: DashboardContext): Response {
  c.header("retry-after", "5");
  return c.text("whoever could tell whose this token is cannot be asked now: try again soon", 503);
}
