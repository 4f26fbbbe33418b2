import { describe, expect, test } from "bun:test";
import type { ContainerEngine } from "../../src/container/engine.ts";
import { hintOnPull, ImagePuller } from "../../src/container/image-pull.ts";
import { createMemoryLog } from "../helpers/logs.ts";

const live = () => new AbortController().signal;

/** An engine whose pulls end when a test says so: there is no registry here. */
function createRegistry() {
  const pulls: { readonly done: PromiseWithResolvers<void> }[] = [];
  const pull: ContainerEngine["pull"] = (_image, onProgress, signal) => {
    const done = Promise.withResolvers<void>();
    pulls.push({ done });
    signal.addEventListener("abort", () => done.reject(new Error("the pull was ended")));
    onProgress("layer 1 of 3");
    return done.promise;
  };
  return { pulls, engine: { pull } as ContainerEngine };
}

function createPuller(waitMs: number, signal = live()): ImagePuller {
  return new ImagePuller({ log: createMemoryLog(), waitMs, signal });
}

describe("ImagePuller", () => {
  test("shares one pull among all who need the image", async () => {
    const { engine, pulls } = createRegistry();
    const puller = createPuller(60_000);
    const waiting = [1, 2, 3].map(() => puller.ensure(engine, "python:3", live()));
    pulls[0]?.done.resolve();
    await Promise.all(waiting);
    expect(pulls).toHaveLength(1);
  });

  test("says how far a pull is to who cannot wait for it, and goes on", async () => {
    const { engine, pulls } = createRegistry();
    const puller = createPuller(20);
    const error = await puller.ensure(engine, "python:3", live()).catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: "IMAGE_MISSING",
      message: 'the container image "python:3" is being pulled (for 0 s, now: layer 1 of 3)',
      hint: "Call again in a minute; the pull goes on.",
    });
    pulls[0]?.done.resolve();
    await puller.ensure(engine, "python:3", live());
    expect(pulls).toHaveLength(1);
  });

  test("passes the failure of a pull on, and pulls again for the next", async () => {
    const { engine, pulls } = createRegistry();
    const puller = createPuller(60_000);
    const first = puller.ensure(engine, "python:3", live());
    pulls[0]?.done.reject(new Error("no such image"));
    expect(await first.catch((e: Error) => e.message)).toBe("no such image");
    const second = puller.ensure(engine, "python:3", live());
    pulls[1]?.done.resolve();
    await second;
  });

  test("ends its pulls with the bridge", async () => {
    const { engine, pulls } = createRegistry();
    const closing = new AbortController();
    const waiting = createPuller(60_000, closing.signal).ensure(engine, "python:3", live());
    closing.abort();
    expect(await waiting.catch((e: Error) => e.message)).toBe("the pull was ended");
    expect(pulls).toHaveLength(1);
  });
});

test("says of an image that no registry has that it is built", () => {
  expect(hintOnPull("podman", "localhost/sandpy-python:3f2a")).toMatch(
    /^An image of that name is built on the machine itself: "sandpy image list" .* "sandpy image build --/,
  );
  expect(hintOnPull("podman", "python:3.14-slim")).toStartWith(
    'Run "podman pull python:3.14-slim" to see more.',
  );
});
