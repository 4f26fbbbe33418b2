import { createHash, timingSafeEqual } from "node:crypto";
import { BridgeError } from "../../core/errors.ts";

const PATH = "/callback";
/** The answer to the browser goes out before its connection is cut. */
const LAST_WORDS_MS = 500;
const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
};

/** Where the browser comes back to after a sign-in. Who starts it closes it. */
export interface Callback extends AsyncDisposable {
  readonly redirectUrl: string;
  /** The parameters of the first request that knows `state`; never rejects. */
  readonly arrived: Promise<URLSearchParams>;
}

export interface CallbackOptions {
  /** Only who was sent to sign in knows it. */
  readonly state: string;
  /** The ports to try, in order; `0` is any. */
  readonly ports: readonly number[];
  /** What the redirect URL calls this machine. */
  readonly host: "127.0.0.1" | "localhost";
}

/** Listens on this machine alone, for one request. Throws `CONFIG_INVALID` where no port is free. */
export function startCallback({ state, ports, host }: CallbackOptions): Callback {
  const arrived = Promise.withResolvers<URLSearchParams>();
  let isDone = false;
  const handle = (request: Request): Response => {
    const url = new URL(request.url);
    const isOurs = url.hostname === "127.0.0.1" || url.hostname === "localhost"; // no name that was bent to us
    if (!isOurs || url.pathname !== PATH || request.method !== "GET")
      return page(404, "There is nothing here.");
    if (!isSame(url.searchParams.get("state") ?? "", state)) {
      return page(400, "This is not the answer to the sign-in that Sandpy waits for.");
    }
    if (isDone) return page(400, "This sign-in was answered before.");
    isDone = true;
    arrived.resolve(url.searchParams);
    return url.searchParams.has("code")
      ? page(200, "Sandpy has the answer. You can close this page and go back to the terminal.")
      : page(200, "The sign-in was refused. Go back to the terminal.");
  };
  const server = listen(ports, handle);
  return {
    redirectUrl: `http://${host}:${server.port}${PATH}`,
    arrived: arrived.promise,
    [Symbol.asyncDispose]: async () => {
      await Promise.race([server.stop(), Bun.sleep(LAST_WORDS_MS)]);
      await server.stop(true);
    },
  };
}

function listen(ports: readonly number[], fetch: (request: Request) => Response) {
  for (const port of ports) {
    try {
      return Bun.serve({ hostname: "127.0.0.1", port, fetch });
    } catch {
      // in use: the next one
    }
  }
  throw new BridgeError(
    "CONFIG_INVALID",
    `port ${ports.join(" or ")} of this machine is in use by another program`,
    {
      hint: "End it, or correct the port in the server's definition.",
    },
  );
}

/** Nothing of the request stands in it. */
function page(status: number, text: string): Response {
  const html = `<!doctype html><html lang="en"><title>Sandpy</title><p>${text}</p></html>\n`;
  return new Response(html, { status, headers: PAGE_HEADERS });
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
