import { describe, expect, test } from "bun:test";
import { JobQueue } from "../../src/session/queue.ts";

const live = () => new AbortController().signal;

describe("JobQueue", () => {
  test("runs jobs one after the other, in order", async () => {
    const queue = new JobQueue({ jobs: 10, bytes: 100 });
    const events: string[] = [];
    const job = (name: string) => async () => {
      events.push(`${name} starts`);
      await Bun.sleep(1);
      events.push(`${name} ends`);
      return name;
    };
    const results = await Promise.all(["a", "b", "c"].map((name) => queue.run(job(name), 0, live())));
    expect(results).toEqual(["a", "b", "c"]);
    expect(events).toEqual(["a starts", "a ends", "b starts", "b ends", "c starts", "c ends"]);
  });

  test("goes on after a job that fails", async () => {
    const queue = new JobQueue({ jobs: 10, bytes: 100 });
    const failed = queue.run(() => Promise.reject(new Error("no")), 0, live()).catch((e: Error) => e.message);
    expect(await queue.run(async () => "next", 0, live())).toBe("next");
    expect(await failed).toBe("no");
  });

  test("CLI-2: refuses more than it may hold, saying how many wait", async () => {
    const queue = new JobQueue({ jobs: 2, bytes: 100 });
    const gate = Promise.withResolvers<void>();
    const first = [queue.run(() => gate.promise, 0, live()), queue.run(() => gate.promise, 0, live())];
    const error = await queue.run(async () => undefined, 0, live()).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "SESSION_BUSY", message: "2 calls wait in this session already" });
    gate.resolve();
    await Promise.all(first);
    expect(await queue.run(async () => "again", 0, live())).toBe("again");
  });

  test("lets a waiting job be cancelled without running it or holding up the next", async () => {
    const queue = new JobQueue({ jobs: 10, bytes: 100 });
    const gate = Promise.withResolvers<void>();
    const first = queue.run(() => gate.promise, 0, live());
    const abort = new AbortController();
    let ran = false;
    const second = queue.run(
      async () => {
        ran = true;
      },
      0,
      abort.signal,
    );
    const third = queue.run(async () => "third", 0, live());
    abort.abort();
    expect(await second.catch((e: unknown) => e)).toMatchObject({ code: "CANCELLED" });
    gate.resolve();
    expect(await third).toBe("third");
    await first;
    expect(ran).toBe(false);
  });

  test("refuses more bytes than it may hold, but takes anything when it is empty", async () => {
    const queue = new JobQueue({ jobs: 10, bytes: 100 });
    const gate = Promise.withResolvers<void>();
    const first = queue.run(() => gate.promise, 500, live());
    expect(await queue.run(async () => 1, 1, live()).catch((e: unknown) => e)).toMatchObject({
      code: "SESSION_BUSY",
    });
    gate.resolve();
    await first;
    expect(await queue.run(async () => "again", 90, live())).toBe("again");
  });
});
