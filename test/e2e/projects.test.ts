import { expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { startBridge } from "./helpers/client.ts";
import { command } from "./helpers/command.ts";
import { createHome, type TestHome } from "./helpers/home.ts";

const PATIENCE_MS = 30_000;

async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await condition())) {
    expect(performance.now()).toBeLessThan(deadline);
    await Bun.sleep(5);
  }
}

const kept = (home: TestHome, path = "") => join(home.path, "MCPs/user_tools", path);

test("what is kept is listed with its size, in Python and by the command line", async () => {
  using home = createHome();
  await using bridge = await startBridge({ home });
  await bridge.python('open("/projects/data.csv", "w").write("a,b\\n")');
  const listed = await bridge.python("runtime.list_project_files()");
  expect(listed.text).toMatch(/^4 {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}\/projects\/data\.csv\n1 files, 4 bytes$/);
  const rows = await bridge.python(
    "[(each['path'], each['bytes']) for each in await runtime.list_project_files()]",
  );
  expect(rows.text).toBe("[('/projects/data.csv', 4)]");
  const { stdout } = await command(["memory", "files", "--json"], { home });
  expect(JSON.parse(stdout)).toEqual({
    files: [{ path: "data.csv", bytes: 4, modified_at: expect.any(Number) }],
  });
  expect((await command(["memory", "files"], { home })).stdout).toMatch(
    /^FILE +BYTES +MODIFIED\ndata\.csv +4 /,
  );
});

test("what background code wrote is kept when the client goes away", async () => {
  using home = createHome();
  const bridge = await startBridge({ home });
  await bridge.python(
    'import threading\nthreading.Timer(0.2, lambda: open("/projects/last", "w").write("z")).start()',
  );
  await Bun.sleep(800); // a call would keep it too, and nobody else can see into the sandbox
  expect(existsSync(kept(home, "last"))).toBe(false);
  await bridge[Symbol.asyncDispose]();
  expect(readFileSync(kept(home, "last"), "utf8")).toBe("z");
});

test("what code writes to /projects is kept, also over a crash, and is there in the next session", async () => {
  using home = createHome();
  {
    await using bridge = await startBridge({ home });
    const first = await bridge.python(`
import os
os.makedirs("/projects/a/b")
open("/projects/a/b/data.bin", "wb").write(bytes(range(256)) * 40000)
open("/projects/empty", "w").close()
save_memory("k", 1)`);
    expect(first).toEqual({ text: expect.any(String), isError: false });
    expect(statSync(kept(home, "a/b/data.bin")).mode & 0o777).toBe(0o600);
    expect(statSync(kept(home, "a/b")).mode & 0o777).toBe(0o700);
    expect(readFileSync(kept(home, "a/b/data.bin")).length).toBe(10_240_000);
    expect(statSync(kept(home, "empty")).size).toBe(0);
    const crash = await bridge.python('open("/projects/late", "w").write("x"); os._exit(3)');
    expect(crash.isError).toBe(true);
    const next = await bridge.python(
      'import os; (sorted(os.listdir("/projects")), open("/projects/memory/k.json").read()[:1])',
    );
    expect(next.text).toContain("['a', 'empty', 'late', 'memory']");
    expect(readFileSync(kept(home, "late"), "utf8")).toBe("x");
    await bridge.python(
      'os.remove("/projects/empty"); import threading, time\nthreading.Timer(0.2, lambda: open("/projects/after", "w").write("y")).start(); time.sleep(0)',
    );
    expect(existsSync(kept(home, "empty"))).toBe(false);
  }
  await using bridge = await startBridge({ home });
  const again = await bridge.python(
    'import os, hashlib; print(os.path.getsize("/projects/a/b/data.bin"), open("/projects/late").read())',
  );
  expect(again.text).toContain("10240000 x");
  process.kill(bridge.pid, "SIGKILL");
});

test("a file of one session is there in the next call of another, and its end too", async () => {
  using home = createHome();
  await using one = await startBridge({ home });
  await using other = await startBridge({ home });
  await other.python("1");
  await one.python('open("/projects/x", "w").write("from one")');
  let seen = "";
  await waitUntil(async () => {
    seen = (
      await other.python('import os; print(os.path.exists("/projects/x") and open("/projects/x").read())')
    ).text;
    return seen.includes("from one");
  });
  await other.python('os.remove("/projects/x")');
  await waitUntil(async () =>
    (await one.python('import os; print(os.listdir("/projects"))')).text.includes("[]"),
  );
  expect(readdirSync(kept(home)).filter((name) => name === "x")).toEqual([]);
});

test("KEP-2: nothing but regular files inside of the folder is kept, and the host's own links are not followed", async () => {
  using home = createHome();
  const canary = join(home.path, "canary");
  writeFileSync(canary, "untouched");
  mkdirSync(kept(home), { recursive: true });
  symlinkSync(canary, kept(home, "planted"));
  await using bridge = await startBridge({ home });
  const { text } = await bridge.python(`
import os, socket
os.chdir("/projects")
print(os.listdir("."))
open("planted", "w").write("evil")
os.symlink("/etc/passwd", "link"); os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("sock")
open("hard", "w").write("h"); os.link("hard", "hard2")
f = open("sparse", "wb"); f.truncate(1 << 40); f.close()
os.makedirs("memory"); open("memory/bad.json", "w").write("{}")
open("good", "w").write("g")`);
  expect(text).toContain("[]");
  for (const name of [
    "link: is a symbolic link",
    "pipe: is a named pipe",
    "sock: is a socket",
    "sparse: has 1099511627776 bytes",
  ])
    expect(text).toMatch(new RegExp(`not kept: /projects/${name}|more of /projects`));
  expect(readFileSync(canary, "utf8")).toBe("untouched");
  expect(lstatSync(kept(home, "planted")).isSymbolicLink()).toBe(true);
  expect(readdirSync(kept(home)).sort()).toEqual(["good", "hard", "hard2", "memory", "planted"]);
  expect(readdirSync(kept(home, "memory"))).toEqual([]);
  expect((await bridge.python("1")).text).not.toContain("not kept");
});

