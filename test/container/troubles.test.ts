import { describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { join } from "node:path";
import { findDockerTroubles } from "../../src/container/docker-troubles.ts";
import { findPodmanTroubles } from "../../src/container/podman-troubles.ts";
import { makeFolder, makePrograms, neverAborted } from "./helpers/engines.ts";

/** A client that knows no contexts, as old ones. */
const docker = async () => join(await makePrograms({ docker: "exit 1" }), "docker");

describe("a docker that does not answer", () => {
  const ask = async (env: Record<string, string>, platform: NodeJS.Platform = "linux") =>
    findDockerTroubles({ executable: await docker(), env, platform, signal: neverAborted() });

  test("is elsewhere", async () => {
    const [trouble] = await ask({ DOCKER_HOST: "tcp://user:geheim@127.0.0.1:1" });
    expect(trouble).toMatchObject({ gravity: "problem", command: "unset DOCKER_HOST" });
    expect(trouble?.found).not.toContain("geheim");
  });

  test("has no socket where DOCKER_HOST says", async () => {
    const [trouble] = await ask({ DOCKER_HOST: `unix://${join(await makeFolder(), "none.sock")}` });
    expect(trouble).toMatchObject({
      command: "unset DOCKER_HOST",
      found: expect.stringContaining("does not exist"),
    });
  });

  test("has a socket that nobody serves", async () => {
    const path = join(await makeFolder(), "d.sock");
    const server = createServer().listen(path);
    const [trouble] = await ask({ DOCKER_HOST: `unix://${path}` });
    server.close();
    expect(trouble?.found).toContain("no daemon answers");
  });

  test("is in a context", async () => {
    const executable = join(
      await makePrograms({ docker: 'echo "ssh://build@tools.example"; exit 0' }),
      "docker",
    );
    const [trouble] = await findDockerTroubles({
      executable,
      env: { PATH: process.env["PATH"] ?? "" },
      platform: "linux",
      signal: neverAborted(),
    });
    expect(trouble).toMatchObject({
      command: "docker context use default",
      found: expect.not.stringContaining("build@"),
    });
  });
});

describe("a podman that needs a virtual machine", () => {
  const ask = async (answer: string) => {
    const executable = join(await makePrograms({ podman: `echo '${answer}'` }), "podman");
    const env = { PATH: process.env["PATH"] ?? "" };
    return findPodmanTroubles({ executable, env, platform: "darwin", uid: 501, signal: neverAborted() });
  };

  test.each([
    ["none is there", "[]", "podman machine init && podman machine start"],
    [
      "it is stopped",
      '[{"Name":"podman-machine-default","Running":false}]',
      "podman machine start podman-machine-default",
    ],
    ["its name is not for a shell", '[{"Name":"$(x)","Running":false}]', "podman machine start"],
  ])("says how to start it: %s", async (_what, answer, command) => {
    expect(await ask(answer)).toMatchObject([{ gravity: "problem", command }]);
  });

  test.each([['[{"Name":"a","Running":true}]'], ["not JSON"]])("has nothing to say of %s", async (answer) => {
    expect(await ask(answer)).toEqual([]);
  });
});

describe("a rootless podman", () => {
  const ask = (env: Record<string, string>, uid = 54_321) =>
    findPodmanTroubles({ executable: "/bin/false", env, platform: "linux", uid, signal: neverAborted() });
  const PATH = process.env["PATH"] ?? "";

  test("lacks a runtime folder", async () => {
    const found = await ask({ PATH });
    expect(found.find((trouble) => trouble.found.startsWith("XDG_RUNTIME_DIR"))).toMatchObject({
      gravity: "warning",
      command: expect.stringContaining("XDG_RUNTIME_DIR=/run/user/54321"),
    });
  });

  test("has a runtime folder of somebody else", async () => {
    const found = await ask({ PATH, XDG_RUNTIME_DIR: "/" });
    expect(found.find((trouble) => trouble.found.startsWith("XDG_RUNTIME_DIR"))?.gravity).toBe("problem");
  });

  test("of root has none of these troubles", async () => {
    expect(await ask({}, 0)).toEqual([]);
  });
});
