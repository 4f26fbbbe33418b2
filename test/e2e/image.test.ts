import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runChild } from "../../src/core/child.ts";
import { makeWheel } from "../helpers/wheel.ts";
import { command } from "./helpers/command.ts";
import { BINARY, bridgeEnv, runEngine } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

const home = createHome();
const TAG = `localhost/sandpy-e2e:${process.pid}`;
/** Packing a Python and two runs of pip take their time where much else runs. */
const BUILD_MS = 240_000;
const wheels = join(home.path, "wheels");

beforeAll(async () => {
  mkdirSync(wheels);
  await makeWheel(wheels, "sandpy-fixture", "1.0", "VALUE = 42\n");
});
afterAll(async () => {
  await runEngine("image", "rm", "--force", TAG).catch(() => undefined); // a test that failed made none
  home[Symbol.dispose]();
});

const image = (...args: string[]) => command(["image", ...args], { home, timeoutMs: BUILD_MS });

/** What the Python that is packed here has, pip or not. */
async function hasPip(): Promise<boolean> {
  const env = { PATH: process.env["PATH"] ?? "" };
  const packer = join(import.meta.dir, "../../sandbox/image/pack_host.py");
  const described = await runChild({
    command: "python3",
    args: ["-B", packer, "--describe"],
    env,
    timeoutMs: 60_000,
  });
  const { executable } = JSON.parse(described.stdout) as { executable: string };
  const pip = await runChild({
    command: executable,
    args: ["-m", "pip", "--version"],
    env,
    timeoutMs: 60_000,
  });
  return pip.code === 0;
}

describe("sandpy image", () => {
  test(
    "builds one of this machine's Python with packages, of which a sandbox runs",
    async () => {
      const lock = join(home.path, "image.lock");
      const args = ["build", "--from-host", "--with", "sandpy-fixture", "--wheels", wheels, "--tag", TAG];
      const first = await image(...args, "--lock", lock, "--json");
      if (!(await hasPip())) {
        expect(first).toMatchObject({ code: 4, stderr: expect.stringContaining("has no pip") });
        return;
      }
      expect(first).toMatchObject({ code: 0 });
      const built = JSON.parse(first.stdout);
      expect(built).toMatchObject({
        image: TAG,
        env: `MCP_BRIDGE_IMAGE=${TAG}`,
        built: true,
        packages: ["sandpy-fixture 1.0"],
        labels: { "io.sandpy.recipe": "from-host" },
      });
      expect(readFileSync(lock, "utf8")).toContain(`${built.lock[0]}\n`);

      const script = home.write("job.py", "import sandpy_fixture\nprint(sandpy_fixture.VALUE)\n");
      const run = await command(["run", script], { home, env: { MCP_BRIDGE_IMAGE: TAG } });
      expect(run.stdout).toBe("42\n");

      const again = JSON.parse((await image(...args, "--lock", lock, "--json")).stdout);
      expect(again).toMatchObject({ built: false, id: built.id });

      const { images } = JSON.parse((await image("list", "--json")).stdout);
      expect(images).toContainEqual(
        expect.objectContaining({ id: built.id, python: built.python, configured: false }),
      );

      // On an image pip runs in a container, and this one has none.
      const onBase = ["build", "--base", TAG, "--with", "sandpy-fixture", "--wheels", wheels];
      expect(await image(...onBase)).toMatchObject({
        code: 4,
        stderr: expect.stringContaining("has no pip"),
      });
    },
    BUILD_MS,
  );

  test("lists the image in use first, with its Python", async () => {
    const { stdout, code } = await image("list");
    expect(code).toBe(0);
    const [head, row] = stdout.split("\n");
    expect(head).toMatch(/^IMAGE +USED +PYTHON/);
    expect(row).toMatch(/ yes +3\.\d+\.\d+/);
  });

  test("says where none can be pulled, and what else there is", async () => {
    const { code, stderr, stdout } = await image("pull", "localhost:1/sandpy-none:1");
    expect(code).toBe(4);
    expect(stdout).toBe("");
    expect(stderr).toContain("localhost:1/sandpy-none:1");
    expect(stderr).toContain("sandpy image build --from-host");
  });

  test.each([
    [["build"], /nothing says what to build/],
    [["build", "--with", "$(touch /tmp/x)"], /is not a Python package/],
    [["build", "--with", "numpy", "--apt=-y;x"], /is not a package of the distribution/],
    [["build", "--from-host", "--apt", "git"], /exclude each other/],
    [["build", "--with", "numpy", "--python", "/x"], /goes with --from-host alone/],
    [["build", "--from-host", "--with", "six", "--wheels", "/nowhere"], /"\/nowhere" cannot be read/],
    [
      ["build", "--from-host", "--python", "/nowhere/python3"],
      /no CPython 3\.9 or newer at "\/nowhere\/python3"/,
    ],
    [["build", "--containerfile", "/nowhere/Containerfile"], /cannot be read/],
    [["build", "--containerfile", "/dev/zero"], /"\/dev\/zero" has more than/],
    [["build", "--with", "numpy", "--network", "--privileged"], /needs a value/],
  ])("refuses %j", async (args, message) => {
    const { code, stderr } = await image(...args);
    expect([2, 4]).toContain(code ?? 0);
    expect(stderr).toMatch(message);
  });

  test("tells a base that is not here from one that is", async () => {
    const { code, stderr } = await image("build", "--base", "localhost/sandpy-none:1", "--with", "six");
    expect(code).toBe(4);
    expect(stderr).toContain('the base image "localhost/sandpy-none:1" is not here');
  });

  test("builds a Containerfile, and refuses an image without Python", async () => {
    mkdirSync(join(home.path, "own"));
    home.write("own/hello.txt", "hello\n");
    const file = home.write("own/Containerfile", "FROM scratch\nCOPY hello.txt /hello.txt\n");
    const { code, stderr } = await image("build", "--containerfile", file, "--tag", `${TAG}-empty`);
    await runEngine("image", "rm", "--force", `${TAG}-empty`);
    expect(code).toBe(4);
    expect(stderr).toContain("no sandbox starts in");
  });

  test("shows on a terminal what goes on", async () => {
    let screen = "";
    const decoder = new TextDecoder();
    const child = Bun.spawn([BINARY, "image", "pull", "localhost:1/sandpy-none:1"], {
      env: bridgeEnv(home.path),
      cwd: home.path,
      terminal: {
        cols: 60,
        rows: 24,
        data(_terminal, bytes) {
          screen += decoder.decode(bytes, { stream: true });
        },
      },
    });
    expect(await child.exited).toBe(4);
    expect(screen).toContain("pulling localhost:1/sandpy-none:1 0 s");
    expect(screen).toContain("could not pull");
  });
});
