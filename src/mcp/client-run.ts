import { randomBytes } from "node:crypto";
import type { InputRequests, ServerContext } from "@modelcontextprotocol/server";
import type { PeerMessage } from "../upstream/client-peer.ts";
import { ProgressStream } from "./progress.ts";
import type { ToolAnswer } from "./render-result.ts";

/** A client that calls again without an answer is asked again, so often; then it is one that has none. */
const MAX_FRUITLESS = 32;

type Answer = Readonly<Record<string, unknown>>;

/** Something that an upstream server wants to know of the client. */
interface Question {
  readonly message: PeerMessage;
  readonly resolve: (answer: Answer) => void;
  readonly withdraw: (why: string) => void;
}

/**
 * One `run_python`, and the request of the client that waits for it now. In the revision of 2026-07-28 that can be several
 * one after the other: a question to the client ends the request, and the client's answer is the next one, under the
 * run's `token`, while the program goes on.
 */
export class ClientRun {
  #token: string | undefined;
  readonly #abort = new AbortController();
  readonly #questions = new Map<string, Question>();
  #asked = 0;
  #fruitless = 0;
  #isOver = false;
  #onQuestion = () => {};
  #context: ServerContext | undefined;
  #progress: ProgressStream | undefined;

  /** Not to be guessed: who has it may answer for the client. Most runs ask nothing and need none. */
  get token(): string {
    this.#token ??= randomBytes(18).toString("base64url");
    return this.#token;
  }

  /** Whether the run has one. */
  get isNamed(): boolean {
    return this.#token !== undefined;
  }

  /** Aborts when a request that waits for the run is cancelled. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the run has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get context(): ServerContext | undefined {
    return this.#context;
  }

  /** Where output is streamed to; only a client that asked for it by a token gets it. */
  get progress(): ProgressStream | undefined {
    return this.#progress;
  }

  /** Waits, for a request of the client, until the run has an answer or a question; the latter gives `asked`. */
  async waitFor(answer: Promise<ToolAnswer>, context: ServerContext): Promise<ToolAnswer | "asked"> {
    const { signal } = context.mcpReq;
    const cancel = () => this.#abort.abort(signal.reason);
    if (signal.aborted) cancel();
    signal.addEventListener("abort", cancel, { once: true });
    const progress = createProgress(context);
    this.#context = context;
    this.#progress = progress;
    try {
      const asked = new Promise<"asked">((resolve) => {
        this.#onQuestion = () => resolve("asked");
        if (this.#questions.size > 0) resolve("asked");
      });
      return await Promise.race([answer, asked]);
    } finally {
      this.#onQuestion = () => {};
      signal.removeEventListener("abort", cancel);
      progress?.stop();
      this.#context = undefined;
      this.#progress = undefined;
    }
  }

  /** The run has its answer: nobody comes any more with an answer to what is still open, or asked later. */
  end(): void {
    this.#isOver = true;
    this.#withdrawAll("the run of the client is over");
  }

  /** Puts a question to the client, to be sent as the result of the request that waits. */
  async ask(message: PeerMessage, signal: AbortSignal): Promise<Answer> {
    if (this.#isOver) throw new Error("the run of the client is over");
    this.#asked += 1;
    const id = `question-${this.#asked}`;
    return new Promise((resolve, reject) => {
      const give = (settle: () => void) => {
        this.#questions.delete(id);
        signal.removeEventListener("abort", giveUp);
        settle();
      };
      const giveUp = () => give(() => reject(new Error("the question was taken back")));
      if (signal.aborted) return giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
      const withdraw = (why: string) => give(() => reject(new Error(why)));
      this.#questions.set(id, { message, resolve: (answer) => give(() => resolve(answer)), withdraw });
      this.#onQuestion();
    });
  }

  /** The questions that are open. */
  questions(): InputRequests {
    const entries = [...this.#questions].map(([id, { message }]) => [id, message]);
    return Object.fromEntries(entries) as InputRequests; // the SDK checked them on their way in
  }

  /** Takes what the client says to some of the questions. */
  answer(answers: Readonly<Record<string, unknown>>): void {
    const open = this.#questions.size;
    for (const [id, answer] of Object.entries(answers)) {
      if (typeof answer === "object" && answer !== null) this.#questions.get(id)?.resolve(answer as Answer);
    }
    this.#fruitless = this.#questions.size < open ? 0 : this.#fruitless + 1;
    if (this.#fruitless >= MAX_FRUITLESS)
      this.#withdrawAll(`the client called again ${MAX_FRUITLESS} times without an answer`);
  }

  #withdrawAll(why: string): void {
    for (const { withdraw } of [...this.#questions.values()]) withdraw(why);
  }
}

function createProgress({ mcpReq }: ServerContext): ProgressStream | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return new ProgressStream((update) =>
    mcpReq.notify({ method: "notifications/progress", params: { progressToken, ...update } }),
  );
}
