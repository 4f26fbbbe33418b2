import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Child, type ChildExit, startChild } from "../../src/core/child.ts";
import { BINARY, bridgeEnv, containersOf, runEngine, until } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";
import { npmServer } from "./helpers/npm-servers.ts";

interface Finished extends ChildExit {
  readonly stdout: string;
  readonly stderr: string;
  readonly pid: number;
}

const home = createHome();
afterAll(() => home[Symbol.dispose]());

const start = (args: readonly string[], env: Record<string, string> = {}): Promise<Child> =>
  startChild({
    command: BINARY,
    args,
    env: bridgeEnv(home.path, { MCP_BRIDGE_LOG_LEVEL: "ERROR", ...env }),
    cwd: home.path,
  });

async function finish(child: Child, onText: (text: string) => void = () => undefined): Promise<Finished> {
  const decoder = new TextDecoder();
  let stdout = "";
  for await (const chunk of child.stdout) {
    const text = decoder.decode(chunk, { stream: true });
    stdout += text;
    onText(stdout);
  }
  const exit = await child.exited;
  return { ...exit, stdout, stderr: withoutEngineNote(child.stderrText()), pid: child.pid };
}

/** What is said of an engine that does not enforce limits, which depends on the machine. */
function withoutEngineNote(stderr: string): string {
  const lines = stderr.split("\n");
  return lines.filter((line) => !line.startsWith("sandpy: This engine does not enforce")).join("\n");
}

/** Runs `sandpy run` on a file with this code, or on stdin. */
async function runCode(code: string, ...more: string[]): Promise<Finished> {
  const child = await start(["run", home.write("job.py", code), ...more]);
  child.endInput();
  return finish(child);
}

