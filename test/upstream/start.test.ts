import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJournal, createRig, define, faultOf, SERVERS, scripted, soon, until } from "./harness.ts";

const HINT = 'Correct its definition "fx" in ~/MCPs/all.json.';
const AGAIN = "If it downloads itself on its first start, try again; else run its command by hand and see.";
const EXECUTABLE = JSON.stringify(process.execPath);

describe("a server that does not come up", () => {
  test.each([
    [
      "a command that is not on PATH",
      define("fx", { command: "no-such-command" }),
      'server "fx" could not be started: the command "no-such-command" was not found on PATH',
    ],
    [
      "a path to nothing",
      define("fx", { command: "/no/such/command" }),
      'server "fx" could not be started: the command "/no/such/command" does not exist',
    ],
    [
      "a file that is not executable",
      define("fx", { command: `${SERVERS}/scripted-server.ts` }),
      `server "fx" could not be started: the command "${SERVERS}/scripted-server.ts" is not executable`,
    ],
    [
      "a folder that does not exist",
      define("fx", { cwd: "/no/such/folder" }),
      'server "fx" could not be started: its folder "/no/such/folder" does not exist',
    ],
    [
      "an exit at once",
      scripted("fx", { bootExit: 3, stderr: "no token given\n" }),
      `server "fx" could not be started: ${EXECUTABLE} exited with code 3 before it answered. The end of its stderr:\nno token given`,
    ],
    [
      "a quiet exit with code 0",
      scripted("fx", { bootExit: 0 }),
      `server "fx" could not be started: ${EXECUTABLE} exited with code 0 before it answered`,
    ],
    [
      "a program that is no server",
      define("fx", { command: "sh", args: ["-c", "echo hello"] }),
      'server "fx" could not be started: "sh" exited with code 0 before it answered. The last line on its stdout that is no message: "hello"',
    ],
    [
      "a closed stdout of a program that lives on",
      define("fx", { command: "sh", args: ["-c", "exec 1>&-; exec sleep 1000"] }),
      'server "fx" could not be started: it closed its stdout',
    ],
    [
      "secrets in its last words",
      scripted("fx", { bootExit: 1, stderr: "token t0ps3cret refused" }, { env: { TOKEN: "t0ps3cret" } }),
      `server "fx" could not be started: ${EXECUTABLE} exited with code 1 before it answered. The end of its stderr:\ntoken *** refused`,
    ],
    [
      "a refusal of every handshake",
      scripted("fx", { refuses: ["initialize"] }),
      'server "fx" could not be started: it refused the handshake: no initialize here',
    ],
  ])("says why: %s", async (_case, definition, message) => {
    await using rig = createRig([definition]);

    const fault = await faultOf(rig.upstream.connect("fx", soon()));

    expect(fault).toEqual({ code: "UPSTREAM_UNREACHABLE", message, hint: HINT });
    expect(await rig.upstream.listServers(soon())).toMatchObject([{ name: "fx", status: "failed" }]);
  });

  test("explains what a gateway of Docker mostly lacks when it ends at once", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sandpy-docker-"));
    writeFileSync(join(folder, "docker"), "#!/bin/sh\necho 'no secrets found' >&2\nexit 1\n", {
      mode: 0o755,
    });
    const gateway = define("gate", { command: "docker", args: ["mcp", "gateway", "run"] });
    await using rig = createRig([gateway], { env: { PATH: `${folder}:/usr/bin:/bin`, HOME: "/home/u" } });

    const { message, hint } = await faultOf(rig.upstream.connect("gate", soon()));

    expect(message).toBe(
      'server "gate" could not be started: "docker" exited with code 1 before it answered. The end of its stderr:\nno secrets found',
    );
    expect(hint).toStartWith("Docker's gateway mostly ends so when a login or a secret is missing:");
    rmSync(folder, { recursive: true });
  });

  test("gives up one that is silent when its time is over, and names what it printed", async () => {
    const dead = scripted("fx", { dead: true, stdout: "half a line\n" });
    await using rig = createRig([dead], { limits: { connectMs: 400 } });

    expect(await faultOf(rig.upstream.connect("fx", soon()))).toEqual({
      code: "UPSTREAM_TIMEOUT",
      message:
        'server "fx" did not finish its start within 0.4 s. The last line on its stdout that is no message: "half a line"',
      hint: AGAIN,
    });
  });

  test("lets a caller go before the server's own time is over, and the start goes on", async () => {
    using journal = createJournal();
    await using rig = createRig([scripted("fx", { dead: true, journal: journal.path })]);
    const stop = new AbortController();
    const connecting = faultOf(rig.upstream.connect("fx", stop.signal));
    await until(() => journal.lines().includes("boot"));

    stop.abort(new DOMException("late", "TimeoutError"));

    expect(await connecting).toEqual({
      code: "UPSTREAM_TIMEOUT",
      message: 'starting server "fx" took longer than the time that was left',
      hint: "Give the run a larger timeout, or ask for less at once.",
    });
    expect(await rig.upstream.listServers(soon())).toMatchObject([{ status: "idle" }]);
  });
});

describe("a server that prints to stdout", () => {
  test.each([
    ["banners, blank lines, broken JSON and lists", "Starting…\n\n{not json}\n[50] handler added\n[1]\n"],
    ["other JSON", '{"level":"info"}\n"text"\n42\nnull\n'],
    ["a piece of a line", "half "],
    ["a byte order mark", "\ufeff"],
    ["a quoted request", '[debug] got {"jsonrpc":"2.0","id":1,"method":"ping"}\n'],
  ])("UPS-3: works all the same: %s", async (_case, stdout) => {
    await using rig = createRig([scripted("fx", { stdout, tools: { echo: {} } })]);

    const result = await rig.upstream.callTool({ server: "fx", tool: "echo", arguments: { a: 1 } }, soon());

    expect(result).toEqual({ content: [], structuredContent: { a: 1 } });
    expect(rig.logged.filter((line) => line.startsWith("WARNING")).length).toBeLessThanOrEqual(1);
  });

  test("UPS-3: is kept, however much it has printed by and by, while it answers", async () => {
    await using rig = createRig([scripted("fx", { tools: { t: { chatter: 400 } } })]);
    for (let call = 0; call < 4; call++)
      await rig.upstream.callTool({ server: "fx", tool: "t", arguments: {} }, soon());

    expect(rig.logged.filter((line) => line.startsWith("WARNING"))).toHaveLength(1);
  });

  test("is given up when it prints nothing else", async () => {
    await using rig = createRig([scripted("fx", { stdout: "chatter\n".repeat(1001) })]);

    expect(await faultOf(rig.upstream.connect("fx", soon()))).toEqual({
      code: "UPSTREAM_UNREACHABLE",
      message:
        'server "fx" could not be started: it wrote more than 1000 lines on its stdout that are no messages, the last was "chatter"',
      hint: HINT,
    });
  });
});

test("UPS-6: starts a server that only speaks the newest revision by asking it again", async () => {
  await using rig = createRig([define("new", { args: [`${SERVERS}/modern-server.ts`] })]);

  const result = await rig.upstream.callTool(
    { server: "new", tool: "add", arguments: { a: 2, b: 3 } },
    soon(),
  );

  expect(result["content"]).toEqual([{ type: "text", text: "5" }]);
});
