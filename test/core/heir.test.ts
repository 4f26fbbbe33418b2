import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startHeir } from "../../src/core/heir.ts";
import { until } from "../helpers/until.ts";

const env = { PATH: process.env["PATH"] ?? "" };

/** Starts a client that ends at once and leaves `script` with its descriptors, in its process group. */
async function startWithHeir(script: string) {
  const client = await startHeir({
    command: "sh",
    args: ["-c", `sh -c "$1" <&3 >&4 2>&5 3<&- 4>&- 5>&- & exit 0`, "client", script],
    env,
    ownGroup: true,
  });
  const output = client.stdout[Symbol.asyncIterator]();
  const read = async () => Buffer.from((await output.next()).value ?? []).toString();
  return { client, read };
}

test("speaks with the heir, and ends with it", async () => {
  const { client, read } = await startWithHeir("read line; echo got $line; echo bye >&2; exit 3");
  await client.write("this\n");
  expect(await read()).toBe("got this\n");
  expect(await client.exited).toEqual({ code: null, signal: null });
  expect(client.stderrText()).toBe("bye");
});

test.each([
  ["the heir's alone once it has handed down", 0, { code: null, words: "bye" }],
  ["the client's too where it failed", 125, { code: 125, words: "a warning\nbye" }],
])("has for words %s", async (_whose, code, { words, ...exit }) => {
  const script = `echo a warning >&2; echo bye >&5; exit ${code}`;
  const client = await startHeir({ command: "sh", args: ["-c", script], env });
  expect(await client.exited).toMatchObject(exit);
  expect(client.stderrText()).toBe(words);
});

test("rejects with the system's code when the client does not exist", async () => {
  const client = { command: "no-such-program-here", args: [], env };
  expect(await startHeir(client).catch((error: unknown) => error)).toMatchObject({ code: "ENOENT" });
});

test("sends no signal once the client has ended, whose number may be another's by then", async () => {
  const log = join(mkdtempSync(join(tmpdir(), "heir-")), "log");
  const note = `trap 'echo TERM >>${log}' TERM; trap 'echo WINCH >>${log}' WINCH`;
  const { client, read } = await startWithHeir(`${note}; echo $$; while :; do sleep 0.05; done`);
  const heir = Number(await read());
  await until("the client's end", () => !existsSync(`/proc/${client.pid}`));
  try {
    expect(await client.stop(0)).toEqual({ code: null, signal: null });
    process.kill(heir, "SIGWINCH"); // of two that wait, SIGTERM comes first
    const noted = () => (existsSync(log) ? readFileSync(log, "utf8") : "");
    await until("the heir's note", () => noted() !== "");
    expect(noted()).toBe("WINCH\n");
  } finally {
    process.kill(heir, "SIGKILL");
  }
});