test("EXH-6: over the quota is an error at once, and the session goes on", async () => {
  using home = createHome();
  await using bridge = await startBridge({ home, env: { MCP_BRIDGE_PROJECTS_QUOTA: "2m" } });
  const { text } = await bridge.python('open("/projects/big", "wb").write(bytes(3 << 20))');
  expect(text).toContain("No space left on device");
  expect(
    (await bridge.python('import os; os.remove("/projects/big"); open("/projects/ok", "w").write("k")'))
      .isError,
  ).toBe(false);
  expect(readFileSync(kept(home, "ok"), "utf8")).toBe("k");
});

test.each([
  ["/projects that can not be listed", 'import os; os.chmod("/projects", 0)'],
  ["/projects that can not be entered", 'import os; os.chmod("/projects", 0o600)'],
  ["a folder that can not be entered", 'import os; os.chmod("/projects/folder", 0o600)'],
  [
    "no descriptors left",
    'import os\nheld = []\ntry:\n  while True: held.append(os.open("/dev/null", 0))\nexcept OSError: pass',
  ],
])("what can not be seen is not taken for removed: %s", async (_, code) => {
  using home = createHome();
  mkdirSync(kept(home, "folder"), { recursive: true });
  writeFileSync(kept(home, "x"), "1");
  writeFileSync(kept(home, "folder/y"), "2");
  await using bridge = await startBridge({ home });
  const { text } = await bridge.python('import os; sorted(os.listdir("/projects"))');
  expect(text).toContain("['folder', 'x']");
  await bridge.python(code);
  expect((await bridge.python("1")).isError).toBe(false);
  expect([readFileSync(kept(home, "x"), "utf8"), readFileSync(kept(home, "folder/y"), "utf8")]).toEqual([
    "1",
    "2",
  ]);
});

test("a file that was removed is gone on the host, also beside a link whose name its own begins with", async () => {
  using home = createHome();
  mkdirSync(kept(home), { recursive: true });
  writeFileSync(kept(home, "foobar"), "1");
  await using bridge = await startBridge({ home });
  await bridge.python('import os; os.symlink("/etc", "/projects/foo"); os.remove("/projects/foobar")');
  expect(existsSync(kept(home, "foobar"))).toBe(false);
});

test("what a process wrote before it died is kept, also when no call follows", async () => {
  using home = createHome();
  {
    await using bridge = await startBridge({ home });
    await bridge.python('import os; open("/projects/late", "w").write("x"); os._exit(3)');
  }
  expect(readFileSync(kept(home, "late"), "utf8")).toBe("x");
});

test("a script keeps its files too", async () => {
  using home = createHome();
  const script = join(home.path, "job.py");
  for (const [end, status] of [
    ["", 0],
    ["import os; os._exit(3)", 3],
  ] as const) {
    writeFileSync(script, `open("/projects/run-${status}", "w").write("r")\n${end}`);
    const { code } = await command(["run", script], { home });
    expect([code, readFileSync(kept(home, `run-${status}`), "utf8")]).toEqual([status, "r"]);
  }
});

test("KEP-2: no file of the user's is taken for one of ours that is half written", async () => {
  using home = createHome();
  const names = [
    "x.sandpy-part",
    ".sandpy-part",
    ".sandpy-0123456789abcdef01234567",
    ".a.json.0123456789abcdef",
  ];
  mkdirSync(kept(home), { recursive: true });
  writeFileSync(kept(home, "from-host.sandpy-part"), "h");
  {
    await using bridge = await startBridge({ home });
    await bridge.python(`for name in ${JSON.stringify(names)}: open("/projects/" + name, "w").write("u")`);
    const { text } = await bridge.python('import os; sorted(os.listdir("/projects"))');
    for (const name of [...names, "from-host.sandpy-part"]) expect(text).toContain(`'${name}'`);
  }
  expect(readdirSync(kept(home)).sort()).toEqual([...names, "from-host.sandpy-part", "memory"].sort());
});

test("KEP-11: where two change one file both are kept, and the one that comes second is told once", async () => {
  using home = createHome();
  await using one = await startBridge({ home });
  await using other = await startBridge({ home });
  await one.python('open("/projects/notes.txt", "w").write("first")');
  await waitUntil(async () =>
    (await other.python('import os; os.path.exists("/projects/notes.txt")')).text.includes("True"),
  );
  // The other session's call lies within this one's.
  const slow = one.python(`
import time
open("/projects/notes.txt", "w").write("mine")
save_memory("written", 1)
while not memory_exists("go on"): time.sleep(0.02)`);
  await waitUntil(async () => existsSync(kept(home, "memory/written.json")));
  await other.python('open("/projects/notes.txt", "w").write("theirs")');
  await other.python('save_memory("go on", 1)');
  const { text } = await slow;
  expect(text).toContain(
    "kept as /projects/notes.conflict-1.txt: /projects/notes.txt: somebody else changed it",
  );
  expect(readFileSync(kept(home, "notes.txt"), "utf8")).toBe("theirs");
  expect(readFileSync(kept(home, "notes.conflict-1.txt"), "utf8")).toBe("mine");
  const next = await one.python(
    'print(open("/projects/notes.txt").read(), open("/projects/notes.conflict-1.txt").read())',
  );
  expect(next.text).toContain("theirs mine");
  expect(next.text).not.toContain("somebody else");
});
