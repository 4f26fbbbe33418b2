import type { Socket } from "bun";

/** As much as Bun takes of the head of a request. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Each read takes some 90 bytes more than it has: of a head that comes byte by byte, 1.4 MB. */
const MAX_HEAD_PIECES = 64;
/** For a client to take the last of an answer, and to close. */
const LINGER_S = 5;
const COLLECT_BYTES = 4 * 1024 ** 2;
const LARGE_READ_BYTES = 32 * 1024;
const HEAD_END = [13, 10, 13, 10];

export type LaneSocket = Socket<Lane>;

/** Bytes on their way to a socket that had no room for them. */
interface Way {
  readonly to: LaneSocket;
  waiting: Uint8Array | undefined;
}

/**
 * One connection of a client. Nothing is behind it until the head of a first request is there; then bytes go both ways,
 * never more at once than one read of either side.
 */
export class Lane {
  readonly source: string;
  readonly #outer: LaneSocket;
  readonly #onHead: (lane: Lane) => void;
  #head: Uint8Array[] = [];
  #headBytes = 0;
  /** How much of the end of a head was seen. */
  #matched = 0;
  #isComplete = false;
  #inward: Way | undefined;
  #outward: Way;
  #isOver = false;

  /** `onHead` is called once, when a connection behind is wanted: {@link Lane.join}. */
  constructor(source: string, outer: LaneSocket, onHead: (lane: Lane) => void) {
    this.source = source;
    this.#outer = outer;
    this.#onHead = onHead;
    this.#outward = { to: outer, waiting: undefined };
  }

  /** The client sent something. */
  fromClient(bytes: Uint8Array): void {
    if (this.#isOver) {
      collect(bytes.length);
      return; // what is left of a request that was refused
    }
    if (this.#inward !== undefined) {
      pass(this.#outer, this.#inward, bytes);
      return;
    }
    this.#head.push(bytes);
    if (this.#head.length > MAX_HEAD_PIECES) this.#head = [Buffer.concat(this.#head)];
    this.#headBytes += bytes.length;
    if (this.#isComplete) return;
    this.#isComplete = this.#headBytes > MAX_HEAD_BYTES || this.#endsHead(bytes);
    if (!this.#isComplete) return;
    this.#outer.timeout(0);
    this.#outer.pause();
    this.#onHead(this);
  }

  /** The connection behind is there. */
  join(inner: LaneSocket): void {
    this.#inward = { to: inner, waiting: undefined };
    const head = Buffer.concat(this.#head);
    this.#head = [];
    pass(this.#outer, this.#inward, head);
    if (this.#inward.waiting === undefined) this.#outer.resume();
  }

  /** The server sent something. */
  fromServer(inner: LaneSocket, bytes: Uint8Array): void {
    pass(inner, this.#outward, bytes);
  }

  /** A socket has room again. */
  drain(socket: LaneSocket): void {
    const isOuter = socket === this.#outer;
    const way = isOuter ? this.#outward : this.#inward;
    if (way?.waiting === undefined) return;
    const bytes = way.waiting;
    way.waiting = rest(bytes, socket.write(bytes));
    if (isOuter && this.#isOver) socket.timeout(LINGER_S); // it goes on
    if (way.waiting !== undefined) return;
    if (isOuter && this.#isOver) this.#outer.shutdown();
    else (isOuter ? this.#inward?.to : this.#outer)?.resume();
  }

  /** The server has closed: the client gets what it has not taken yet, if it does that soon. */
  endFromServer(): void {
    this.#isOver = true;
    this.#outer.timeout(LINGER_S);
    this.#outer.resume(); // unread bytes would make the system discard the answer
    if (this.#outward.waiting === undefined) this.#outer.shutdown();
  }

  /** The client has gone. */
  endFromClient(): void {
    this.#isOver = true;
    this.#inward?.to.terminate();
  }

  /** Whether the client has, or is sent by the system, all that the server said before it closed. */
  get isDelivered(): boolean {
    return this.#isOver && this.#outward.waiting === undefined;
  }

  /** Ends it; what the system still has is sent. */
  end(): void {
    this.#outer.end();
    this.#inward?.to.terminate();
  }

  /** Ends it at once. */
  cut(): void {
    this.#outer.terminate();
    this.#inward?.to.terminate();
  }

  #endsHead(bytes: Uint8Array): boolean {
    for (const byte of bytes) {
      if (byte === HEAD_END[this.#matched]) this.#matched += 1;
      else this.#matched = byte === HEAD_END[0] ? 1 : 0;
      if (this.#matched === HEAD_END.length) return true;
    }
    return false;
  }
}

let uncollected = 0;

/** Each read has memory of its own, which Bun is slow to take for a reason to collect where it is much. */
function collect(bytes: number): void {
  if (bytes < LARGE_READ_BYTES) return;
  uncollected += bytes;
  if (uncollected < COLLECT_BYTES) return;
  uncollected = 0;
  Bun.gc(true);
}

/** Nothing more is read from `from` until all has been taken. */
function pass(from: LaneSocket, way: Way, bytes: Uint8Array): void {
  collect(bytes.length);
  if (way.waiting !== undefined) {
    way.waiting = Buffer.concat([way.waiting, bytes]);
    return;
  }
  way.waiting = rest(bytes, way.to.write(bytes));
  if (way.waiting !== undefined) from.pause();
}

function rest(bytes: Uint8Array, written: number): Uint8Array | undefined {
  return written >= bytes.length ? undefined : bytes.subarray(Math.max(written, 0));
}
