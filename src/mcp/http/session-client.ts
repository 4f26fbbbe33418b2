import { BridgeError } from "../../core/errors.ts";
import type { SessionAction } from "../dashboard/port.ts";
import { askServer, type ServerAnswer } from "./ask-server.ts";
import {
  type Acted,
  actedSchema,
  failureSchema,
  SESSIONS_PATH,
  type SessionList,
  sessionListSchema,
} from "./session-api.ts";

const METHODS = { end: "DELETE", interrupt: "POST", reset: "POST" } as const satisfies Record<
  SessionAction,
  string
>;
const MAX_SHOWN_CHARS = 300;

export interface SessionClientOptions {
  /** Of the server; which path it has does not matter, so that the address of MCP will do too. */
  readonly url: URL;
  /** Sent as a bearer token; `undefined`: none. */
  readonly token: string | undefined;
  readonly timeoutMs?: number | undefined;
}

/**
 * The sessions of a server that runs, as one of its users. All of it rejects with `SERVER_UNREACHABLE` where no server of
 * ours answers, and with `SERVER_REFUSED` where it does not let one in.
 */
export interface SessionClient {
  list(): Promise<SessionList>;
  /** Resolves with whether there was something to do; rejects with `SESSION_UNKNOWN`. */
  act(sessionId: string, action: SessionAction): Promise<boolean>;
}

export function createSessionClient({ url, ...how }: SessionClientOptions): SessionClient {
  const ask = (method: string, path: string) => askServer({ ...how, method, url: new URL(path, url) });
  return {
    async list() {
      const answer = await ask("GET", SESSIONS_PATH);
      return read(answer, url, (value) => sessionListSchema.safeParse(value).data);
    },
    async act(sessionId, action) {
      const path = `${SESSIONS_PATH}/${encodeURIComponent(sessionId)}`;
      const answer = await ask(METHODS[action], action === "end" ? path : `${path}/${action}`);
      const { done } = read<Acted>(answer, url, (value) => actedSchema.safeParse(value).data);
      return done;
    },
  };
}

/** What a good answer says; everything else becomes the failure that it stands for. */
function read<T>(answer: ServerAnswer, url: URL, parse: (value: unknown) => T | undefined): T {
  const value = parseJson(answer.body);
  const good = answer.status === 200 ? parse(value) : undefined;
  if (good !== undefined) return good;
  const failure = failureSchema.safeParse(value).data?.error;
  const said = failure?.message.slice(0, MAX_SHOWN_CHARS);
  if (failure?.code === "SESSION_UNKNOWN") {
    throw new BridgeError("SESSION_UNKNOWN", said ?? "there is no such session", {
      hint: 'It has ended, or is another user\'s. Type "sandpy sessions" for those that there are.',
    });
  }
  const { status } = answer;
  if (said !== undefined && (status === 401 || status === 403)) {
    throw new BridgeError("SERVER_REFUSED", `the server at ${url.origin} refuses: ${said}`, {
      hint: "Set MCP_BRIDGE_HTTP_TOKEN to a token that the server knows, or name the file that it is in with --token-file.",
    });
  }
  if (failure?.code === "INTERNAL" || (said !== undefined && status === 503)) {
    throw new BridgeError("SERVER_UNREACHABLE", `the server at ${url.origin} failed: ${said}`, {
      hint: "Try again; the server's log says more.",
    });
  }
  const more = said === undefined ? "" : `: ${said}`;
  throw new BridgeError(
    "SERVER_UNREACHABLE",
    `what answers at ${url.origin} is not "sandpy serve --http" of this version, or a proxy before it: status ${status}${more}`,
    { hint: "Name the server's address with --url, as it says when it starts." },
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a page, or nothing
  }
}
