/** A bridge that may have few open files works, or says what is missing and what to type. */
import { describe, expect, test } from "bun:test";
import { startBridge } from "./helpers/client.ts";
import { command } from "./helpers/command.ts";
import { type Report, statusOf } from "./helpers/doctor.ts";
import { containersOf, until } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";
import { startServed } from "./helpers/served.ts";
import { connectHttp } from "./helpers/session-clients.ts";

const TOKEN = "ada-0123456789abcdef";
/** What it takes at least: below, the runtime or the engine's client fails. */
const LEAST = 32;
const onLinux = test.if(process.platform === "linux"); // elsewhere nobody says what the limits are

describe("HOST-13: with few open files", () => {
  onLinux.each([LEAST, 64, 128])(
    "%d: sandpy run works",
    async (n) => {
      using home = createHome();
      home.write("p.py", "print(6 * 7)");
      const { code, stdout } = await command(["run", "p.py"], { home, limits: { n } });
      expect([code, stdout]).toEqual([0, "42\n"]);
    },
    60_000,
  );

  onLinux.each([64, 128])(
    "%d: a client over stdio is served, also by a second sandbox",
    async (n) => {
      await using bridge = await startBridge({ limits: { n } });
      expect((await bridge.python("print(1)")).text).toMatch(/^1\n/);
      expect((await bridge.call({ code: "print(2)", session: "new" })).text).toStartWith("2\n");
      const many =
        "import os\ntry:\n    while True: os.open('/dev/null', 0)\nexcept OSError as e: print(e.strerror)";
      expect((await bridge.python(many)).text).toBe("Too many open files\n");
      expect((await containersOf(bridge.pid)).length).toBeGreaterThan(0);
    },
    60_000,
  );

  onLinux(
    "64: a server over HTTP serves as many as there is room for, and says why not more",
    async () => {
      using home = createHome();
      await using served = await startServed(home, [], { MCP_BRIDGE_HTTP_TOKEN: TOKEN }, { n: 64 });
      const clients = [await connectHttp(served.url, TOKEN, "v1")];
      expect((await clients[0]?.run("6 * 7"))?.text).toMatch(/^42\b/); // and the note of a rootless engine
      let refused: unknown;
      while (clients.length < 20 && refused === undefined) {
        await connectHttp(served.url, TOKEN, "v1").then(
          (client) => clients.push(client),
          (error: unknown) => {
            refused = error;
          },
        );
      }
      expect(refused).toBeDefined();
      expect(served.stderr()).toContain("may have only 64 open files");
      await until("the log to say why", () => served.stderr().includes("too many connections"));
      await Promise.allSettled(clients.map((client) => client[Symbol.asyncDispose]()));
    },
    60_000,
  );

  onLinux(
    "64: sandpy doctor names them",
    async () => {
      using home = createHome();
      const { stdout } = await command(["doctor", "--json"], { home, limits: { n: 64 } });
      const report = JSON.parse(stdout) as Report;
      expect(statusOf(report, "own-limits")).toBe("warning");
      expect(statusOf(report, "sandbox")).toBe("ok");
      expect(report.findings.find(({ check }) => check === "own-limits")?.command).toBe("ulimit -n 256");
    },
    60_000,
  );

  onLinux(
    "16: what fails says so, and what to type",
    async () => {
      using home = createHome();
      home.write("p.py", "print(6 * 7)");
      const { code, stdout, stderr } = await command(["run", "p.py"], { home, limits: { n: 16 } });
      if (stdout === "42\n") expect(code).toBe(0);
      else expect([code === 0, stderr]).toEqual([false, expect.stringContaining("ulimit -n 256")]);
    },
    60_000,
  );
});
