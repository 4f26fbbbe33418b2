import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { LOCAL_CALLER } from "../../core/caller.ts";
import { BrowserSessions } from "./browser-sessions.ts";
import type { Viewer } from "./parts.tsx";
import type { DashboardAccess, TokenOwner } from "./port.ts";
import type { SessionBoard } from "./session-board.ts";

const DEFAULT_PEER = "unknown";

/** Somebody with a right to look, nobody, or nobody who could be asked now. */
export type ViewerAnswer = Viewer | "nobody" | "unavailable";

/** Tells who sends a request of a browser: by a cookie of ours, by the header that MCP clients send, or as the only user there is. */
export class Viewers {
  readonly #access: DashboardAccess;
  readonly #board: Pick<SessionBoard, "isAdmin">;
  readonly #sessions = new BrowserSessions();

  constructor(access: DashboardAccess, board: Pick<SessionBoard, "isAdmin">) {
    this.#access = access;
    this.#board = board;
  }

  async viewerOf(c: Context): Promise<ViewerAnswer> {
    const { isAuthRequired, identify } = this.#access;
    if (!isAuthRequired) return this.#toViewer({ kind: "caller", caller: LOCAL_CALLER }, undefined);
    const key = getCookie(c, cookieName(c));
    const kept = key === undefined ? undefined : this.#sessions.tokenOf(key);
    if (kept !== undefined) return this.#toViewer(await identify(kept), key);
    const token = /^bearer +(\S+) *$/i.exec(c.req.header("authorization") ?? "")?.[1];
    return token === undefined ? "nobody" : this.#toViewer(await identify(token), undefined);
  }

  /** Signs in: sets the cookie, or says why not. */
  async signIn(
    c: Context,
    token: string,
    peer = DEFAULT_PEER,
  ): Promise<TokenOwner | { readonly waitSeconds: number }> {
    const waitSeconds = this.#sessions.waitSeconds(peer);
    if (waitSeconds > 0) return { waitSeconds };
    const owner = await this.#access.identify(token);
    if (owner.kind === "unknown") this.#sessions.fail(peer);
    if (owner.kind !== "caller") return owner;
    setCookie(c, cookieName(c), this.#sessions.open(token), {
      path: "/",
      httpOnly: true,
      sameSite: "Strict",
      secure: isHttps(c),
    });
    return owner;
  }

  signOut(c: Context): void {
    const key = getCookie(c, cookieName(c));
    if (key !== undefined) this.#sessions.end(key);
    deleteCookie(c, cookieName(c), { path: "/", secure: isHttps(c) });
  }

  /** Whether a form came from a page that was made for this viewer. */
  isFormOf(c: Context, viewer: Viewer, token: unknown): boolean {
    return (
      typeof token === "string" &&
      this.#sessions.isFormToken(formOwner(viewer, getCookie(c, cookieName(c))), token)
    );
  }

  #toViewer(owner: TokenOwner, key: string | undefined): ViewerAnswer {
    if (owner.kind === "unavailable") return "unavailable";
    if (owner.kind !== "caller") return "nobody";
    const { caller } = owner;
    const bare = { caller, isAdmin: this.#board.isAdmin(caller), hasCookie: key !== undefined };
    return { ...bare, formToken: this.#sessions.formToken(formOwner(bare, key)) };
  }
}

function formOwner({ caller, hasCookie }: Pick<Viewer, "caller" | "hasCookie">, key = ""): string {
  return hasCookie ? `cookie ${key}` : `caller ${caller.id}`;
}

/** Cookies are for a host, whatever the port: two servers on one machine must not take each other's. */
function cookieName(c: Context): string {
  return `sandpy_${/:(\d{1,5})$/.exec(c.req.header("host") ?? "")?.[1] ?? "default"}`;
}

/** Behind a proxy that speaks TLS we hear plain HTTP. Who claims that falsely has only their own cookie kept from them. */
function isHttps(c: Context): boolean {
  return new URL(c.req.url).protocol === "https:" || c.req.header("x-forwarded-proto") === "https";
}