describe("sandpy run", () => {
  test("runs a file: its streams, its exit code, and no container afterwards", async () => {
    const result = await runCode("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)");
    expect(result).toMatchObject({ code: 3, stdout: "out\n", stderr: "err" });
    expect(await containersOf(result.pid)).toEqual([]);
  });

  test("runs what it reads from stdin", async () => {
    const child = await start(["run", "-"]);
    await child.write("print(sum(range(10)))\n");
    child.endInput();
    expect(await finish(child)).toMatchObject({ code: 0, stdout: "45\n", stderr: "" });
  });

  test("runs it as a script, with arguments", async () => {
    const result = await runCode(
      "import sys\nif __name__ == '__main__':\n    print(sys.argv[1:], __file__.endswith('job.py'))",
      "--",
      "a",
      "--b",
    );
    expect(result).toMatchObject({ code: 0, stdout: "['a', '--b'] True\n" });
  });

  test("waits for threads that are no daemons, and runs what atexit was given", async () => {
    const code =
      "import atexit, threading\ngate = threading.Event()\ndef late():\n    gate.wait()\n    print('late')\n" +
      "threading.Thread(target=late).start()\natexit.register(print, 'exit')\nprint('main')\ngate.set()\nraise SystemExit(3)";
    expect(await runCode(code)).toMatchObject({ code: 3, stdout: "main\nlate\nexit\n", stderr: "" });
  });

  test("does not print the value of a last expression: a script has none", async () => {
    expect(await runCode("1 + 1")).toMatchObject({ code: 0, stdout: "" });
  });

  test("shows an exception on stderr and returns 1", async () => {
    const result = await runCode("print('before')\nraise ValueError('no')");
    expect(result).toMatchObject({ code: 1, stdout: "before\n" });
    expect(result.stderr).toContain("ValueError: no");
    expect(result.stderr).toContain("job.py");
  });

  test("returns 124 after its timeout", async () => {
    const result = await runCode("print('begun', flush=True)\nwhile True: pass", "--timeout", "1");
    expect(result).toMatchObject({ code: 124, stdout: "begun\n" });
    expect(result.stderr).toContain("stopped after 1 s");
  });

  test("streams output while the program runs", async () => {
    const child = await start([
      "run",
      home.write("slow.py", "import time\nprint('first', flush=True)\ntime.sleep(1.5)\nprint('last')"),
    ]);
    child.endInput();
    const seen: number[] = [];
    await finish(child, () => seen.push(performance.now()));
    expect(seen.length).toBeGreaterThan(1);
    expect((seen.at(-1) ?? 0) - (seen[0] ?? 0)).toBeGreaterThan(1000);
  });

  test("lets all of a large output through a pipe", async () => {
    const result = await runCode("for n in range(200_000): print(n)");
    expect(result.code).toBe(0);
    expect(result.stdout.length).toBe(Array.from({ length: 200_000 }, (_, n) => `${n}\n`).join("").length);
  });

  test("passes on every byte as it is, of each stream and of a child, also half a character", async () => {
    const code = `import random, subprocess, sys
def write(stream, seed):
    left = memoryview(bytes(range(256)) * 1001 + b"\\xf0\\x9f")
    sizes = random.Random(seed)
    while left:
        size = sizes.randint(1, 9000)
        stream.write(left[:size])
        stream.flush()
        left = left[size:]
write(sys.stderr.buffer, 1)
write(sys.stdout.buffer, 2)
print("é", flush=True)
subprocess.run([sys.executable, "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 1001)"], check=True)`;
    const child = Bun.spawn([BINARY, "run", home.write("bytes.py", code)], {
      env: bridgeEnv(home.path, { MCP_BRIDGE_LOG_LEVEL: "ERROR" }),
      cwd: home.path,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [stdout, stderr] = await Promise.all([child.stdout.bytes(), child.stderr.bytes()]);
    const many = Buffer.alloc(
      256 * 1001,
      Uint8Array.from({ length: 256 }, (_, n) => n),
    );
    const uneven = Buffer.concat([many, Buffer.from([0xf0, 0x9f])]);
    const hash = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    expect([await child.exited, hash(stdout), hash(stderr.subarray(0, uneven.length))]).toEqual([
      0,
      hash(Buffer.concat([uneven, Buffer.from("é\n"), many])),
      hash(uneven),
    ]);
    // What may follow is a note of ours.
    expect(withoutEngineNote(Buffer.from(stderr.subarray(uneven.length)).toString())).toBe("");
  });

  test("calls the servers that it was given", async () => {
    home.defineServers({ everything: npmServer("everything") });
    const result = await runCode(
      "print((await mcp_everything.echo(message='job')).text)",
      "--servers",
      "everything",
    );
    expect(result).toMatchObject({ code: 0, stdout: "Echo: job\n" });
  });

  test("reaches no server that it was not given, and says how to name it", async () => {
    home.defineServers({ everything: npmServer("everything"), "other-one": npmServer("everything") });
    const remedy = "The user can let the program use it: --servers";
    const denied = await runCode("print(mcp_servers)\nawait mcp_everything.echo(message='job')");
    expect(denied).toMatchObject({ code: 1, stdout: "<MCP servers: none>\n" });
    expect(denied.stderr).toContain(
      `NameError: name 'mcp_everything' is not defined\n[hint] the server 'everything' is forbidden by --servers, which does not name it. ${remedy} everything`,
    );
    const byName = await runCode(
      "await runtime.call_tool('everything', 'echo', {'message': 'x'})",
      "--servers",
      "other_one",
    );
    expect(byName.stderr).toContain(
      `server "everything" is forbidden by --servers, which does not name it (${remedy} other_one,everything)`,
    );
  });

  test("calls only the tools that --allow names", async () => {
    home.defineServers({ everything: npmServer("everything") });
    const { stdout, stderr } = await runCode(
      "print((await mcp_everything.echo(message='job')).text)\nawait mcp_everything.get_sum(a=1, b=2)",
      "--servers=everything",
      "--allow",
      "everything.e*",
    );
    expect(stdout).toBe("Echo: job\n");
    expect(stderr).toContain(
      'tool "get-sum" of server "everything" may not be used: --allow does not name it',
    );
  });

  test("has the variables that --env names, and none of the caller's", async () => {
    const code = "import os\nprint(os.environ.get('TOKEN'), os.environ.get('B'), os.environ.get('SECRET'))";
    const child = await start(["run", home.write("env.py", code), "--env", "TOKEN", "--env", "B=1,2"], {
      TOKEN: "t",
      SECRET: "s",
    });
    child.endInput();
    expect(await finish(child)).toMatchObject({ code: 0, stdout: "t 1,2 None\n" });
  });

  test("prints the whole result as JSON, with the calls that it made", async () => {
    home.defineServers({ everything: npmServer("everything") });
    const { code, stdout, stderr } = await runCode(
      "import sys\nprint('out', (await mcp_everything.echo(message='job')).text)\nprint('err', file=sys.stderr)\nsys.exit(3)",
      "--servers=everything",
      "--json",
    );
    expect([code, stderr]).toEqual([3, ""]);
    expect(JSON.parse(stdout)).toMatchObject({
      status: "exit",
      exitCode: 3,
      stdout: "out Echo: job\n",
      stderr: "err\n",
      calls: [{ server: "everything", method: "tools/call", tool: "echo", outcome: "ok" }],
    });
  });

  test("runs what it is given on the command line, quietly", async () => {
    const child = await start(["run", "-c", "print(__name__, '__file__' in globals())"], {
      MCP_BRIDGE_LOG_LEVEL: "",
    });
    child.endInput();
    expect(await finish(child)).toMatchObject({ code: 0, stdout: "__main__ False\n", stderr: "" });
  });

  test("passes stdin on, whatever bytes it has, and its end", async () => {
    const code =
      "import sys, hashlib\nprint(sys.stdin.buffer.readline())\nprint(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())\nprint(sys.stdin.read() == '')";
    const child = await start(["run", home.write("reads.py", code)]);
    const finished = finish(child);
    const bytes = Buffer.alloc(
      5_000_000,
      Uint8Array.from({ length: 251 }, (_, n) => n),
    );
    await child.write("Ada\n");
    await child.write(bytes);
    child.endInput();
    const hash = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    expect(await finished).toMatchObject({ code: 0, stdout: `b'Ada\\n'\n${hash}\nTrue\n` });
  });

  test("reads no more of stdin than the program does, and ends though stdin does not", async () => {
    const child = await start(["run", "-c", "import time\nprint(input(), flush=True)\ntime.sleep(1)"]);
    const finished = finish(child);
    await child.write("first\n");
    const flood = child.write("x".repeat(50_000_000)).catch(() => "not taken");
    expect(await finished).toMatchObject({ code: 0, stdout: "first\n" });
    expect(await flood).toBe("not taken");
  });

  test("has a program that it read from stdin find its end there", async () => {
    const child = await start(["run", "-"]);
    await child.write("import sys\nprint(repr(sys.stdin.read()))");
    child.endInput();
    expect(await finish(child)).toMatchObject({ code: 0, stdout: "''\n" });
  });

  test("tells GitHub where it failed, and lets the program command nothing", async () => {
    const code = "print('::add-mask::x')\ndef f():\n    raise ValueError('a\\n::error::b')\nf()";
    const child = await start(["run", home.write("job.py", code)], {
      GITHUB_ACTIONS: "true",
      GITHUB_WORKSPACE: home.path,
      GITHUB_STEP_SUMMARY: join(home.path, "summary.md"),
    });
    child.endInput();
    const { code: exit, stdout, stderr } = await finish(child);
    expect([exit, stdout]).toEqual([1, "\\::add-mask::x\n"]);
    expect(stderr.match(/^\s*::.*$/gm)).toEqual([
      "::error file=job.py,line=3,title=ValueError::a%0A::error::b",
    ]);
    expect(readFileSync(join(home.path, "summary.md"), "utf8")).toContain("exit code 1");
  });

  test("stops with SIGTERM, and its container goes", async () => {
    const child = await start([
      "run",
      home.write("spin.py", "print('spinning', flush=True)\nwhile True: pass"),
    ]);
    const finished = finish(child, (text) => {
      if (text.includes("spinning")) child.kill("SIGTERM");
    });
    expect((await finished).code).toBe(143);
    await until("no container", async () => (await containersOf(child.pid)).length === 0);
  });

  test("says so when its container is killed, in words for whoever ran it", async () => {
    const child = await start(["run", home.write("up.py", "print('up', flush=True)\nwhile True: pass")]);
    let killed: Promise<string> | undefined;
    const result = await finish(child, () => {
      killed ??= containersOf(child.pid).then(([name = "none"]) => runEngine("kill", "-s", "KILL", name));
    });
    await killed;
    expect(result.code).toBe(137);
    expect(result.stderr).toMatch(
      /^sandpy: the program ended with its sandbox: it [^\n]*\nSomebody stopped the container, or the machine is short of memory\. Run it again\.\n?$/,
    );
  });

  test.each<[string, string[], number, string]>([
    ["a file that does not exist", ["run", "no-such-file.py"], 2, "no-such-file.py"],
    ["no file", ["run"], 2, "FILE"],
    ["an unknown flag", ["run", "--tiemout", "3", "x.py"], 2, "--timeout"],
    ["an unknown server", ["run", "-", "--servers", "nope"], 6, "nope"],
    ["an unknown command", ["rnu"], 2, "run"],
  ])("refuses %s", async (_title, args, code, words) => {
    const child = await start(args);
    await child.write("print(1)\n").catch(() => undefined); // it may have ended before it reads
    child.endInput();
    const result = await finish(child);
    expect([result.code, result.stdout, result.stderr.includes(words)]).toEqual([code, "", true]);
  });
});

test("--version says what was stamped", async () => {
  const child = await start(["--version"]);
  child.endInput();
  const { version } = await Bun.file(new URL("../../package.json", import.meta.url)).json();
  expect((await finish(child)).stdout).toContain(version);
});
