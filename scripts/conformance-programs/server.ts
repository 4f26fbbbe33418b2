import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { isolatedEnvironment } from "../isolated-environment.ts";

const NEEDS_ITS_TOOLS = "calls tools that a server is to have for the suite; ours has run_python alone";

/** Scenarios for servers that are not for ours, by the beginning of their names, and why. */
export const NOT_OUR_SERVER: Readonly<Record<string, string>> = {
  "completion-complete": "nothing has arguments to complete",
  "tools-call-": NEEDS_ITS_TOOLS,
  "json-schema-2020-12": NEEDS_ITS_TOOLS,
  "elicitation-sep": NEEDS_ITS_TOOLS,
  "http-custom-header-server-validation": "no argument of run_python goes into a header",
  "resources-read-": "reads resources that a server is to have for the suite; ours has its manual",
  "resources-templates-read": "there are no templates of resources",
  "resources-subscribe": "the manual never changes: subscriptions are not offered",
  "resources-unsubscribe": "the manual never changes: subscriptions are not offered",
  "prompts-": "there are no prompts",
  "tasks-": "an extension; a call is answered when it is done",
  "sep-2640-skills": "an extension for skills, which are not served",
  "input-required-result-basic-": NEEDS_ITS_TOOLS,
  "input-required-result-request-state": NEEDS_ITS_TOOLS,
  "input-required-result-multi": NEEDS_ITS_TOOLS,
  "input-required-result-non-tool-request": "there are no prompts",
  "input-required-result-result-type": NEEDS_ITS_TOOLS,
  "input-required-result-tampered-state": NEEDS_ITS_TOOLS,
  "input-required-result-capability-check": NEEDS_ITS_TOOLS,
};
/** Single checks of the other scenarios that cannot be made, and why. */
export const NOT_OUR_CHECKS: Readonly<Record<string, string>> = {
  "sep-2549-prompts-list-caching-hints": "there are no prompts",
  "sep-2575-server-rejects-undeclared-capability": NEEDS_ITS_TOOLS,
  "sep-2575-missing-capability-http-400": NEEDS_ITS_TOOLS,
  "sep-2575-http-server-no-independent-requests-on-stream": NEEDS_ITS_TOOLS,
  "sep-2575-server-no-log-without-loglevel": NEEDS_ITS_TOOLS,
  "sep-2575-server-sends-tools-list-changed-on-subscription": "no tool of ours changes the list of tools",
};

/** The suite's clients are one process, and leave their sessions and streams open until it ends. */
const ROOM = { MCP_BRIDGE_MAX_SESSIONS: "256", MCP_BRIDGE_MAX_SESSIONS_PER_CALLER: "256" };

/** Our server on a port that was free, with a home of its own below `folder`. */
export interface ServerUnderTest extends AsyncDisposable {
  readonly url: string;
}

export async function startServer(root: string, folder: string): Promise<ServerUnderTest> {
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  const child = Bun.spawn([process.execPath, join(root, "src/main.ts"), "serve", "--http", "--port", "0"], {
    cwd: home,
    env: { ...isolatedEnvironment(home), ...ROOM },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const stop = async () => {
    child.kill();
    await child.exited;
  };
  let said = "";
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    said += text;
    const url = / at (http:\S+)\n/.exec(said)?.[1];
    if (url !== undefined) return { url, [Symbol.asyncDispose]: stop };
  }
  await stop();
  throw new Error(`the server does not listen: ${said}`);
}
