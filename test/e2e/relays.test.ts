import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { until } from "../helpers/until.ts";
import { livingWith, SERVERS } from "../upstream/harness.ts";
import { startBridge } from "./helpers/client.ts";
import { BINARY, bridgeEnv } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { npmServer } from "./helpers/npm-servers.ts";
import { CAPABILITIES, FORM, MESSAGE, ROOTS } from "./helpers/peer-answers.ts";

const IDENTITY = { name: "test", version: "1" };

let home: TestHome;
beforeAll(() => {
  home = createHome();
  home.defineServers({ everything: npmServer("everything") });
});
afterAll(() => home[Symbol.dispose]());

function parameters() {
  return { command: BINARY, env: bridgeEnv(home.path), cwd: home.path, stderr: "ignore" as const };
}

function run(code: string) {
  return { name: "run_python", arguments: { code, timeout: 30 } };
}

function textOf(result: object): string {
  return (result as { content: { text?: string }[] }).content.map(({ text = "" }) => text).join("");
}

const ASK = {
  elicitation: ["print((await mcp_everything.trigger_elicitation_request()).text)", "- Name: Ann"],
  sampling: ["print((await mcp_everything.trigger_sampling_request(prompt='?')).text)", "forty-two"],
  roots: ["print((await mcp_everything.get_roots_list()).text)", "the work"],
} as const;
const KINDS = Object.keys(ASK) as (keyof typeof ASK)[];

describe("a client of the revisions with initialize", () => {
  let client: Client;
  const asked: string[] = [];
  const logged: string[] = [];
  beforeAll(async () => {
    client = new Client(IDENTITY, { capabilities: CAPABILITIES });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return FORM;
    });
    client.setRequestHandler(CreateMessageRequestSchema, () => MESSAGE);
    client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      logged.push(`${params.level} ${params.logger}`);
    });
    await client.connect(new StdioClientTransport(parameters()));
  });
  afterAll(() => client.close());

  test.each(KINDS)("answers what a real server wants of it: %s", async (kind) => {
    const [code, expected] = ASK[kind];
    expect(textOf(await client.callTool(run(code)))).toContain(expected);
  });

  test("may take longer for a form than the code may run", async () => {
    const [code, expected] = ASK.elicitation;
    client.setRequestHandler(ElicitRequestSchema, async () => {
      await Bun.sleep(3000); // a person who fills it in
      return FORM;
    });
    const call = { name: "run_python", arguments: { code, timeout: 2 } };
    try {
      expect(textOf(await client.callTool(call))).toContain(expected);
    } finally {
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        asked.push(params.message);
        return FORM;
      });
    }
  });

  test("sees who asks", () => {
    expect(asked).toEqual(["[everything] Please provide inputs for the following fields:"]);
  });

  test("hears how far a call is", async () => {
    const heard: string[] = [];
    const code = "await mcp_everything.trigger_long_running_operation(duration=1, steps=4)";
    await client.callTool(run(code), undefined, {
      onprogress: ({ message = "" }) => void heard.push(message),
    });
    expect(heard.join("")).toContain("everything.trigger-long-running-operation: 2/4");
  });

  test("hears what a server logs, once it asked for it", async () => {
    await client.setLoggingLevel("debug");
    await client.callTool(run("await mcp_everything.toggle_simulated_logging()"));
    await until("a log message", () => logged.some((line) => / everything/.test(line)), 15_000);
  }, 30_000);
});

test.each(KINDS)("a client of the newest revision answers %s by calling again", async (kind) => {
  const client = new ModernClient(IDENTITY, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  });
  client.setRequestHandler("elicitation/create", () => FORM);
  client.setRequestHandler("sampling/createMessage", () => MESSAGE);
  client.setRequestHandler("roots/list", () => ROOTS);
  await client.connect(new ModernTransport(parameters()));
  const [code, expected] = ASK[kind];

  expect(textOf(await client.callTool(run(code)))).toContain(expected);
  await client.close();
});

test("LEFT-2: a bridge that is killed leaves no server behind, not even one that ignores everything", async () => {
  using own = createHome();
  const journal = join(own.path, "journal");
  const args = [
    process.execPath,
    join(SERVERS, "scripted-server.ts"),
    JSON.stringify({ stubborn: true, journal }),
  ];
  own.defineServers({ fx: { command: join(SERVERS, "wrapper.sh"), args } });
  const bridge = await startBridge({ home: own });
  await bridge.python("await runtime.list_tools('fx')");
  expect(livingWith(journal).length).toBeGreaterThan(0);

  process.kill(bridge.pid, "SIGKILL");

  await until("the server to end", () => livingWith(journal).length === 0, 5000);
  expect(readFileSync(journal, "utf8")).toContain("SIGTERM");
  await bridge[Symbol.asyncDispose]();
}, 30_000);
