/** Which servers are found, and that those which may not be used are left alone on every path. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { type CommandResult, command } from "./helpers/command.ts";
import { BINARY, until } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";
import { npmServer } from "./helpers/npm-servers.ts";
import { createWitness, type Witness } from "./helpers/witness.ts";

interface Listed {
  readonly name: string;
  readonly state: string;
  readonly reason: string | null;
  readonly tools: number | null;
}

async function list(run: Promise<CommandResult>): Promise<Readonly<Record<string, Listed>>> {
  const { code, stdout } = await run;
  expect(code).toBe(0);
  const { servers } = JSON.parse(stdout) as { servers: readonly Listed[] };
  return Object.fromEntries(servers.map((server) => [server.name, server]));
}

describe("CONF-1: a server that is switched off", () => {
  let witness: Witness;
  let bridge: Bridge;
  const names = ["off-stdio", "not-on-stdio", "off-http", "not-on-http"];
  beforeAll(async () => {
    witness = await createWitness();
    const { home } = witness;
    home.defineServers({
      "off-stdio": witness.stdio("a", { disabled: true }),
      "not-on-stdio": witness.stdio("b", { enabled: false }),
      "off-http": witness.http({ disabled: true }),
      "not-on-http": witness.http({ enabled: false }),
    });
    bridge = await startBridge({ home });
    await bridge.python("1"); // the first result may carry a note about the engine
  });
  afterAll(async () => {
    await bridge[Symbol.asyncDispose]();
    await witness[Symbol.asyncDispose]();
  });
  const isUntouched = () =>
    !witness.wasStarted("a") && !witness.wasStarted("b") && witness.connections() === 0;

  test("is listed as such, and nothing else happens", async () => {
    const servers = await list(command(["servers", "--json"], { home: witness.home }));
    expect(names.map((name) => servers[name]?.state)).toEqual(names.map(() => "disabled"));
    expect(isUntouched()).toBe(true);
  });

  test.each(names)("is refused with that reason when a call names %s", async (name) => {
    const { text, isError } = await bridge.call({ code: "print('ran')", servers: [name] });
    expect(isError).toBe(true);
    expect(text).toContain(`server "${name}" is switched off`);
    expect(text).not.toContain("ran\n");
    expect(isUntouched()).toBe(true);
  });

  test("is refused to code as well, and is not among the servers", async () => {
    const { text } = await bridge.python(
      [
        "print(sorted(runtime.discovered_servers()))",
        "try:",
        "    await runtime.call_tool('off-stdio', 'x', {})",
        "except Exception as error:",
        "    print(type(error).__name__, error)",
      ].join("\n"),
    );
    expect(text).toStartWith("[]\n");
    expect(text).toContain("off-stdio");
    expect(isUntouched()).toBe(true);
  });

  test("is found by a search that says why, and is not asked for its tools", async () => {
    const { text } = await bridge.python("print(await runtime.find_servers('off-stdio'))");
    expect(text).toContain('is switched off: "disabled" is true');
    await bridge.python("print(await runtime.find_servers(''))\nimport asyncio\nawait asyncio.sleep(1)");
    expect(isUntouched()).toBe(true);
  });

  test("is not asked by sandpy tools, also when all are asked anew", async () => {
    const all = await command(["tools", "--refresh"], { home: witness.home });
    expect([all.code, isUntouched()]).toEqual([0, true]);
    const named = await command(["tools", "off-stdio", "off-http", "--refresh"], { home: witness.home });
    expect([named.code, isUntouched()]).toEqual([6, true]);
  });

  test("is refused by sandpy run", async () => {
    const file = witness.home.write("job.py", "print('ran')");
    const { code, stdout, stderr } = await command(["run", file, "--servers", "off-http"], {
      home: witness.home,
    });
    expect([code, stdout]).toEqual([6, ""]);
    expect(stderr).toContain('server "off-http" is switched off');
    expect(isUntouched()).toBe(true);
  });
});

describe("CONF-2: the bridge itself", () => {
  test("is never started, however it is configured, and is noted", async () => {
    await using witness = await createWitness();
    const { home } = witness;
    symlinkSync(BINARY, join(home.path, "linked"));
    home.write("bin/python-tools", "");
    symlinkSync(BINARY, join(home.path, "bin/sandpy-alias"));
    home.defineServers({
      py: { command: "sandpy" },
      link: { command: join(home.path, "linked"), args: ["serve"] },
      npx: { command: "npx", args: ["-y", "sandpy"] },
      path: { command: "sandpy-alias" },
    });
    const env = { PATH: `${join(home.path, "bin")}:${process.env["PATH"]}` };
    const { code, stdout, stderr } = await command(["servers", "--json"], { home, env });
    const { servers, problems } = JSON.parse(stdout) as {
      servers: Listed[];
      problems: { message: string }[];
    };

    expect(code).toBe(0);
    expect(servers.map(({ name, state }) => [name, state]).sort()).toEqual([
      ["link", "self"],
      ["npx", "self"],
      ["path", "self"],
      ["py", "self"],
    ]);
    expect(problems.length).toBe(4);
    expect(stderr).toBe("");

    await using bridge = await startBridge({ home, env });
    await bridge.python("1");
    expect((await bridge.python("runtime.discovered_servers()")).text).toBe("[]");
    const { text, isError } = await bridge.call({ code: "1", servers: ["py"] });
    expect([isError, text.includes("is this bridge itself")]).toEqual([true, true]);
  });

  test("a wrapped copy stops at level 1", async () => {
    await using witness = await createWitness();
    const { home } = witness;
    const wrapper = home.write(
      "wrapper.sh",
      `#!/bin/sh\necho >> "${home.path}/copies"\nexec "${BINARY}" "$@"\n`,
    );
    home.defineServers({ wrapped: { command: "/bin/sh", args: [wrapper, "serve"] } });
    await using bridge = await startBridge({ home });
    const { text, isError } = await bridge.call({ code: "await mcp_wrapped.run_python(code='1')" });
    expect(isError).toBe(true);
    expect(text).toContain("a copy of sandpy that sandpy itself started");
    expect((await Bun.file(join(home.path, "copies")).text()).length).toBe(1);
  });

  test("a program that a server runs has no servers", async () => {
    await using witness = await createWitness();
    witness.home.defineServers({ a: witness.stdio("a") });
    const file = witness.home.write("job.py", "print(runtime.discovered_servers())");
    const env = { SANDPY_DEPTH: "1" };
    expect((await command(["run", file], { home: witness.home, env })).stdout).toBe("[]\n");
    const { code, stderr } = await command(["run", file, "--servers", "a"], { home: witness.home, env });
    expect([code, stderr.includes('server "a" is forbidden by SANDPY_DEPTH=1')]).toEqual([6, true]);
    expect(witness.wasStarted("a")).toBe(false);
  });
});

describe("files that change", () => {
  test("give new servers to the next call, and take those away that are gone", async () => {
    await using bridge = await startBridge();
    const { home } = bridge;
    const names = async () => (await bridge.python("sorted(runtime.discovered_servers())")).text;
    await bridge.python("1");
    expect(await names()).toBe("[]");

    home.defineServers({ files: npmServer("filesystem", home.path) });
    await until("the server is there", async () => (await names()) === "['files']");
    const { text } = await bridge.python("(await mcp_files.list_allowed_directories()).text");
    expect(text).toContain(home.path);
    const isRunning = () => Bun.spawnSync(["pgrep", "-f", `index.js ${home.path}`]).exitCode === 0;
    expect(isRunning()).toBe(true);

    home.defineServers({});
    await until("the server is gone", async () => (await names()) === "[]");
    await until("its process ends", () => !isRunning());
  });

  test("give a server to the call that names it, at once", async () => {
    await using bridge = await startBridge();
    await bridge.python("1");
    bridge.home.defineServers({ everything: npmServer("everything") });
    const { text } = await bridge.python("print((await mcp_everything.echo(message='hi')).text)", {
      servers: ["everything"],
    });
    expect(text).toBe("Echo: hi\n");
  });

  test("show how many tools a server has once it was asked", async () => {
    await using bridge = await startBridge();
    const { home } = bridge;
    home.defineServers({ everything: npmServer("everything") });
    expect((await list(command(["servers", "--json"], { home })))["everything"]?.tools).toBeNull();
    await bridge.python("await runtime.list_tools('everything')");
    await until("the tools are remembered", async () => {
      const count = (await list(command(["servers", "--json"], { home })))["everything"]?.tools;
      return typeof count === "number" && count > 5;
    });
  });
});

describe("a long list", () => {
  test("arrives whole at a slow reader, and a closed pipe ends quietly", async () => {
    using home = createHome();
    const servers = Array.from({ length: 3000 }, (_, index) => [
      `server-${index}`,
      { command: "x", args: ["y".repeat(200)], description: "d".repeat(200) },
    ]);
    home.defineServers(Object.fromEntries(servers));
    const whole = await command(["servers", "--json"], { home });
    expect(Object.keys(await list(Promise.resolve(whole))).length).toBe(3000);

    const shell = (line: string) =>
      Bun.spawnSync(["/bin/bash", "-c", line], {
        env: { ...process.env, HOME: home.path, SANDPY: BINARY },
      });
    expect(shell('"$SANDPY" servers --json | (sleep 1; wc -c)').stdout.toString().trim()).toBe(
      String(Buffer.byteLength(whole.stdout)),
    );
    const cut = shell('"$SANDPY" servers --json | head -c 10; echo "$PIPESTATUS"');
    expect([cut.stdout.toString(), cut.stderr.toString()]).toEqual([`${whole.stdout.slice(0, 10)}0\n`, ""]);
  });
});
