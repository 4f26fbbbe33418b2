import { BridgeError } from "../../core/errors.ts";
import type { ServerDefinition, ToolRule } from "../../discovery/server-definition.ts";
import type { ToolSummary } from "../../kernel/host-tools.ts";
import { abortedError, limitTime, waitFor } from "../abort.ts";
import type { ClientPeer } from "../client-peer.ts";
import type { Mask } from "../mask.ts";
import { plainText } from "../relayed-text.ts";
import { Batch } from "./batch.ts";
import { type Choice, parseAnswer, renderQuestion } from "./question.ts";

/** A person who is asked more often within one run does not read any more. */
const MAX_QUESTIONS = 20;
/** Code that asks until a tired person gives in is not heard any more in its run. */
export const MAX_DENIALS = 3;
/** From this revision on a client gives up a call that wants more answers of it, of servers' own too: the SDK's after ten. */
const FIRST_WITH_ROUNDS = "2026-07-28";
const MAX_ROUNDS = 8;
/** Clients give up on a call of which they hear nothing for a minute. */
const PROGRESS_MS = 10_000;
const MAX_REASON_CHARS = 300;

/** A call that the user is to be asked about. */
export interface ApprovalRequest {
  readonly definition: ServerDefinition;
  readonly tool: ToolSummary;
  readonly rule: ToolRule;
  readonly arguments: unknown;
  readonly mask: Mask;
  /** The same for all calls of the same tool of what is the same server. */
  readonly name: string;
  /** The same as long as the server also defines the tool in the same way. */
  readonly key: string;
}

/** `run` and `session` allow later calls too. `unable`: the client cannot ask; `unanswered`: it was too late. */
export interface Verdict {
  readonly answer: Choice | "dismissed" | "denied before" | "unanswered" | "unable" | "too many";
  /** For `unable`: a clause that says why. */
  readonly reason?: string;
}

const DENIED_BEFORE: Verdict = { answer: "denied before" };

export interface ApprovalsOptions {
  /** The client for whom the session runs now; `undefined`: nobody can be asked. */
  readonly peer: () => ClientPeer | undefined;
  /** What the questions of one run may take in all. */
  readonly timeoutMs: number;
}

/** What was asked and allowed in one run; what it leaves in the background goes on with it. */
interface Run {
  /** The client that it is for. */
  readonly peer: ClientPeer | undefined;
  questions: number;
  denials: number;
  askedMs: number;
  readonly allowed: Set<string>;
  /** Questions that calls can still join: those of another run may be for another client. */
  readonly open: Map<string, Batch>;
}

/**
 * Asks the user of one session, by its client, whether tools may be called: one question at a time, for all calls of a
 * tool that come together. An answer can hold for the rest of the run or the session.
 */
