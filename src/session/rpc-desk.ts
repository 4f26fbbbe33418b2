import { Claim } from "../core/answer-room.ts";
import { BridgeError, type ErrorCode, toBridgeError } from "../core/errors.ts";
import type { Place } from "../core/room.ts";
import { withinRun } from "../core/run-context.ts";
import { Slots } from "../core/slots.ts";
import type { WhileAsking } from "../kernel/host-tools.ts";
import type { OutgoingLine, RpcError, RpcFrame } from "../kernel/protocol.ts";
import type { RpcRequest } from "../kernel/rpc.ts";
import { CallGroup, type CallLimit } from "./call-group.ts";
import { type Host, labelRequest, serveRequest } from "./rpc-methods.ts";
import { TimeLimit } from "./time-limit.ts";

/** Requests that Python may have open at once; more are refused, since each is held in memory. */
const MAX_OPEN = 10_000;
/** What the frames of all open requests take in memory: arguments are held until the upstream server has answered. */
const MAX_OPEN_COST = 128 * 1024 * 1024;
/** Requests that are with an upstream server at once; the others wait their turn. */
const MAX_ACTIVE = 256;
/**
 * Requests for what is kept are answered one after the other, and two of all sessions at once: an answer can be as large as a
 * frame, and costs nothing to ask for. One that is not taken in time keeps only its own session waiting.
 */
const BULKY: ReadonlySet<string> = new Set(["memory_list", "memory_load", "project_list", "project_read"]);
const allBulky = new Slots(2);
const MAX_BULKY_MS = 5000;

type Reply = Extract<OutgoingLine, readonly ["k", { readonly type: "reply" | "reply_error" }]>;

export interface RpcDeskOptions {
  readonly host: Host;
  readonly parse: (frame: RpcFrame) => RpcRequest | { readonly invalid: string };
  /** The time that a request made now may take; the same object for those that have it together. */
  readonly limit: () => CallLimit;
}

/**
 * Serves the requests of one Python process after the other. A request gets one reply; `abandon()` stops those under
 * way, for an execution that ran out of time, and `forget()` those of a process that is gone.
 */
export class RpcDesk {
  readonly #options: RpcDeskOptions;
  readonly #waiting: (() => void)[] = [];
  readonly #bulky = new Slots(1);
  readonly #active = new Set<ActiveRequest>();
  /** For those of the newest limit that set themselves none. */
  #group: CallGroup | undefined;
  #open = 0;
  #openCost = 0;
  #refusing = 0;
  #taken = 0;
  /** What requests made now belong to. */
  #era: Era = {};
  /** The process that requests come from. The next one counts from 1 again, and must not get answers meant for this. */
  #process = { isGone: false };

  constructor(options: RpcDeskOptions) {
    this.#options = options;
  }

