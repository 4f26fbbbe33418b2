import { withDeadline } from "../core/lifecycle.ts";
import { type KernelFrame, renderLine } from "./protocol.ts";

type AnswerFrame = Extract<KernelFrame, { type: "answer" }>;

/** What the kernel answers to an `ask`; untrusted, and only what it may be where no user code runs. */
export type Answer =
  | { readonly value: Readonly<Record<string, unknown>> }
  /** A clause. */
  | { readonly error: string };

/** The requests of the host to the kernel that are not answered yet. */
export class Asks {
  readonly #open = new Map<number, (answer: Answer) => void>();
  #lastId = 0;

  /** Asks by `send`. Never rejects: silence until `deadlineMs` is an error too. */
  async ask(
    method: string,
    params: Readonly<Record<string, unknown>>,
    deadlineMs: number,
    send: (line: string) => void,
  ): Promise<Answer> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answered = new Promise<Answer>((resolve) => this.#open.set(id, resolve));
    send(renderLine(["k", { type: "ask", id, method, params }]));
    try {
      return await withDeadline(answered, deadlineMs, method);
    } catch {
      return { error: `the sandbox did not answer within ${deadlineMs / 1000} s` };
    } finally {
      this.#open.delete(id);
    }
  }

  settle({ id, value, error }: AnswerFrame): void {
    this.#open.get(id)?.(value === null ? { error: error ?? "no reason is known" } : { value });
  }

  /** Nobody is left who could answer. */
  fail(reason: string): void {
    for (const settle of this.#open.values()) settle({ error: reason });
  }
}
