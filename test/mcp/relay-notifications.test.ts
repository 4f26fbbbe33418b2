import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { LOG_LEVEL_META_KEY, type Client as ModernClient } from "@modelcontextprotocol/client";
import type { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { LOG_SEVERITIES } from "../../src/upstream/client-peer.ts";
import { connectModern, connectOlder, toolRun } from "../helpers/relay-rig.ts";
import { createJournal, createRig, scripted, until } from "../upstream/harness.ts";

const ERAS = ["older", "modern"] as const;

describe("progress of a server", () => {
  test.each(ERAS)("reaches a client of the %s kind that asked for it, and only grows", async (era) => {
    using heardAll = createJournal();
    const untilFile = heardAll.path; // what comes after the answer is for nobody
    await using rig = createRig([scripted("fx", { tools: { work: { steps: 3, untilFile }, a: {} } })]);
    const updates: { progress: number; message?: string | undefined }[] = [];
    const onprogress = (update: (typeof updates)[number]) => {
      updates.push(update);
      if (update.message?.includes("3/3")) writeFileSync(untilFile, "");
    };
    if (era === "older") {
      const client = await connectOlder(rig, {});
      await client.callTool(toolRun("fx", "work"), undefined, { onprogress });
      await client.close();
    } else {
      const client = await connectModern(rig, {});
      await client.callTool(toolRun("fx", "work"), { onprogress });
      await client.close();
    }

    const text = updates.map(({ message }) => message).join("");
    expect(text).toBe("fx.work: 1/3 step 1\nfx.work: 2/3 step 2\nfx.work: 3/3 step 3\n");
    const values = updates.map(({ progress }) => progress);
    expect(values).toEqual([...new Set(values)].sort((one, two) => one - two));
  });

  test("is not asked for by a call whose client does not want it", async () => {
    using journal = createJournal();
    await using rig = createRig([scripted("fx", { tools: { work: { steps: 3 } }, journal: journal.path })]);
    const client = await connectOlder(rig, {});

    await client.callTool(toolRun("fx", "work"));

    expect(journal.lines().join("")).not.toContain("progressToken");
    await client.close();
  });
});

describe("log messages of a server", () => {
  const message = (level: string, data: unknown, logger?: string) => ({
    method: "notifications/message",
    params: { level, data, ...(logger === undefined ? {} : { logger }) },
  });

  test("reach a client that set a level, from that level on", async () => {
    using journal = createJournal();
    const says = [
      message("info", "quiet"),
      message("warning", { why: 1 }, "db"),
      message("error", "x".repeat(20_000)),
    ];
    const script = { tools: { talk: { says } }, capabilities: { logging: {} }, journal: journal.path };
    await using rig = createRig([scripted("fx", script)]);
    const heard: { level: string; logger?: string | undefined; data: unknown }[] = [];
    const client = await connectOlder(rig, {}, (each) =>
      each.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.push(params)),
    );

    await client.callTool(toolRun("fx", "talk"));
    expect(heard).toEqual([]);
    await client.setLoggingLevel("warning");
    await client.callTool(toolRun("fx", "talk"));

    await until(() => heard.length === 2);
    expect(heard[0]).toEqual({ level: "warning", logger: "fx: db", data: { why: 1 } });
    expect([heard[1]?.logger, String(heard[1]?.data).length]).toEqual(["fx", 10_001]);
    expect(
      journal
        .lines()
        .filter((line) => line.includes("logging/setLevel"))
        .map((line) => JSON.parse(line).params),
    ).toEqual([{ level: "warning" }]);
    await client.close();
  });

  describe.each([
    ["DEBUG", "debug"],
    ["INFO", "info"],
    ["WARNING", "warning"],
    ["ERROR", "error"],
  ] as const)("where the level of the log is %s", (level, least) => {
    test.each(ERAS)(`begin at ${least} for a client of the %s kind that asks for all`, async (era) => {
      const says = LOG_SEVERITIES.map((each) => message(each, each));
      const heard: unknown[] = [];
      using journal = createJournal();
      const script = { tools: { talk: { says } }, capabilities: { logging: {} }, journal: journal.path };
      await using rig = createRig([scripted("fx", script)]);
      if (era === "older") {
        const hear = (each: OlderClient) =>
          each.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
            heard.push(params.level);
          });
        const client = await connectOlder(rig, {}, hear, level);
        await client.setLoggingLevel("debug");
        await client.callTool(toolRun("fx", "talk"));
        await client.close();
      } else {
        const hear = (each: ModernClient) =>
          each.setNotificationHandler("notifications/message", ({ params }) => {
            heard.push(params.level);
          });
        const client = await connectModern(rig, {}, hear, level);
        await client.callTool({ ...toolRun("fx", "talk"), _meta: { [LOG_LEVEL_META_KEY]: "debug" } });
        await client.close();
      }
      const expected = LOG_SEVERITIES.slice(LOG_SEVERITIES.indexOf(least));
      await until(() => heard.length >= expected.length);
      expect(heard).toEqual([...expected]);
      const asked = journal.lines().filter((line) => line.includes("logging/setLevel"));
      expect(asked.map((line) => JSON.parse(line).params)).toEqual([{ level: least }]);
    });
  });

  test("UPS-18: carry no value of the server's own environment, nor do errors", async () => {
    const secret = "tok-123456";
    const script = {
      tools: {
        talk: { says: [message("error", `with ${secret}`), message("error", { deep: [secret] })] },
        fail: { error: { code: -32_000, message: `bad ${secret} ${"x".repeat(20_000)}` } },
      },
    };
    await using rig = createRig([scripted("fx", script, { env: { TOKEN: secret } })]);
    const heard: unknown[] = [];
    const client = await connectOlder(rig, {}, (each) =>
      each.setNotificationHandler(
        LoggingMessageNotificationSchema,
        ({ params }) => void heard.push(params.data),
      ),
    );
    await client.setLoggingLevel("debug");

    await client.callTool(toolRun("fx", "talk"));
    const failed = JSON.stringify(await client.callTool(toolRun("fx", "fail")));

    await until(() => heard.length === 2);
    expect(heard).toEqual(["with ***", '{"deep":["***"]}']);
    expect(failed).toContain("bad *** xxx");
    expect(failed.length).toBeLessThan(25_000);
    expect(rig.logged.join("")).not.toContain(secret);
    await client.close();
  });

  test("come no faster than a client can bear", async () => {
    const says = Array.from({ length: 1000 }, (_, index) => message("error", index));
    await using rig = createRig([scripted("fx", { tools: { flood: { says } } })]);
    let heard = 0;
    const started = performance.now();
    const client = await connectOlder(rig, {}, (each) =>
      each.setNotificationHandler(LoggingMessageNotificationSchema, () => {
        heard += 1;
      }),
    );
    await client.setLoggingLevel("debug");

    await client.callTool(toolRun("fx", "flood"));

    const seconds = (performance.now() - started) / 1000;
    await until(() => heard > 0);
    expect(heard).toBeLessThanOrEqual(Math.min(999, 100 + 20 * seconds));
    await client.close();
  });
});
