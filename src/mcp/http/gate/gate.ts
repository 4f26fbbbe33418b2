import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../../core/log.ts";
import { Lane, type LaneSocket } from "./lane.ts";
import { type ConnectionLimits, sourceOf } from "./limits.ts";

/** The head of a first request has so long to arrive. */
const HEAD_S = 10;
/**
 * Where the server behind is, and from where it is spoken to: programs of this machine have other addresses as well. A unix
 * socket would keep other users out, but there Bun (1.4.5) minds no `server.timeout`, and would cut calls that are quiet.
 */
const LOOPBACK = "127.0.0.1";
const SAY_AGAIN_MS = 60_000;
const LAST_WORDS_MS = 1000;
const POLL_MS = 5;

export interface GateOptions {
  readonly hostname: string;
  readonly port: number;
  /** The port of the server behind, on 127.0.0.1. */
  readonly behind: number;
  readonly limits: ConnectionLimits;
  readonly log: Log;
}

interface Source {
  lanes: number;
  /** Those whose first request is not there yet, oldest first. */
  readonly waiting: Set<Lane>;
}

/**
 * The port that clients reach. `Bun.serve` (1.4.5) accepts as many connections as there are descriptors, and then stalls
 * everybody; here they are counted, in all and of each address. Where there are too many, the one that has waited longest
 * without a request is cut, of the same address if that has its share; if none is without, the new one is.
 */
export class Gate {
  readonly port: number;
  readonly #listener: Bun.TCPSocketListener<Lane>;
  readonly #options: GateOptions;
  readonly #lanes = new Set<Lane>();
  readonly #waiting = new Set<Lane>();
  readonly #sources = new Map<string, Source>();
  /** Who is served, by the port from which the server behind is spoken to. */
  readonly #ours = new Map<number, string>();
  #saidAt = Number.NEGATIVE_INFINITY;

  /** Throws as the system does where it cannot listen. */
  constructor(options: GateOptions) {
    this.#options = options;
    const { hostname, port } = options;
    this.#listener = Bun.listen<Lane>({
      hostname,
      port,
      socket: {
        open: (socket) => this.#accept(socket),
        data: (socket, bytes) => socket.data?.fromClient(bytes),
        drain: (socket) => socket.data?.drain(socket),
        timeout: (socket) => void socket.end(), // not `terminate`, which takes back what the system has still to send
        error: (socket) => socket.terminate(),
        close: ({ data }) => data && this.#leave(data),
      },
    });
    this.port = this.#listener.port;
  }

  /** From which address, as they are counted, the client is whose connection to the server behind this is; `undefined`: it is none of ours. */
  clientOf(peer: { readonly address: string; readonly port: number } | null): string | undefined {
    return peer?.address === LOOPBACK ? this.#ours.get(peer.port) : undefined;
  }

  /** Closes the port; `stopBehind` then ends the server behind, whose last words are still passed on, and all connections. */
  async close(stopBehind: () => Promise<void>): Promise<void> {
    this.#listener.stop();
    for (const lane of this.#waiting) lane.cut();
    await stopBehind();
    const deadline = performance.now() + LAST_WORDS_MS;
    while (performance.now() < deadline && ![...this.#lanes].every((lane) => lane.isDelivered)) {
      await sleep(POLL_MS);
    }
    for (const lane of this.#lanes) lane.end();
  }

  #accept(socket: LaneSocket): void {
    const source = sourceOf(socket.remoteAddress);
    if (!this.#makeRoom(source)) {
      socket.terminate();
      return;
    }
    const lane = new Lane(source, socket, (ready) => this.#connect(ready));
    socket.data = lane;
    socket.timeout(HEAD_S);
    this.#lanes.add(lane);
    this.#waiting.add(lane);
    const own = this.#sources.get(source) ?? { lanes: 0, waiting: new Set<Lane>() };
    own.lanes += 1;
    own.waiting.add(lane);
    this.#sources.set(source, own);
  }

  /** False where the new connection has to go. */
  #makeRoom(source: string): boolean {
    const { total, perAddress } = this.#options.limits;
    const own = this.#sources.get(source);
    const isShareFull = own !== undefined && own.lanes >= perAddress;
    if (!isShareFull && this.#lanes.size < total) return true;
    this.#say(source, isShareFull);
    const [oldest] = isShareFull ? own.waiting : this.#waiting;
    if (oldest === undefined) return false;
    this.#leave(oldest);
    oldest.cut();
    return true;
  }

  #say(source: string, isShareFull: boolean): void {
    const now = performance.now();
    if (now - this.#saidAt < SAY_AGAIN_MS) return;
    this.#saidAt = now;
    const { total, perAddress } = this.#options.limits;
    this.#options.log.warning("too many connections: those without a request are cut, or new ones", {
      from: source,
      open: this.#lanes.size,
      limit: isShareFull ? perAddress : total,
      of: isShareFull ? "one address" : "all",
    });
  }

  #connect(lane: Lane): void {
    this.#settle(lane);
    let port = 0;
    Bun.connect<Lane>({
      hostname: LOOPBACK,
      port: this.#options.behind,
      allowHalfOpen: true, // the end is ours to answer: see below
      data: lane,
      socket: {
        open: (inner) => {
          port = inner.localPort;
          this.#ours.set(port, lane.source);
          if (this.#lanes.has(lane)) lane.join(inner);
          else inner.terminate();
        },
        data: (inner, bytes) => lane.fromServer(inner, bytes),
        drain: (inner) => lane.drain(inner),
        // A polite end would keep the port taken for a minute, and there are not many.
        end: (inner) => inner.terminate(),
        error: (inner) => inner.terminate(),
        close: () => {
          this.#ours.delete(port);
          lane.endFromServer();
        },
      },
    }).catch((error: unknown) => {
      this.#options.log.warning("a connection could not be served", { error: String(error) });
      lane.cut();
    });
  }

  /** Its first request is there. */
  #settle(lane: Lane): void {
    this.#waiting.delete(lane);
    this.#sources.get(lane.source)?.waiting.delete(lane);
  }

  #leave(lane: Lane): void {
    if (!this.#lanes.delete(lane)) return;
    this.#settle(lane);
    const own = this.#sources.get(lane.source);
    if (own !== undefined) {
      own.lanes -= 1;
      if (own.lanes === 0) this.#sources.delete(lane.source);
    }
    lane.endFromClient();
  }
}
