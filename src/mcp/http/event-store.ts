import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";

/** Of one session. */
const MAX_EVENTS = 512;
const MAX_BYTES = 4 * 1024 * 1024;
/** A client that lost its connection is back by then. */
const KEEP_MS = 5 * 60_000;

interface StoredEvent {
  readonly id: string;
  readonly streamId: string;
  /** `undefined` for the event without a message that a stream begins with. */
  readonly message: JSONRPCMessage | undefined;
  readonly bytes: number;
  readonly storedAt: number;
}

/**
 * What was sent to the client of one session, so that one whose connection broke gets what it missed: the newest 512
 * messages and 4 MiB of the last five minutes. A message that is larger by itself cannot be had again.
 */
export class SessionEvents implements EventStore {
  readonly #now: () => number;
  #events: StoredEvent[] = [];
  #bytes = 0;
  #count = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    this.#count += 1;
    const id = `${this.#count}-${streamId}`;
    const isOpening = Object.keys(message).length === 0;
    const bytes = isOpening ? 0 : JSON.stringify(message).length;
    if (bytes > MAX_BYTES) return id;
    const storedAt = this.#now();
    this.#events.push({ id, streamId, message: isOpening ? undefined : message, bytes, storedAt });
    this.#bytes += bytes;
    this.dropOld();
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    this.dropOld();
    return this.#events.find((event) => event.id === id)?.streamId;
  }

  async replayEventsAfter(
    lastId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const at = this.#events.findIndex(({ id }) => id === lastId);
    const streamId = this.#events[at]?.streamId;
    if (streamId === undefined) throw new Error("the event is not kept any more");
    for (const event of this.#events.slice(at + 1)) {
      if (event.streamId === streamId && event.message !== undefined) await send(event.id, event.message);
    }
    return streamId;
  }

  /** Lets go of what is too old, also where nothing comes any more. */
  dropOld(): void {
    const oldest = this.#now() - KEEP_MS;
    let count = 0;
    for (const { bytes, storedAt } of this.#events) {
      const isSurplus = this.#events.length - count > MAX_EVENTS || this.#bytes > MAX_BYTES;
      if (!isSurplus && storedAt >= oldest) break;
      this.#bytes -= bytes;
      count += 1;
    }
    if (count > 0) this.#events = this.#events.slice(count);
  }
}
