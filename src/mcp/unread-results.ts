import { setImmediate as nextTurn } from "node:timers/promises";
import type { RequestId } from "@modelcontextprotocol/server";
import { BridgeError } from "../core/errors.ts";
import { untilAborted, withDeadline } from "../core/lifecycle.ts";

/** With so much unread by one client, no more of its code begins. */
const MAX_UNREAD_CHARS = 16 * 1024 ** 2;
/** Runs of several sessions can end at the same time: beyond this, images are left out, and nothing more is asked. */
const MAX_EVER_UNREAD_CHARS = 64 * 1024 ** 2;
/** A client that reads nothing for so long is told to. */
const WAIT_MS = 60_000;

/** Why a request to a client is not sent; it could be taken back before it is read, and the next one sent. */
export class DeafClient extends Error {
  override readonly name = "DeafClient";
  constructor() {
    super("the client does not read what it is sent");
  }
}

/** What one connection knows of results that its client has not read. */
export interface UnreadResults {
  /** Resolves when there is room for the result of another run, or `until` aborts: nobody waits any more. */
  ready(until: AbortSignal): Promise<void>;
  /** A request has a result of about so many characters; `false`: it is too much, and not counted. */
  hold(id: RequestId, chars: number): boolean;
}

/** Waits until another run may begin. Rejects with `SESSION_BUSY`; resolves at once when `signal` aborts. */
export async function waitForRoom(unread: UnreadResults, signal: AbortSignal): Promise<void> {
  await nextTurn(); // the result of the run before is on its way
  const over = new AbortController();
  const room = withDeadline(unread.ready(over.signal), WAIT_MS, "reading", "SESSION_BUSY");
  try {
    await untilAborted(room, signal);
  } catch {
    throw unreadFault();
  } finally {
    over.abort(); // a client that goes on to call and read nothing leaves nobody waiting
  }
}

/** The error for a call that would add to what its client has not read. */
export function unreadFault(): BridgeError {
  return new BridgeError("SESSION_BUSY", "results of earlier calls wait to be read by the client", {
    hint: "Read them, then call again.",
  });
}

interface Room {
  chars: number;
  readonly waiting: Set<() => void>;
}

/** The results that clients have not read, for each caller, and what else is in the streams to them. */
export class ResultRooms {
  readonly #rooms = new Map<string, Room>();
  readonly #streamBytes = new Map<string, number>();

  /** Resolves when there is room for another result of the caller, or `until` aborts. */
  async ready(callerId: string, until: AbortSignal): Promise<void> {
    const room = this.#rooms.get(callerId);
    if (room === undefined || room.chars <= MAX_UNREAD_CHARS) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    room.waiting.add(resolve);
    await untilAborted(promise, until);
    room.waiting.delete(resolve);
  }

  /** Counts a result; returns what to call once it was read, or will not be. `undefined`: it is too much. */
  hold(callerId: string, chars: number): (() => void) | undefined {
    const room = this.#rooms.get(callerId) ?? { chars: 0, waiting: new Set() };
    if (room.chars > 0 && room.chars + chars > MAX_EVER_UNREAD_CHARS) return undefined;
    this.#rooms.set(callerId, room);
    room.chars += chars;
    return () => {
      room.chars -= chars;
      if (room.chars === 0 && this.#rooms.get(callerId) === room) this.#rooms.delete(callerId);
      if (room.chars > MAX_UNREAD_CHARS) return;
      for (const goOn of room.waiting) goOn();
      room.waiting.clear();
    };
  }

  /** Bytes were put into a stream to the caller; less than none: taken from it, or nobody wants them any more. */
  countStream(callerId: string, bytes: number): void {
    const all = (this.#streamBytes.get(callerId) ?? 0) + bytes;
    if (all === 0) this.#streamBytes.delete(callerId);
    else this.#streamBytes.set(callerId, all);
  }

  /** Whether the caller has so much unread that it is to be asked nothing: what is taken back again stays in its stream. */
  isDeaf(callerId: string): boolean {
    return (this.#streamBytes.get(callerId) ?? 0) > MAX_EVER_UNREAD_CHARS;
  }
}

/** The results of requests whose answers are being sent. */
export class OpenResults implements UnreadResults {
  readonly #rooms: ResultRooms;
  readonly #callerId: string;
  readonly #open = new Map<RequestId, (() => void)[]>();

  constructor(rooms: ResultRooms, callerId: string) {
    this.#rooms = rooms;
    this.#callerId = callerId;
  }

  ready(until: AbortSignal): Promise<void> {
    return this.#rooms.ready(this.#callerId, until);
  }

  /**
   * A request is to be answered; returns what to call once its answer was sent, or nobody wants it any more. Its id may be
   * another's by then: that of a request that was answered can be used again while the answer is being sent.
   */
  begin(id: RequestId): () => void {
    const held: (() => void)[] = [];
    this.#open.set(id, held);
    return () => {
      for (const release of held.splice(0)) release();
      if (this.#open.get(id) === held) this.#open.delete(id);
    };
  }

  hold(id: RequestId, chars: number): boolean {
    const held = this.#open.get(id);
    if (held === undefined) return true; // nobody reads it: it goes at once
    const release = this.#rooms.hold(this.#callerId, chars);
    if (release !== undefined) held.push(release);
    return release !== undefined;
  }
}
