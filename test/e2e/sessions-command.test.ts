import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { command } from "./helpers/command.ts";
import { until } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { type Served, startServed } from "./helpers/served.ts";

const TOKENS = { ada: "ada-0123456789abcdef", ben: "ben-0123456789abcdef", root: "root-0123456789abcdef" };

let home: TestHome;
let served: Served;
beforeAll(async () => {
  home = createHome();
  const lines = Object.entries(TOKENS).map(([name, token]) => `${name} ${token}\n`);
  chmodSync(home.write("tokens", lines.join("")), 0o600);
  served = await startServed(home, ["--token-file", join(home.path, "tokens"), "--admin", "root"]);
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

const sessions = (words: readonly string[], who: keyof typeof TOKENS) =>
  command(["sessions", ...words, "--url", served.url.href], {
    home,
    env: { MCP_BRIDGE_HTTP_TOKEN: TOKENS[who] },
  });

interface Listed {
  readonly id: string;
  readonly state: string;
  readonly memory_bytes: number | null;
  readonly code: string | null;
}
const list = async (who: keyof typeof TOKENS) =>
  (JSON.parse((await sessions(["--json"], who)).stdout) as { sessions: readonly Listed[] }).sessions;

test("shows and changes one's own sessions, and those of all to an admin", async () => {
  await using ada = await served.connect(TOKENS.ada);
  await using ben = await served.connect(TOKENS.ben);
  expect(await ada.text("v = 1\nv")).toMatch(/^1$/m); // the engine may have a note
  expect(await ben.text("w = 2\nw")).toMatch(/^2$/m);
  const [own, ...others] = await list("ada");
  if (own === undefined) throw new Error("Ada's session is not listed");
  expect([own.state, others]).toEqual(["idle", []]);
  await until("memory is known", async () => ((await list("ada"))[0]?.memory_bytes ?? 0) > 4 * 1024 ** 2);
  const of = await list("ben");
  expect((await list("root")).map(({ id }) => id).sort()).toEqual([own.id, of[0]?.id ?? ""].sort());

  const foreign = await sessions(["end", own.id], "ben");
  expect([foreign.code, foreign.stderr]).toEqual([5, expect.stringContaining(`no session "${own.id}"`)]);
  expect(await ada.text("v")).toBe("1");

  const endless = ada.python("while True:\n    pass");
  await until("the code runs", async () => (await list("ada"))[0]?.code === "while True:");
  expect((await sessions([], "ada")).stdout).toMatch(/^\S+ +running +.* ada +while True:\n$/m);
  expect((await sessions(["interrupt", own.id], "ada")).stdout).toBe(`Interrupted ${own.id}.\n`);
  expect(await endless).toBe("cancelled");
  expect(await ada.text("v")).toBe("1");
  expect((await sessions(["interrupt", own.id], "ada")).stdout).toBe(`Nothing runs in ${own.id}.\n`);

  expect((await sessions(["reset", own.id], "ada")).stdout).toBe(`Gave a fresh Python to ${own.id}.\n`);
  const fresh = await ada.text("'v' in globals()");
  expect(fresh).toStartWith("False");
  expect(fresh).toContain("Variables, imports and functions of this session are gone");

  expect((await sessions(["end", own.id], "root")).stdout).toBe(`Ended ${own.id}.\n`);
  expect(await list("ada")).toEqual([]);
  expect(await ada.text("'v' in globals()")).toContain("The session was ended.");
  expect(await ben.text("w")).toBe("2");
});

test("says what to do where there is no server, or no right to it", async () => {
  const wrong = await command(["sessions", "--url", served.origin], { home });
  expect([wrong.code, wrong.stderr]).toEqual([3, expect.stringContaining("a bearer token is needed")]);
  const nobody = await command(["sessions", "--url", "http://127.0.0.1:1"], { home });
  expect(nobody).toEqual({
    code: 3,
    stdout: "",
    stderr:
      'sandpy: no server of ours answers at http://127.0.0.1:1 (ECONNREFUSED)\nStart one with "sandpy serve --http", or name the address of one that runs with --url.',
  });
  const file = ["--token-file", join(home.path, "tokens"), "--as", "root"];
  expect((await command(["sessions", "--url", served.origin, ...file], { home })).code).toBe(0);
});
