import { describe, expect, test } from "bun:test";
import { detect, engineEnv, failureOf, makePrograms, neverAborted, specOf } from "./helpers/engines.ts";

describe("an engine that hangs", () => {
  const hang = (command: string) => `
PATH=/usr/bin:/bin
[ "$1" != --runtime ] || shift 2
case "$1" in
  version) echo '{"Client":{"Version":"9.9.9"}}';;
  info) echo '{"version":{"Version":"9.9.9"}}';;
  ${command}) exec sleep 60;;
  run) echo started; exec sleep 60;;
esac`;

  test.each([
    ["rm", '"podman rm --force --volumes NAME" did not answer within 300 ms'],
    ["ps", '"podman ps --all --quiet --filter name=^NAME$" did not answer within 300 ms'],
  ])("HOST-4: is named when a container is closed: %s", async (command, reason) => {
    const env = await engineEnv({ PATH: await makePrograms({ podman: hang(command) }) });
    const { engine } = await detect({ engine: "podman", env, answerTimeoutMs: 300 });
    const sandbox = await engine.start(specOf(""), neverAborted());
    const error = await failureOf(sandbox.close());
    expect(error.code).toBe("ENGINE_FAILED");
    expect(error.message).toBe(
      `the container "${sandbox.name}" could not be removed: ${reason.replace("NAME", sandbox.name)}`,
    );
    expect(error.hint).toBe(`Remove it by hand: podman rm --force ${sandbox.name}`);
    // Its client is gone all the same.
    await sandbox.ended;
  });

  test("is named when it is asked for an image", async () => {
    const env = await engineEnv({ PATH: await makePrograms({ podman: hang("image") }) });
    const { engine } = await detect({ engine: "podman", env, answerTimeoutMs: 300 });
    const error = await failureOf(engine.hasImage("python", neverAborted()));
    expect([error.code, error.message]).toEqual([
      "ENGINE_TIMEOUT",
      '"podman image exists python" did not answer within 300 ms',
    ]);
  });
});

describe("an engine that pulls", () => {
  const pulling = `
case "$1" in
  version) echo '{"Client":{"Version":"9.9.9"}}';;
  info) echo '{"version":{"Version":"9.9.9"}}';;
  pull) echo "first layer"; echo "Copying blob 1" >&2; echo "last layer";;
esac`;

  test("reports its last line, from either stream, and is stopped by the signal", async () => {
    const env = await engineEnv({ PATH: await makePrograms({ podman: pulling }) });
    const { engine } = await detect({ engine: "podman", env });
    const lines: string[] = [];
    await engine.pull("python", (line) => lines.push(line), neverAborted());
    expect(lines).toContain("Copying blob 1");
    expect(lines).toContain("last layer");
    const cancelled = failureOf(engine.pull("python", () => undefined, AbortSignal.abort()));
    expect((await cancelled).code).toBe("CANCELLED");
  });
});
