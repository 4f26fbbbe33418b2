import type { SessionAnswer, SessionClient } from "../../test/e2e/helpers/session-clients.ts";
import type { Random } from "../fuzz-programs/random.ts";
import type { Ledger } from "./ledger.ts";
import type { Tally } from "./tally.ts";

const LOST = "Variables, imports and functions of this session are gone";
/** What code finds in a sandbox that never had the variable. */
const FORGOTTEN = "NameError: name 'n'";

export interface WorkerOptions {
  readonly name: string;
  readonly connect: () => Promise<SessionClient>;
  /** Whether the sessions end with the client's connection. */
  readonly endsWithClient: boolean;
  readonly random: Random;
  readonly tally: Tally;
  readonly ledger: Ledger;
}

/** One session and its client, who knows what each call must give. */
export class Worker {
  readonly #options: WorkerOptions;
  #client: SessionClient | undefined;
  #session: string | undefined;
  /** What `n` is in the session, and what the memory of that name holds; `undefined` where that is not known. */
  #n: number | undefined;
  #kept: number | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  async runUntil(isOver: () => boolean): Promise<void> {
    const { random, name, tally } = this.#options;
    const steps: readonly [string, number, () => Promise<void>][] = [
      ["count", 40, () => this.#countUp()],
      ["memory", 12, () => this.#remember()],
      ["shared-memory", 8, () => this.#addUp()],
      ["upstream", 14, () => this.#echo()],
      ["upstream-http", 14, () => this.#addOverHttp()],
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
        tally.count(kind);
      } catch (error) {
        tally.fault(`${name} ${kind}`, `threw ${String(error)}`);
        await this.#disconnect();
        this.#session = undefined;
      }
    }
    await this.#disconnect();
  }

  /** Runs code in this session; `undefined` when it failed or the variables were lost, and the answer said so. */
  async #run(kind: string, code: string): Promise<string | undefined> {
    const { tally, name, connect } = this.#options;
    this.#client ??= await connect();
    if (this.#session === undefined && !(await this.#open())) return undefined;
    const answer = await this.#client.run(code, this.#session);
    if (!answer.text.includes(LOST) && !answer.isError) return answer.text;
    if (answer.text.includes(FORGOTTEN) && !answer.text.includes(LOST))
      tally.fault(`${name} ${kind}, lost without a word`, answer.text);
    tally.failed(`${name} ${kind}`, answer.text);
    this.#n = undefined;
    return undefined;
  }

  /** A session of its own, in a sandbox that may be lost on the way. */
  async #open(): Promise<boolean> {
    const opened = await this.#client?.run("'opened'", "new");
    this.#n = undefined;
    this.#session = opened?.session;
    if (opened !== undefined && (this.#session === undefined || opened.isError)) this.#note("new", opened);
    return this.#session !== undefined;
  }

  async #countUp(): Promise<void> {
    const known = this.#n;
    const text = await this.#run("count", known === undefined ? "n = 0\nn" : "n += 1\nn");
    if (text === undefined) return;
    this.#n = known === undefined ? 0 : known + 1;
    this.#check("count", text, String(this.#n));
  }

  async #remember(): Promise<void> {
    const { name, random } = this.#options;
    const value = random.below(1_000_000);
    const code = `before = load_memory('${name}', default=None)\nsave_memory('${name}', ${value})\n[before, load_memory('${name}')]`;
    const kept = this.#kept;
    this.#kept = undefined; // until it is known
    const text = await this.#run("memory", code);
    if (text === undefined) return;
    const before = kept === undefined ? /^\[(\w+),/.exec(text)?.[1] : String(kept);
    this.#check("memory", text, `[${before}, ${value}]`);
    this.#kept = value;
  }

  /** One memory of all, changed from every side: none of the additions may be lost or made twice. */
  async #addUp(): Promise<void> {
    const { ledger } = this.#options;
    const text = await this.#run(
      "shared-memory",
      `update_memory('${ledger.key}', lambda v: v + 1, default=0)`,
    );
    const total = text === undefined ? undefined : Number(text.split("\n")[0]);
    if (total === undefined) ledger.perhaps();
    else if (Number.isInteger(total)) ledger.surely(total);
    else this.#options.tally.fault("shared-memory", text ?? "");
  }

  async #echo(): Promise<void> {
    const { name, random } = this.#options;
    const given = `${name}-${random.below(1_000_000)}`;
    const text = await this.#run("upstream", `(await mcp_bench.echo(text='${given}')).text`);
    if (text !== undefined) this.#check("upstream", text, `'${given}'`);
  }

  async #addOverHttp(): Promise<void> {
    const { random } = this.#options;
    const [a, b] = [random.below(1_000_000), random.below(1_000_000)];
    const text = await this.#run("upstream-http", `(await mcp_adder.add(a=${a}, b=${b})).text`);
    if (text !== undefined) this.#check("upstream-http", text, `'${a + b}'`);
  }

  async #print(): Promise<void> {
    const text = await this.#run("output", "print('x' * 1_000_000)\n'printed'");
    if (text !== undefined && !text.includes("'printed'")) this.#options.tally.fault("output", text);
  }

  /** Code that ends Python, or is stopped; the variables may survive a stop. */
  async #lose(code: string): Promise<void> {
    const text = await this.#run("lose", code);
    if (text !== undefined) this.#options.tally.fault(`lose ${code}`, text);
  }

  async #disconnect(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (this.#options.endsWithClient) {
      this.#session = undefined;
      this.#n = undefined;
    }
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
    const opened = await this.#client.run(`await runtime.end_session('${ended}')\n'ended'`, "new");
    this.#session = opened.session;
    this.#n = undefined;
    if (opened.isError || opened.text.includes(LOST)) this.#note("end", opened);
    else this.#check("end", opened.text, "'ended'");
  }

  #note(kind: string, { text }: SessionAnswer): void {
    this.#options.tally.failed(`${this.#options.name} ${kind}`, text);
  }

  #check(kind: string, text: string, expected: string): void {
    if (text.split("\n")[0] !== expected) this.#options.tally.fault(`${kind}, expected ${expected}`, text);
  }
}
