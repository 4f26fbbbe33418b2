import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LOCAL_CALLER } from "../../../src/core/caller.ts";
import { BridgeError } from "../../../src/core/errors.ts";
import type { Death, ExecuteRequest, Outcome } from "../../../src/session/outcome.ts";
import { CliWorld, OK } from "../../helpers/cli-world.ts";

const home = process.env["HOME"] ?? "/";
const FILE = join(home, "program.py");
writeFileSync(FILE, "\ufeffprint('ü')\n");

const ERROR = { ename: "ValueError", evalue: "x", traceback: "Traceback …\nValueError: x" };

function died(exitCode: number | null, death: Partial<Death>): Partial<Outcome> {
  const known: Death = { reason: "exit", signal: null, detail: null, ...death };
  return { status: "died", exitCode, death: known, notes: ["for a model"] };
}

async function runWith(outcome: Partial<Outcome>) {
  const world = new CliWorld();
  world.execute = async () => ({ ...OK, ...outcome });
  return world.run("run", FILE);
}

describe("the exit code", () => {
  test.each<[string, Partial<Outcome>, number, string]>([
    ["a program that ends", {}, 0, ""],
    ["an exception", { status: "error", error: ERROR }, 1, "Traceback …\nValueError: x\n"],
    ["sys.exit()", { status: "exit", exitCode: 0 }, 0, ""],
    ["sys.exit(3)", { status: "exit", exitCode: 3 }, 3, ""],
    ["sys.exit(-1)", { status: "exit", exitCode: -1 }, 255, ""],
    [
      "the timeout",
      { status: "timeout", notes: ["for a model"] },
      124,
      "sandpy: the program was stopped after 30 s\nGive it longer with --timeout=<seconds>.\n",
    ],
    [
      "our own kill",
      died(null, { reason: "protocol", detail: "it broke the frame protocol" }),
      137,
      "sandpy: the program was ended: it broke the frame protocol\n",
    ],
    [
      "a sandbox that somebody killed",
      died(null, { reason: "sandbox", detail: "it was killed" }),
      137,
      "sandpy: the program ended with its sandbox: it was killed\nSomebody stopped the container, or the machine is short of memory. Run it again.\n",
    ],
    ["os._exit(7)", died(7, { reason: "exit" }), 7, ""],
    [
      "what the memory limit killed",
      died(137, { reason: "out_of_memory" }),
      137,
      "sandpy: the program was killed: out of memory\nGive it more with --memory=<size>.\n",
    ],
    [
      "what crashed",
      died(139, { reason: "signal", signal: "SIGSEGV" }),
      139,
      "sandpy: the program was ended by SIGSEGV\n",
    ],
    ["a note", { notes: ["Limits are not enforced."] }, 0, "sandpy: Limits are not enforced.\n"],
  ])("of %s", async (_title, outcome, code, stderr) => {
    expect(await runWith(outcome)).toEqual({ code, stdout: "", stderr });
  });

  test.each([
    ["ENGINE_NOT_FOUND", 4],
    ["KERNEL_START_FAILED", 5],
    ["UPSTREAM_UNKNOWN_SERVER", 6],
    ["INTERNAL", 1],
  ] as const)("of %s, when nothing could run", async (name, expected) => {
    const world = new CliWorld();
    world.execute = async () => {
      throw new BridgeError(name, "that failed", { hint: "Do this." });
    };
    const { code, stderr } = await world.run("run", FILE);
    expect(code).toBe(expected);
    expect(stderr).toStartWith("sandpy: that failed\nDo this.\n");
    expect(world.events.at(-1)).toBe("bridge closed");
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("of %s, which stops the program", async (signal, expected) => {
    const world = new CliWorld();
    const begun = Promise.withResolvers<void>();
    world.execute = (_request, stop) =>
      new Promise((resolve) => {
        stop.addEventListener("abort", () => resolve({ ...OK, status: "cancelled" }));
        begun.resolve();
      });
    const running = world.run("run", FILE);
    await begun.promise;
    await world.signal(signal);
    expect(await running).toEqual({ code: expected, stdout: "", stderr: "" });
    expect(world.events.at(-1)).toBe("bridge closed");
  });

  test("of a signal while the program is still to come by a pipe", async () => {
    const world = new CliWorld();
    const running = world.run("run", "-");
    await world.signal("SIGINT");
    expect((await running).code).toBe(130);
    expect(world.events).toEqual([]);
  });

  test("of a reader that goes away is that of SIGPIPE", async () => {
    const world = new CliWorld();
    world.execute = (_request, stop) =>
      new Promise((resolve) => {
        stop.addEventListener("abort", () => resolve({ ...OK, status: "cancelled" }));
        world.stdout.destroy(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
      });
    expect((await world.run("run", FILE)).code).toBe(141);
  });

  test("of a disk that is full is 1, and said", async () => {
    const world = new CliWorld();
    world.execute = async () => {
      world.stdout.destroy(Object.assign(new Error("no space left"), { code: "ENOSPC" }));
      await new Promise((resolve) => world.stdout.once("close", resolve));
      return OK;
    };
    const { code, stderr } = await world.run("run", FILE);
    expect([code, stderr]).toEqual([1, "sandpy: the output is not complete: the disk is full\n"]);
  });
});

describe("the program", () => {
  async function requestOf(...words: string[]): Promise<ExecuteRequest | undefined> {
    const world = new CliWorld();
    let request: ExecuteRequest | undefined;
    world.execute = async (given) => {
      request = given;
      return OK;
    };
    world.stdin.end("print('piped')\n");
    expect((await world.run("run", ...words)).code).toBe(0);
    return request;
  }

  test("is read from the file, with its arguments", async () => {
    expect(await requestOf(FILE, "--", "a", "--timeout", "5", "--help", "--")).toMatchObject({
      code: "print('ü')\n",
      servers: [],
      timeoutMs: 30_000,
      script: {
        filename: "/workspace/program.py",
        argv: ["/workspace/program.py", "a", "--timeout", "5", "--help", "--"],
      },
    });
  });

  test("is read from stdin", async () => {
    expect(await requestOf("-")).toMatchObject({
      code: "print('piped')\n",
      script: { filename: "<stdin>", argv: ["-"] },
    });
    expect((await requestOf("-"))?.script?.stdin).toBeUndefined();
    expect((await requestOf(FILE))?.script?.stdin).toBeDefined();
  });

  test("is given on the command line", async () => {
    expect(await requestOf("-c", "print(1, 2)", "--", "x")).toMatchObject({
      code: "print(1, 2)",
      script: { filename: "<string>", argv: ["-c", "x"], env: {} },
    });
  });

  test("gets the variables that are named, and no other", async () => {
    const world = new CliWorld();
    Object.assign(world.env, { MINE: "a,b=c", OTHER: "not passed on" });
    let request: ExecuteRequest | undefined;
    world.execute = async (given) => {
      request = given;
      return OK;
    };
    await world.run("run", FILE, "--env", "MINE", "--env", "A=1,2", "--env=B=", "--env", "A=3");
    expect(request?.script?.env).toEqual({ MINE: "a,b=c", A: "3", B: "" });
  });

  test.each([
    ["--timeout 500 --servers a,b"],
    ["--timeout=500 --servers=a,b"],
    ["--servers a,,b, --timeout 500"],
  ])("gets its servers and timeout from %s", async (flags) => {
    const request = await requestOf(FILE, ...flags.split(" "));
    expect(request).toMatchObject({ servers: ["a", "b"], timeoutMs: 500_000 });
  });

  test.each([
    ["is not UTF-8 text", Buffer.from([0xff, 0xfe])],
    ["is longer than 16777216 bytes", Buffer.alloc(16 * 1024 * 1024 + 1, " ")],
  ])("is refused when it %s", async (why, bytes) => {
    const world = new CliWorld();
    world.stdin.end(bytes);
    const { code, stderr } = await world.run("run", "-");
    expect([code, world.events]).toEqual([2, []]);
    expect(stderr).toStartWith(`sandpy: stdin ${why}`);
  });
});

describe("the settings of a job", () => {
  async function configOf(...words: string[]) {
    const world = new CliWorld();
    expect((await world.run("run", FILE, ...words)).code).toBe(0);
    return world.config;
  }

  test("name the servers that it may use, and none by default", async () => {
    expect((await configOf())?.policy.servers.only).toEqual({ names: [], where: "--servers" });
    expect((await configOf("--servers", "a,b", "--servers", "c"))?.policy.servers.only?.names).toEqual([
      "a",
      "b",
      "c",
    ]);
  });

  test("name the tools that it may call, with a dot or a slash", async () => {
    const config = await configOf("--servers", "a", "--allow", "github.get_*,a.b.c,x/y.z,list_*");
    expect(config?.policy.tools.allow).toEqual({
      globs: ["github/get_*", "a/b.c", "a.b/c", "x/y.z", "list_*"],
      where: "--allow",
    });
  });

  test("limit it", async () => {
    expect(
      await configOf("--memory", "1g", "--cpus=0.5", "--pids", "9", "--image", "other:1", "--no-network"),
    ).toMatchObject({ memoryBytes: 1024 ** 3, cpus: 0.5, pids: 9, image: "other:1" });
  });

  test.each([
    [[], {}, "ERROR"],
    [["--verbose"], {}, "INFO"],
    [[], { MCP_BRIDGE_LOG_LEVEL: "debug" }, "DEBUG"],
  ] as const)("with %j and %j have it log at %s %s", async (words, env, level) => {
    const world = new CliWorld();
    Object.assign(world.env, env);
    await world.run("run", FILE, ...words);
    expect(world.config?.logLevel).toBe(level);
  });
});

describe("--json", () => {
  const parse = (text: string) => JSON.parse(text) as Record<string, unknown>;

  test("prints the whole result, and nothing else", async () => {
    const world = new CliWorld();
    world.execute = async (request) => {
      await request.onOutput?.("stdout", "live", 0);
      world.bridgeEvents.emit({
        kind: "upstream-called",
        sessionId: "s",
        caller: LOCAL_CALLER,
        executionId: "e",
        server: "notes",
        method: "tools/call",
        tool: "read",
        outcome: "error",
        code: "UPSTREAM_FAILED",
        startedAtMs: 0,
        durationMs: 12.4,
      });
      return {
        ...OK,
        status: "error",
        stdout: { text: "out ##[x]\n", dropped: 0 },
        stderr: { text: "err", dropped: 7 },
        error: ERROR,
        notes: ["A note."],
        durationMs: 5.4,
      };
    };
    const { code, stdout, stderr } = await world.run("run", FILE, "--json");
    expect([code, stderr]).toEqual([1, ""]);
    expect(parse(stdout)).toEqual({
      status: "error",
      exitCode: 1,
      stdout: "out ##[x]\n",
      stderr: "err",
      leftOut: { stdout: 0, stderr: 7 },
      result: null,
      error: { type: "ValueError", message: "x", traceback: ERROR.traceback },
      fault: null,
      durationMs: 5,
      notes: ["A note."],
      images: [],
      files: [],
      calls: [
        {
          server: "notes",
          method: "tools/call",
          tool: "read",
          outcome: "error",
          code: "UPSTREAM_FAILED",
          durationMs: 12,
        },
      ],
      callCount: 1,
    });
  });

  test.each<[string, Partial<Outcome>, readonly string[]]>([
    ["was stopped", { status: "cancelled", notes: ["for a model"] }, []],
    [
      "took too long",
      { status: "timeout", notes: ["for a model"] },
      ["the program was stopped after 30 s\nGive it longer with --timeout=<seconds>."],
    ],
    ["died", died(139, { reason: "signal", signal: "SIGSEGV" }), ["the program was ended by SIGSEGV"]],
  ])("tells a person, not a model, of a program that %s", async (_title, outcome, notes) => {
    const world = new CliWorld();
    world.execute = async () => ({ ...OK, ...outcome });
    expect(parse((await world.run("run", FILE, "--json")).stdout)).toMatchObject({ notes });
  });

  test("prints also why nothing ran", async () => {
    const world = new CliWorld();
    world.execute = async () => {
      throw new BridgeError("ENGINE_NOT_FOUND", "that failed", { hint: "Do this." });
    };
    const { code, stdout, stderr } = await world.run("run", FILE, "--json");
    expect([code, stderr]).toEqual([4, "sandpy: that failed\nDo this.\n"]);
    expect(parse(stdout)).toMatchObject({
      status: "refused",
      exitCode: 4,
      fault: { code: "ENGINE_NOT_FOUND", message: "that failed", hint: "Do this." },
    });
  });
});

describe("its output", () => {
  test("goes to its own streams as it comes, and is not repeated at the end", async () => {
    const world = new CliWorld();
    world.execute = async ({ onOutput }) => {
      await onOutput?.("stdout", "out ü\n", 0);
      await onOutput?.("stderr", "err\n", 0);
      return { ...OK, stdout: { text: "out ü\n", dropped: 0 }, result: "'value'" };
    };
    expect(await world.run("run", FILE)).toEqual({ code: 0, stdout: "out ü\n", stderr: "err\n" });
  });

  test.each([
    ["as the bytes that it is", {}, "aé"],
    ["as text in a step of GitHub Actions", { GITHUB_ACTIONS: "true" }, "\\::a\ufffd\ufffd"],
  ])("goes there %s", async (_how, env, expected) => {
    const world = new CliWorld();
    Object.assign(world.env, env);
    world.execute = async ({ onOutput }) => {
      await onOutput?.("stdout", "::a", 0, Buffer.from("a\xc3", "latin1"));
      await onOutput?.("stdout", "\ufffd\ufffd", 0, Buffer.from("\xa9", "latin1"));
      await onOutput?.("stdout", "", 0, new Uint8Array());
      return OK;
    };
    expect(await world.run("run", FILE)).toMatchObject({ code: 0, stdout: expected });
  });

  test("waits for a reader that is slow, and all of it arrives", async () => {
    const world = new CliWorld();
    world.stdout.pause();
    const piece = "x".repeat(700_000);
    let held = 0;
    world.execute = async ({ onOutput }) => {
      for (let count = 0; count < 5; count++) {
        const waiting = onOutput?.("stdout", piece, 0);
        if (waiting instanceof Promise) {
          held++;
          world.stdout.resume();
          await waiting;
        }
      }
      return OK;
    };
    const running = world.run("run", FILE);
    world.stdout.pause();
    const { code, stdout } = await running;
    expect([code, stdout.length]).toEqual([0, 3_500_000]);
    expect(held).toBeGreaterThan(0);
  });
});