  /**
   * Answers `frame`, which takes `cost` bytes in memory, through `reply`, which resolves when the sandbox has taken it. Until then
   * it is counted in `place`. Never rejects.
   */
  async serve(
    frame: RpcFrame,
    cost: number,
    reply: (line: Reply) => Promise<void>,
    place?: Place,
  ): Promise<void> {
    if (frame.fault !== undefined || this.#open >= MAX_OPEN || this.#openCost + cost > MAX_OPEN_COST) {
      await this.#refuse(frame, reply);
      return;
    }
    this.#open += 1;
    this.#openCost += cost;
    place?.share();
    const limit = this.#options.limit();
    const era = this.#era;
    const process = this.#process;
    const serve = async () => {
      if (this.#taken < MAX_ACTIVE) this.#taken += 1;
      else await this.#wait();
      const claim = new Claim(this);
      try {
        const answer = await withinRun({ claim }, () => this.#answer(frame, era, limit, claim));
        if (!process.isGone) await reply(answer);
      } finally {
        claim.release();
        this.#leave();
      }
    };
    try {
      await (BULKY.has(frame.method) ? this.#inTurn(serve) : serve());
    } finally {
      this.#open -= 1;
      this.#openCost -= cost;
      place?.leave();
    }
  }

  /** What is with the servers now, oldest first. */
  underWay(): readonly UnderWay[] {
    return [...this.#active].map(({ request, startedAt }) => ({ label: labelRequest(request), startedAt }));
  }

  /** Stops all requests under way. Those made afterwards are served as usual. */
  abandon(reason: string): void {
    const error = new BridgeError("CANCELLED", reason);
    this.#era.abandoned = error; // for those that still wait for their turn
    this.#era = {};
    this.#group?.letGo();
    this.#group = undefined;
    for (const { group } of this.#active) group.stop(error);
  }

  /** As `abandon`, for a process that is gone: nothing made before is answered any more. */
  forget(reason: string): void {
    this.#process.isGone = true;
    this.#process = { isGone: false };
    this.abandon(reason);
  }

  async #answer(frame: RpcFrame, era: Era, limit: CallLimit, claim: Claim): Promise<Reply> {
    const request = this.#options.parse(frame);
    if ("invalid" in request) {
      return failure(frame.id, { kind: "internal", message: request.invalid, server: null, tool: null });
    }
    if (era.abandoned !== undefined) return failure(frame.id, describe(request, era.abandoned));
    const group = this.#groupOf(request, limit);
    const { signal } = group;
    const whileAsking: WhileAsking = async (work) => {
      const goOn = group.pause();
      this.#leave(); // others need not wait for a person
      try {
        return await work();
      } finally {
        goOn();
        if (this.#taken < MAX_ACTIVE) this.#taken += 1;
        else await this.#wait();
      }
    };
    const active = { request, startedAt: performance.now(), group };
    this.#active.add(active);
    group.enter();
    try {
      signal.throwIfAborted();
      const value = await serveRequest(request, this.#options.host, signal, whileAsking);
      const room = claim.cover(value, signal);
      if (room !== undefined) await room;
      return ["k", { type: "reply", id: frame.id, value }];
    } catch (error) {
      const reason = group.isLate ? timedOut(request) : signal.aborted ? signal.reason : error;
      return failure(frame.id, describe(request, toBridgeError(reason)));
    } finally {
      group.leave();
      this.#active.delete(active);
    }
  }

  #groupOf(request: RpcRequest, limit: CallLimit): CallGroup {
    const own = ownLimit(request);
    if (own !== undefined) return new CallGroup(limit, [limit, own], false);
    if (this.#group?.limit !== limit) {
      this.#group?.letGo();
      this.#group = new CallGroup(limit, [limit], true);
    }
    return this.#group;
  }

  /**
   * A flood of requests makes refusals faster than the sandbox takes them, and it cannot be held back: Podman's monitor
   * passes nothing on to a sandbox whose own words are not read. So those that are too many get none.
   */
  async #refuse(frame: RpcFrame, reply: (line: Reply) => Promise<void>): Promise<void> {
    if (this.#refusing >= MAX_OPEN) return;
    const tooMany = `more than ${MAX_OPEN} requests or ${MAX_OPEN_COST} bytes of requests are open at once; await some before making more`;
    const message = frame.fault ?? tooMany;
    this.#refusing += 1;
    try {
      await reply(failure(frame.id, { kind: "limit", message, server: null, tool: null }));
    } finally {
      this.#refusing -= 1;
    }
  }

  async #inTurn(serve: () => Promise<void>): Promise<void> {
    const leave = await this.#bulky.enter();
    try {
      const leaveAll = await allBulky.enter();
      const timer = setTimeout(leaveAll, MAX_BULKY_MS);
      timer.unref();
      try {
        await serve();
      } finally {
        clearTimeout(timer);
        leaveAll();
      }
    } finally {
      leave();
    }
  }

  /** Until another's place is handed over. */
  #wait(): Promise<void> {
    return new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken -= 1;
    else next();
  }
}

/** The requests between one `abandon()` and the next; a listener on a signal for each of them would cost more than this. */
interface Era {
  abandoned?: BridgeError;
}

/** A request that a server has not answered yet; `startedAt` in the milliseconds of `performance.now()`. */
export interface UnderWay {
  readonly label: string;
  readonly startedAt: number;
}

interface ActiveRequest extends Pick<UnderWay, "startedAt"> {
  readonly request: RpcRequest;
  readonly group: CallGroup;
}

const KINDS: Partial<Record<ErrorCode, RpcError["kind"]>> = {
  UPSTREAM_FAILED: "tool",
  UPSTREAM_UNKNOWN_SERVER: "unknown",
  UPSTREAM_NOT_USABLE: "denied",
  APPROVAL_DENIED: "denied",
  UPSTREAM_UNKNOWN_TOOL: "unknown",
  UPSTREAM_UNREACHABLE: "unreachable",
  UPSTREAM_TIMEOUT: "timeout",
  SESSION_UNKNOWN: "unknown",
  LIMIT_EXCEEDED: "limit",
  MEMORY_REFUSED: "memory",
  MEMORY_UNAVAILABLE: "memory",
};

function describe(request: RpcRequest, error: BridgeError): RpcError {
  const { server = null, tool = null } = request.params as { server?: string; tool?: string };
  const message = error.hint === undefined ? error.message : `${error.message} (${error.hint})`;
  return { kind: KINDS[error.code] ?? "internal", message, server, tool };
}

function failure(id: number, error: RpcError): Reply {
  return ["k", { type: "reply_error", id, error }];
}

/** The time that the request itself asks for. */
function ownLimit(request: RpcRequest): CallLimit | undefined {
  const seconds = request.method === "call_tool" ? request.params.timeout : null;
  return seconds === null ? undefined : new TimeLimit(seconds * 1000);
}

function timedOut(request: RpcRequest): BridgeError {
  const limit = request.method === "call_tool" ? request.params.timeout : null;
  const late = limit === null ? "took longer than it may" : `took longer than its timeout of ${limit} s`;
  return new BridgeError("UPSTREAM_TIMEOUT", `the request ${JSON.stringify(request.method)} ${late}`);
}
