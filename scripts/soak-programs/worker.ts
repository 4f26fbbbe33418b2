import { connectHttp, type SessionClient } from "../../test/e2e/helpers/session-clients.ts";
import type { Random } from "../fuzz-programs/random.ts";
import type { Tally } from "./tally.ts";

const LOST = "Variables, imports and functions of this session are gone";
/** What a call may say that met a server or a sandbox which was just killed. */
const REASONS =
  /MCPError|UPSTREAM_[A-Z]+|SESSION_[A-Z]+|server ".*" (?:ended|is not|could not)|the sandbox did not start|out of memory|MemoryError|was stopped after/;

export interface WorkerOptions {
  readonly url: URL;
  readonly token: string;
  readonly name: string;
  readonly line: "v1" | "v2";
  readonly random: Random;
  readonly tally: Tally;
}

/** One session and its client, who knows what each call must give. */
export class Worker {
  readonly #options: WorkerOptions;
  #client: SessionClient | undefined;
  #session: string | undefined;
  /** What `n` is in the session, and what the memory of that name holds. */
  #n = 0;
  #kept: number | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  async runUntil(isOver: () => boolean): Promise<void> {
    const { random } = this.#options;
    const steps: readonly [string, number, () => Promise<void>][] = [
      ["count", 40, () => this.#countUp()],
      ["memory", 15, () => this.#remember()],
      ["upstream", 20, () => this.#callUpstream()],
      ["output", 6, () => this.#print()],
      ["timeout", 2, () => this.#lose("while True: pass")],
      ["exit", 4, () => this.#lose("import os\nos._exit(3)")],
      ["memory-bomb", 3, () => this.#lose("hoard = []\nwhile True: hoard.append(bytearray(10_000_000))")],
      ["signal", 3, () => this.#lose("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")],
      ["reconnect", 4, () => this.#disconnect()],
      ["end", 3, () => this.#end()],
    ];
    const lots = steps.flatMap((step) => Array.from({ length: step[1] }, () => step));
    while (!isOver()) {
      const [kind, , step] = random.pick(lots);
      try {
        await step();
        this.#options.tally.count(kind);
      } catch (error) {
        this.#options.tally.fault(`${this.#options.name} ${kind}`, `threw ${String(error)}`);
        await this.#disconnect();
        this.#session = undefined;
      }
    }
    await this.#disconnect();
  }

  /** Runs code in this session; `undefined` when the variables were lost, which the answer must say. */
  async #run(kind: string, code: string): Promise<string | undefined> {
    const { url, token, line, tally, name } = this.#options;
    this.#client ??= await connectHttp(url, token, line);
    if (this.#session === undefined) {
      const opened = await this.#client.run("n = 0", "new");
      this.#session = opened.session;
      this.#n = 0;
      if (opened.session === undefined) tally.fault(`${name} new`, opened.text);
    }
    const { text, isError } = await this.#client.run(code, this.#session);
    if (!text.includes(LOST)) {
      if (isError && !REASONS.test(text)) tally.fault(`${name} ${kind}, no reason`, text);
      return text;
    }
    tally.said += 1;
    await this.#define();
    return undefined;
  }

  /** Gives the session its variable anew; sandboxes may be killed on the way, and that is said. */
  async #define(): Promise<void> {
    this.#n = 0;
    for (let left = 10; left > 0; left -= 1) {
      const again = await this.#client?.run("n = 0\n'defined'", this.#session);
      if (again?.text.startsWith("'defined'") === true) return;
      const text = again?.text ?? "no client";
      if (!text.includes(LOST) && !REASONS.test(text)) this.#options.tally.fault("define", text);
    }
  }

  async #countUp(): Promise<void> {
    const text = await this.#run("count", "n += 1\nn");
    if (text === undefined) return;
    this.#n += 1;
    this.#check("count", text, String(this.#n));
  }

  async #remember(): Promise<void> {
    const { name, random } = this.#options;
    const value = random.below(1_000_000);
    const code = `before = load_memory('${name}', default=None)\nsave_memory('${name}', ${value})\n[before, load_memory('${name}')]`;
    const text = await this.#run("memory", code);
    if (text === undefined) {
      this.#kept = undefined; // it may have been saved or not
      return;
    }
    const before = this.#kept === undefined ? /^\[(\w+),/.exec(text)?.[1] : String(this.#kept);
    this.#check("memory", text, `[${before}, ${value}]`);
    this.#kept = value;
  }

  async #callUpstream(): Promise<void> {
    const given = `${this.#options.name}-${this.#options.random.below(1_000_000)}`;
    const text = await this.#run("upstream", `(await mcp_bench.echo(text='${given}')).text`);
    if (text === undefined || text.includes(`'${given}'`)) return;
    if (REASONS.test(text)) this.#options.tally.said += 1;
    else this.#options.tally.fault("upstream", text);
  }

  async #print(): Promise<void> {
    const text = await this.#run("output", "print('x' * 1_000_000)\n'printed'");
    if (text !== undefined && !text.includes("'printed'")) this.#options.tally.fault("output", text);
  }

  /** Code that ends Python, or is stopped; the variables may survive a stop. */
  async #lose(code: string): Promise<void> {
    const text = await this.#run("lose", code);
    if (text !== undefined && !REASONS.test(text)) this.#options.tally.fault(`lose ${code}`, text);
    else if (text !== undefined) this.#options.tally.said += 1;
  }

  async #disconnect(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    try {
      await client?.[Symbol.asyncDispose]();
    } catch {
      // the server may not hear of it
    }
  }

  async #end(): Promise<void> {
    if (this.#session === undefined || this.#client === undefined) return;
    const ended = this.#session;
    this.#session = undefined;
    const { tally } = this.#options;
    const opened = await this.#client.run(`await runtime.end_session('${ended}')\nn = 0\n'ended'`, "new");
    this.#session = opened.session;
    this.#n = 0;
    if (opened.text.includes(LOST)) {
      tally.said += 1;
      await this.#define();
    } else if (REASONS.test(opened.text)) {
      tally.said += 1;
      await this.#define();
    } else if (!opened.text.startsWith("'ended'")) tally.fault("end", opened.text);
  }

  #check(kind: string, text: string, expected: string): void {
    if (text.split("\n")[0] !== expected) this.#options.tally.fault(`${kind}, expected ${expected}`, text);
  }
}
