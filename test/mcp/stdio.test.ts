import { describe, expect, test } from "bun:test";
import { PassThrough, Writable } from "node:stream";
import { McpClientPeer } from "../../src/mcp/client-peer.ts";
import type { PythonRunner } from "../../src/mcp/python-runner.ts";
import { createServer } from "../../src/mcp/server.ts";
import { serveStdio } from "../../src/mcp/stdio.ts";
import { createEchoRunner } from "../fixtures/mcp/echo-runner.ts";
import { createMemoryLog } from "../helpers/logs.ts";
import { patient } from "../helpers/patient.ts";
import { call, INITIALIZE, request } from "../helpers/raw-server.ts";
import { NOTHING } from "../helpers/run-results.ts";
import { until } from "../helpers/until.ts";

const MEGABYTE = "x".repeat(1 << 20);
const BACKLOG_MEGABYTES = 16;

/** A client's reading end that takes nothing until it is told to. */
class StuckReader extends Writable {
  readonly lines: string[] = [];
  #waiting: (() => void) | undefined;
  #reads = false;

  constructor() {
    super({ highWaterMark: 1 });
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.lines.push(chunk.toString());
    if (this.#reads) done();
    else this.#waiting = done;
  }

  read(): void {
    this.#reads = true;
    this.#waiting?.();
  }
}

function serve(runner: PythonRunner, stdout: Writable) {
  const log = createMemoryLog();
  const stdin = new PassThrough();
  const defaults = { timeoutSeconds: 30, maxTimeoutSeconds: 120 };
  const serving = serveStdio({
    log,
    stdin,
    stdout,
    createServer: (shutdown) =>
      createServer(runner, {
        name: "sandpy",
        version: "1",
        defaults,
        outputMode: "compact",
        log,
        shutdown,
        peer: new McpClientPeer(),
        manual: "",
      }),
  });
  return { stdin, serving };
}

describe("a client that does not read", () => {
  test("CLI-5: is not read from either, once much is unsent; nothing is lost when it reads again", async () => {
    let runs = 0;
    const runner: PythonRunner = {
      async run() {
        runs++;
        return { ...NOTHING, stdout: MEGABYTE };
      },
    };
    const stdout = new StuckReader();
    const { stdin, serving } = serve(runner, stdout);
    stdin.write(INITIALIZE);
    const calls = 3 * BACKLOG_MEGABYTES;
    for (let id = 0; id < calls; id++) {
      stdin.write(call(id, "1"));
      await new Promise(setImmediate); // each call in a chunk of its own, as from a pipe
    }
    await until("a pause", () => stdin.isPaused());
    const before = runs;
    expect(before).toBeLessThan(calls);
    stdout.read();
    await until("every reply", () => stdout.lines.length === calls + 1);
    stdin.end();
    await serving.done;
    expect(runs).toBe(calls);
  });

  test("has at most one progress update under way", async () => {
    const stdout = new StuckReader();
    const echo = createEchoRunner();
    let finished = 0;
    const runner: PythonRunner = {
      run: (given, signal) =>
        echo.run(given, signal).finally(() => {
          finished++;
        }),
    };
    const { stdin, serving } = serve(runner, stdout);
    const meta = { _meta: { progressToken: "p" }, name: "run_python" };
    stdin.write(INITIALIZE);
    const code = Array.from({ length: 20 }, () => "flood 1000\nwait 20").join("\n");
    stdin.write(request(1, "tools/call", { ...meta, arguments: { code } }));
    stdin.write(call(2, "value after"));
    await until("both calls to end", () => finished === 2);
    stdin.end();
    stdout.read();
    await serving.done;
    const ids = stdout.lines.map((line) => JSON.parse(line).id);
    expect(ids).toEqual(["init", undefined, 1, 2]);
    for (const line of stdout.lines) expect(line.length).toBeLessThan(8192);
  });
});

describe("a client that closes our stdout", () => {
  test("CLI-5: ends the connection at once, and the code under way", async () => {
    let stopped = false;
    const runner: PythonRunner = {
      run: (_request, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            stopped = true;
            reject(signal.reason);
          });
        }),
    };
    const stdout = new PassThrough();
    const { stdin, serving } = serve(runner, stdout);
    stdin.write(INITIALIZE + call(1, "1"));
    await until("the first reply", () => stdout.readableLength > 0);
    stdout.destroy(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
    const start = performance.now();
    await serving.done;
    expect(performance.now() - start).toBeLessThan(patient(1000));
    expect(stopped).toBe(true);
  });
});

describe("close", () => {
  test("can be called at any time and often, and resolves as done does", async () => {
    const { serving } = serve(createEchoRunner(), new PassThrough());
    await Promise.all([serving.close(), serving.close(), serving.done]);
    await serving.close();
  });

  test("is the answer to input that has ended before", async () => {
    const stdin = new PassThrough();
    stdin.end();
    stdin.resume();
    await until("the end", () => stdin.readableEnded);
    const log = createMemoryLog();
    const createNone = () => {
      throw new Error("nobody asked");
    };
    await serveStdio({ log, stdin, stdout: new PassThrough(), createServer: createNone }).done;
  });
});
