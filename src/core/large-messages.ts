import { setImmediate as nextTurn } from "node:timers/promises";

/** What is longer waits while much is held. */
export const WAITING_BYTES = 32 * 1024;
/** What is longer is received in turn as well. */
export const LARGE_BYTES = 256 * 1024;
/** From here on nothing more is received until something is taken. */
const MAX_HELD_BYTES = 24 * 1024 ** 2;
/** What may be held in any case; who has more to hold is to let go of it. */
const MAX_EVER_HELD_BYTES = 88 * 1024 ** 2;
/** A slower sender is received beside the others, and what it sends counts as held. */
const TURN_MS = 250;
/** What was received is passed on at once, unless the processor is busy, or it turns out to be for nobody. */
const PASS_MS = 10_000;
/** A message of which no more comes, since its stream was given up. */
const GIVE_UP_MS = 30_000;
/** What a slow sender is taken to send that does not say it before. */
const GUESSED_BYTES = 16 * 1024 ** 2;
/** Where nothing is taken for so long, nobody need wait any more for what is held by then: some sandbox reads nothing. */
const STALL_MS = 5000;
/** What is passed on makes garbage several times its size, which Bun is slow to take for a reason to collect. */
const COLLECT_BYTES = 16 * 1024 ** 2;

/** A large message's turn. */
export interface Turn {
  /** All of the message is here. */
  received(): void;
  /** It was passed on; counts once. */
  passed(): void;
}

interface Waiting {
  readonly isLarge: boolean;
  readonly goOn: () => void;
}

/**
 * The bytes of results that came from servers and that no sandbox has taken yet, of all sessions together. A server that
 * sends more waits: what is not read stays with it. So a program may ask for as much at once as it likes.
 */
export class LargeMessages {
  readonly #waiting: Waiting[] = [];
  #receiving = 0;
  #heldBytes = 0;
  #slowBytes = 0;
  /** Of those that are held: what nobody waits for. */
  #stalledBytes = 0;
  #stall: ReturnType<typeof setTimeout> | undefined;
  #uncollected = 0;

  /** Resolves when a message of up to `LARGE_BYTES` that was received may be passed on. */
  async pass(bytes: number): Promise<void> {
    if (bytes > WAITING_BYTES && !this.#hasRoom) await this.#wait(false);
  }

  /** Resolves when it is the turn of a large message, of so many bytes where that is known, to be received. */
  async enter(bytes = GUESSED_BYTES): Promise<Turn> {
    if (this.#waiting.length === 0 && this.#hasTurn) this.#receiving += 1;
    else await this.#wait(true);
    let state: "in turn" | "slow" | "over" = "in turn";
    const leave = () => {
      if (state === "in turn") this.#receiving -= 1;
      else if (state === "slow") this.#slowBytes -= bytes;
      if (state !== "over") this.#collect(bytes);
      state = "over";
      clearTimeout(timer);
      this.#admit();
    };
    const yieldTurn = () => {
      state = "slow";
      this.#receiving -= 1;
      this.#slowBytes += bytes;
      timer = setTimeout(leave, GIVE_UP_MS);
      timer.unref();
      this.#admit();
    };
    let timer = setTimeout(yieldTurn, TURN_MS);
    timer.unref();
    return {
      received() {
        clearTimeout(timer);
        timer = setTimeout(leave, PASS_MS);
        timer.unref();
      },
      passed: () => void nextTurn().then(leave), // by then the message is held where it waits to be taken
    };
  }

  /** Counts what waits to be taken; returns how to count it no more, or `undefined` where it is too much to be kept. */
  hold(bytes: number): (() => void) | undefined {
    if (this.#heldBytes > 0 && this.#heldBytes + bytes > MAX_EVER_HELD_BYTES) return undefined;
    this.#heldBytes += bytes;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#letGo(bytes);
      clearTimeout(this.#stall);
      this.#stall = undefined;
      this.#collect(bytes);
      this.#admit();
    };
  }

  get #hasRoom(): boolean {
    return this.#heldBytes + this.#slowBytes - this.#stalledBytes < MAX_HELD_BYTES;
  }

  get #hasTurn(): boolean {
    return this.#hasRoom && this.#receiving === 0;
  }

  #wait(isLarge: boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ isLarge, goOn: resolve });
    this.#watch();
    return promise;
  }

  #admit(): void {
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      if (next.isLarge ? !this.#hasTurn : !this.#hasRoom) break;
      if (next.isLarge) this.#receiving += 1;
      this.#waiting.shift();
      next.goOn();
    }
    this.#watch();
  }

  #watch(): void {
    if (this.#waiting.length === 0) return;
    this.#stall ??= setTimeout(() => {
      this.#stall = undefined;
      this.#stalledBytes = this.#heldBytes + this.#slowBytes;
      this.#admit();
    }, STALL_MS);
    this.#stall.unref();
  }

  #letGo(bytes: number): void {
    this.#heldBytes -= bytes;
    this.#stalledBytes = Math.min(this.#stalledBytes, this.#heldBytes);
  }

  #collect(bytes: number): void {
    this.#uncollected += bytes;
    if (this.#uncollected < COLLECT_BYTES) return;
    this.#uncollected = 0;
    Bun.gc(true);
  }
}

/** Those of this process: what is scarce is its memory. */
export const largeMessages = new LargeMessages();
