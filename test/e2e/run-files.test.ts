/** What `sandpy run` copies into the sandbox and takes out of it. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startChild } from "../../src/core/child.ts";
import { command } from "./helpers/command.ts";
import { BINARY, bridgeEnv, flavour } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";

let home: TestHome;
beforeEach(() => {
  home = createHome();
});
afterEach(() => home[Symbol.dispose]());

const run = (...args: string[]) => command(["run", ...args], { home });

test("a program finds itself, the modules beside it and what --in names", async () => {
  home.write("job/helper.py", "from package import thing\nVALUE = thing.VALUE");
  home.write("job/package/__init__.py", "");
  home.write("job/package/thing.py", "VALUE = 'ü'");
  home.write("job/unrelated.py", "");
  home.write("data/in.csv", "a,b\n");
  mkdirSync(join(home.path, "data/empty"));
  const code = [
    "import os, sys, helper",
    "from pathlib import Path",
    "if __name__ == '__main__':",
    "    print(helper.VALUE, sys.argv, Path(__file__).read_text()[:9], os.getcwd())",
    "    print(Path('data/in.csv').read_text().strip(), os.listdir('data/empty'), Path('unrelated.py').exists())",
    "    helper.fail()",
  ].join("\n");
  const {
    code: exit,
    stdout,
    stderr,
  } = await run(home.write("job/main.py", code), "--in", "data", "--", "x");
  expect([exit, stdout]).toEqual([1, "ü ['/workspace/main.py', 'x'] import os /workspace\na,b [] False\n"]);
  expect(stderr).toContain('File "/workspace/main.py", line 6');
});

const LEAVE =
  "import os\nos.makedirs('out/deep', exist_ok=True)\nopen('out/deep/r.txt', 'w').write('left')\n";

test.each([
  ["SIGINT", "raise SystemExit(3)", 3],
  ["SIGTERM", "raise", 143],
] as const)(
  "what a program writes that %s interrupts comes back, and its exit code is its own where it has one",
  async (signal, end, exit) => {
    const wait = "try:\n    print('up', flush=True)\n    while True: pass\n";
    const code = `${LEAVE}${wait}except KeyboardInterrupt:\n    open('out/late', 'w').write('late')\n    ${end}`;
    const child = await startChild({
      command: BINARY,
      args: ["run", "-c", code, "--out", "results"],
      env: bridgeEnv(home.path),
      cwd: home.path,
    });
    for await (const _text of child.stdout) child.kill(signal); // it prints but once
    expect((await child.exited).code).toBe(exit);
    const { files } = JSON.parse(readFileSync(join(home.path, "results/manifest.json"), "utf8"));
    expect(files).toMatchObject([{ path: "deep/r.txt" }, { path: "late", size: 4 }]);
  },
);

test.each([
  ["ends", "", 0],
  ["fails", "raise ValueError()", 1],
  ["kills itself", "os.kill(os.getpid(), 9)", 137],
  ["runs out of memory", "x = b'x' * 200_000_000", 137],
  [
    "takes too long",
    "while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass",
    124,
  ],
])(
  "what a program that %s left comes back",
  async (_title, code, exit) => {
    const limits = ["--timeout", "5", "--memory", "128m"];
    const result = await run("-c", LEAVE + code, "--out", "results", ...limits);
    // Limits of the process itself, where the engine has none, are an exception in Python.
    const isException = flavour === "podman-rootless" && code.includes("200_000_000");
    expect([result.code, result.stderr.includes("not brought back")]).toEqual([
      isException ? 1 : exit,
      false,
    ]);
    expect(readFileSync(join(home.path, "results/deep/r.txt"), "utf8")).toBe("left");
    const { files } = JSON.parse(readFileSync(join(home.path, "results/manifest.json"), "utf8"));
    expect(files).toMatchObject([{ path: "deep/r.txt", size: 4 }]);
  },
  60_000,
);

test("what is no plain file stays, and nothing is written elsewhere", async () => {
  const code = [
    "import os",
    "os.symlink('/etc/passwd', 'out/link')",
    "os.symlink('/etc', 'out/etc')",
    "os.mkfifo('out/pipe')",
    "open('out/holes', 'wb').truncate(1 << 40)",
    "open('out/::error::x\\n', 'w').close()",
    "open('out/fine', 'w').close()",
  ].join("\n");
  const { code: exit, stderr } = await run("-c", code, "--out", "results");
  expect(exit).toBe(0);
  expect(readdirSync(join(home.path, "results")).sort()).toEqual(["fine", "manifest.json"]);
  expect(stderr.match(/^sandpy: not brought back: /gm)?.length).toBe(5);
});

test("a link in place of the whole folder brings nothing back", async () => {
  const { code, stderr } = await run(
    "-c",
    "import os\nos.rmdir('out')\nos.symlink('/etc', 'out')",
    "--out",
    "r",
  );
  expect(code).toBe(0);
  expect(stderr).toContain('sandpy: not brought back: "out/": is a symbolic link');
  expect(readdirSync(join(home.path, "r"))).toEqual(["manifest.json"]);
});

test("a folder with files of others is refused before anything runs", async () => {
  writeFileSync(join(home.path, "mine.txt"), "mine");
  const { code, stdout, stderr } = await run("-c", "print(1)", "--out", ".");
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain('--out "." is not empty');
});

test("a checkout cannot have a file of the host copied in by a link", async () => {
  const secret = home.write("secret.py", "SECRET = 1");
  home.write("checkout/data/x", "");
  symlinkSync(secret, join(home.path, "checkout/data/stolen"));
  symlinkSync(secret, join(home.path, "checkout/stolen.py"));
  const job = home.write("checkout/job.py", "import os\nprint(os.listdir('data'))\nimport stolen");
  const { stdout, stderr } = await run(job, "--in", "checkout/data");
  expect(stdout).toBe("['x']\n");
  expect(stderr).toContain("ModuleNotFoundError: No module named 'stolen'");
});

test("more than /workspace holds is said", async () => {
  mkdirSync(join(home.path, "much"));
  for (let n = 0; n < 3; n++) writeFileSync(join(home.path, `much/${n}`), Buffer.alloc(42 * 1024 ** 2));
  const { code, stdout, stderr } = await run(
    "-c",
    "print(1)",
    "--in",
    "much",
    "--in",
    "much/0",
    "--memory",
    "64m",
  );
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("the files to copy in are more than 10000, or than 128 MiB");
  rmSync(join(home.path, "much"), { recursive: true });
});

test("the result as JSON lists what came back", async () => {
  const { stdout } = await run("-c", `${LEAVE}print(1)`, "--out", "results", "--json");
  expect(JSON.parse(stdout)).toMatchObject({
    status: "ok",
    stdout: "1\n",
    files: [{ path: "deep/r.txt", size: 4, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
  });
});

test("a folder of the host is seen where --mount says, and written to unless :ro is said", async () => {
  home.write("read/in.txt", "seen");
  mkdirSync(join(home.path, "write"));
  for (const name of ["read", "write"]) chmodSync(join(home.path, name), 0o777);
  const code = [
    "print(open('/data/in.txt').read())",
    "open('/w/result', 'w').write('mine')",
    "try: open('/data/x', 'w')",
    "except OSError as error: print(error.strerror)",
  ].join("\n");
  const { code: exit, stdout } = await run("-c", code, "--mount", "read:/data:ro", "--mount", "write:/w");
  expect([exit, stdout]).toEqual([0, "seen\nRead-only file system\n"]);
  expect(readFileSync(join(home.path, "write/result"), "utf8")).toBe("mine");
});

test("a folder that the sandbox may not read is refused, with what to do", async () => {
  mkdirSync(join(home.path, "closed"), { mode: 0o700 });
  const { code, stderr } = await run(
    "-c",
    "import os\nprint(os.listdir('/data'))",
    "--mount",
    "closed:/data:ro",
  );
  if (process.getuid?.() !== 0)
    expect(code).toBe(0); // it runs as whoever asks
  else {
    expect(code).toBe(5);
    expect(stderr).toMatch(
      /could not be read by the sandbox, which runs as 65534:65534\nLet that user: chmod -R o\+rX/,
    );
  }
});
