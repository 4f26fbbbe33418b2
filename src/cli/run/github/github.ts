import { appendFile } from "node:fs/promises";
import { BridgeError } from "../../../core/errors.ts";
import { explainFileFault } from "../../../core/file-faults.ts";
import type { CliIo } from "../../context.ts";
import type { JobInputs } from "../job-inputs.ts";
import type { JobResult } from "../job-result.ts";
import { annotationOf, faultAnnotation } from "./annotation.ts";
import { CommandGuard } from "./command-guard.ts";
import { renderSummary } from "./summary.ts";

/** What is different in a step of GitHub Actions, which reads our output for commands. */
export class GithubStep {
  readonly #io: CliIo;
  readonly #guard = new CommandGuard();

  constructor(io: CliIo) {
    this.#io = io;
  }

  /** `undefined` where we run anywhere else. */
  static of(io: CliIo): GithubStep | undefined {
    return io.env["GITHUB_ACTIONS"] === "true" ? new GithubStep(io) : undefined;
  }

  /** Text of the program as it may be written. */
  readonly pass = (name: "stdout" | "stderr", text: string): string => this.#guard.pass(name, text);

  /** Says how the job ended: an annotation where it failed, and the summary. `name` is what it is called. */
  async finish(name: string, result: JobResult, inputs: JobInputs): Promise<void> {
    const annotation = annotationOf(result, inputs.files, this.#io.env["GITHUB_WORKSPACE"] ?? process.cwd());
    if (annotation !== undefined) this.#say(annotation);
    const file = this.#io.env["GITHUB_STEP_SUMMARY"];
    if (file === undefined || file === "") return;
    await appendFile(file, renderSummary(name, result)).catch((error: unknown) =>
      this.#io.stderr.write(`sandpy: the summary could not be written: ${explainFileFault(error).what}\n`),
    );
  }

  /** Says why the job could not run. Returns the fault as it may be told after that: it can quote servers. */
  fail(fault: BridgeError): BridgeError {
    this.#say(faultAnnotation(fault));
    const { code, message, hint, data, cause } = fault;
    const words = (text: string) => this.pass("stderr", `${text}\n`).trimEnd();
    return new BridgeError(code, words(message), {
      ...(hint === undefined ? {} : { hint: words(hint) }),
      ...(data === undefined ? {} : { data }),
      cause: cause ?? fault,
    });
  }

  /** On a line of its own, on stderr: stdout may be somebody's data. */
  #say(line: string): void {
    this.#io.stderr.write(this.#guard.isAtLineStart ? line : `\n${line}`);
  }
}
