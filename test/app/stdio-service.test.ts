import { describe, expect, test } from "bun:test";
import { PassThrough } from "node:stream";
import { serveOnceSpokenTo } from "../../src/app/stdio-service.ts";

/** A service whose parts say when their turn has come. */
function start() {
  const events: string[] = [];
  const stdin = new PassThrough();
  const made = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const service = serveOnceSpokenTo({
    stdin,
    onClient() {
      events.push("client");
      return made.promise;
    },
    async serve() {
      events.push("serve");
      return {
        done: end.promise,
        close() {
          events.push("close");
          end.resolve();
          return end.promise;
        },
      };
    },
  });
  return { events, stdin, service, made, end };
}

const turn = () => new Promise(setImmediate);

describe("serveOnceSpokenTo", () => {
  test("does nothing for a client that says nothing", async () => {
    const { events, stdin, service } = start();
    stdin.end();
    await service.done;
    expect(events).toEqual([]);
  });

  test("has the sandbox begun before it loads the protocol", async () => {
    const { events, stdin, service, made, end } = start();
    stdin.write('{"jsonrpc":"2.0",');
    while (events.length === 0) await turn();
    expect(events).toEqual(["client"]);
    made.resolve();
    end.resolve();
    await service.done;
    expect(events).toEqual(["client", "serve"]);
  });

  test("makes nothing ready for what cannot be a client, but answers it", async () => {
    const { events, stdin, service, end } = start();
    stdin.write("hello?\n");
    end.resolve();
    await service.done;
    expect(events).toEqual(["serve"]);
  });

  test("ends when it is closed, before a client speaks and after, however often", async () => {
    const quiet = start();
    await Promise.all([quiet.service.close(), quiet.service.close(), quiet.service.done]);
    expect(quiet.events).toEqual([]);
    const busy = start();
    busy.stdin.write("{");
    busy.made.resolve();
    while (!busy.events.includes("serve")) await turn();
    await busy.service.close();
    await busy.service.close();
    expect(busy.events).toEqual(["client", "serve", "close", "close"]);
  });
});