export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #allowed = new Set<string>();
  /** The names of the tools that these are of: one that is asked for again has changed. */
  readonly #allowedNames = new Set<string>();
  /** Questions that are not answered yet. */
  #waiting = 0;
  #run: Run;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: ApprovalsOptions) {
    this.#options = options;
    this.#run = this.#newRun();
  }

  get timeoutMs(): number {
    return this.#options.timeoutMs;
  }

  /** How often one run may ask. */
  get maxQuestions(): number {
    const revision = this.#run.peer?.revision() ?? "";
    return revision >= FIRST_WITH_ROUNDS ? MAX_ROUNDS : MAX_QUESTIONS; // dates sort as text
  }

  beginRun(): void {
    this.#run = this.#newRun();
  }

  /** What the user has said before of the same tool; `undefined`: there is no such word. */
  earlier({ key }: ApprovalRequest): Verdict | undefined {
    return this.#earlierIn(this.#run, key);
  }

  /** Resolves with what the user says. Rejects when `signal` aborts; a question that nobody waits for is taken back. */
  async ask(request: ApprovalRequest, signal: AbortSignal): Promise<Verdict> {
    if (signal.aborted) throw abortedError(signal, "the wait for the user's approval");
    const reason = this.#whyNot();
    if (reason !== undefined) return { answer: "unable", reason };
    if (this.#run.denials >= MAX_DENIALS) return DENIED_BEFORE;
    const batch = this.#run.open.get(request.key) ?? this.#begin(request);
    return batch?.join(request, signal) ?? { answer: "too many" };
  }

  #newRun(): Run {
    return {
      peer: this.#options.peer(),
      questions: 0,
      denials: 0,
      askedMs: 0,
      allowed: new Set(),
      open: new Map(),
    };
  }

  #earlierIn(run: Run, key: string): Verdict | undefined {
    if (this.#allowed.has(key)) return { answer: "session" };
    return run.allowed.has(key) ? { answer: "run" } : undefined;
  }

  #whyNot(): string | undefined {
    const { peer } = this.#run;
    if (peer === undefined) return "there is nobody to ask here";
    return canShowForms(peer) ? undefined : "this client cannot ask for it: it does not support elicitation";
  }

  #begin(request: ApprovalRequest): Batch | undefined {
    const run = this.#run;
    if (run.questions >= this.maxQuestions || this.#waiting >= MAX_QUESTIONS) return undefined;
    run.questions += 1;
    this.#waiting += 1;
    const batch = new Batch(request);
    run.open.set(request.key, batch);
    this.#turn = this.#turn
      .then(() => this.#conduct(batch, run))
      .finally(() => {
        this.#waiting -= 1;
      });
    return batch;
  }

  /** Never rejects. */
  async #conduct(batch: Batch, run: Run): Promise<void> {
    const { key } = batch.request;
    await batch.collect();
    run.open.delete(key);
    batch.take();
    const earlier = this.#earlierIn(run, key) ?? (run.denials < MAX_DENIALS ? undefined : DENIED_BEFORE);
    if (earlier !== undefined || batch.isEmpty) {
      run.questions -= 1; // nobody was asked
      if (earlier !== undefined) batch.settle(earlier);
      return;
    }
    const verdict = await this.#put(batch, run);
    this.#remember(verdict, batch.request, run);
    batch.settle(verdict);
  }

  #remember({ answer }: Verdict, { name, key }: ApprovalRequest, run: Run): void {
    if (answer === "deny" || answer === "dismissed") run.denials += 1;
    if (answer === "run") run.allowed.add(key);
    if (answer !== "session") return;
    this.#allowed.add(key);
    this.#allowedNames.add(name);
  }

  async #put(batch: Batch, run: Run): Promise<Verdict> {
    const { timeoutMs } = this.#options;
    const { peer } = run;
    const leftMs = timeoutMs - run.askedMs;
    if (peer === undefined || leftMs <= 0) return { answer: "unanswered" };
    const { definition, tool, rule, mask, name } = batch.request;
    const late = () => new BridgeError("APPROVAL_DENIED", "the user did not answer in time");
    const { signal, release } = limitTime(batch.gone, leftMs, late);
    const askedAt = performance.now();
    const tell = () =>
      peer.progress({
        server: definition.name,
        tool: tool.name,
        progress: Math.round((performance.now() - askedAt) / 1000),
        message: "s of waiting for your approval",
      });
    tell();
    const telling = setInterval(tell, PROGRESS_MS);
    telling.unref();
    try {
      const server = definition.name;
      const hasChanged = this.#allowedNames.has(name);
      const question = { server, tool, hasChanged, rule: rule.rule, arguments: batch.arguments, mask };
      const asked = peer.request(renderQuestion(question, peer.revision()), signal);
      return { answer: parseAnswer(await waitFor(asked, signal, "the user's approval")) };
    } catch (error) {
      return signal.aborted ? { answer: "unanswered" } : { answer: "unable", reason: reasonOf(error) };
    } finally {
      clearInterval(telling);
      release();
      run.askedMs += performance.now() - askedAt;
    }
  }
}

/** A client that names no kind of elicitation means forms: there was nothing else. */
function canShowForms(peer: ClientPeer): boolean {
  const { elicitation } = peer.capabilities();
  if (typeof elicitation !== "object" || elicitation === null) return false;
  return "form" in elicitation || !("url" in elicitation);
}

function reasonOf(error: unknown): string {
  const text = plainText(error instanceof Error ? error.message : String(error));
  return `this client could not ask for it: ${text.slice(0, MAX_REASON_CHARS).toWellFormed()}`;
}
