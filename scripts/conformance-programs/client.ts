/**
 * The client that the official conformance suite starts against its servers: our upstream, driven as a program in the
 * sandbox would, and a person who signs in where a server wants that. Last argument: the server's URL.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BridgeError, renderError } from "../../src/core/errors.ts";
import { createLog } from "../../src/core/log.ts";
import type { OAuthSettings, ServerDefinition } from "../../src/discovery/server-definition.ts";
import type { HostTools } from "../../src/kernel/host-tools.ts";
import type { ClientPeer } from "../../src/upstream/client-peer.ts";
import { createSignIns } from "../../src/upstream/oauth/sign-ins.ts";
import { createUpstream } from "../../src/upstream/upstream.ts";

const MAX_SIGN_INS = 3;
const DEADLINE_MS = 25_000;

interface Context {
  readonly client_id?: string;
  readonly client_secret?: string;
  /** Calls that the scenario wants, in order. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[];
}

const url = process.argv.at(-1) ?? "";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Context;
const dataDir = mkdtempSync(join(tmpdir(), "sandpy-conformance-"));
const signal = AbortSignal.timeout(DEADLINE_MS);
const say = (line: string) => process.stderr.write(`${line}\n`);

const oauth: OAuthSettings | undefined =
  context.client_id === undefined
    ? undefined
    : {
        clientId: context.client_id,
        ...(context.client_secret === undefined ? {} : { clientSecret: context.client_secret }),
      };
const server: ServerDefinition = {
  name: "conformance",
  alias: "conformance",
  description: "",
  transport: { kind: "remote", protocol: "http", url, headers: {}, oauth },
  availability: { kind: "usable" },
  tools: { allow: undefined, deny: [] },
  startMs: undefined,
  callMs: undefined,
  origins: [{ client: "conformance", scope: "explicit", file: "conformance.json", key: "conformance" }],
  fingerprint: url,
  sources: [],
  pin: "",
};

/** An MCP client at whose screen somebody agrees to everything and fills in nothing. */
const person: ClientPeer = {
  client: {},
  revision: () => "2025-11-25",
  capabilities: () => ({ elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} }),
  request: async ({ method }) => {
    if (method === "elicitation/create") return { action: "accept", content: {} };
    if (method === "roots/list") return { roots: [] };
    return { role: "assistant", model: "none", content: { type: "text", text: "yes" } };
  },
  notify: () => undefined,
  wantsProgress: () => true,
  progress: () => undefined,
  onRootsChanged: () => undefined,
  logSeverity: () => undefined,
};

await using upstream = createUpstream({
  discover: async () => ({ servers: [server], problems: [] }),
  env: { HOME: dataDir, PATH: process.env["PATH"] ?? "" },
  dataDir,
  log: createLog("DEBUG", (line) => process.stderr.write(line)),
});
upstream.welcome(person);
const session = upstream.openSession(() => person);

try {
  await signingIn(async () => {
    await session.connect("conformance", signal);
  });
  for (const call of await callsOf(session)) {
    await signingIn(async () => {
      const result = await session.callTool(
        { server: "conformance", tool: call.name, arguments: call.arguments },
        signal,
      );
      say(`${call.name}: ${JSON.stringify(result)}`);
    });
  }
} catch (error) {
  say(error instanceof BridgeError ? renderError(error) : String(error));
  process.exitCode = 1;
} finally {
  await upstream.close();
  rmSync(dataDir, { recursive: true, force: true });
}

/** Does something, and signs in as often as a server sensibly wants it. */
async function signingIn(work: () => Promise<void>): Promise<void> {
  for (let round = 0; ; round++) {
    try {
      await work();
      return;
    } catch (error) {
      const isRefused = error instanceof BridgeError && error.code === "UPSTREAM_UNAUTHORIZED";
      if (!isRefused || round === MAX_SIGN_INS) throw error;
      say(renderError(error));
      const present = async (address: string) => {
        const response = await fetch(address); // the pages of the suite agree by themselves
        await response.text();
      };
      await createSignIns({ dataDir }).signIn(server, { present, signal });
    }
  }
}

async function callsOf(tools: HostTools) {
  if (context.toolCalls !== undefined) return context.toolCalls;
  const listed: { name: string; inputSchema: Readonly<Record<string, unknown>> }[] = [];
  await signingIn(async () => {
    listed.push(...(await tools.tools("conformance", signal)));
  });
  return listed.map(({ name, inputSchema }) => {
    // The suite compares a schema that it listed with what comes back.
    const echoed = listed[0]?.inputSchema;
    return { name, arguments: name === "json_schema_echo" ? { schema: echoed } : exampleOf(inputSchema) };
  });
}

/** Arguments that a schema of an object accepts. */
function exampleOf(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const properties = (schema["properties"] ?? {}) as Record<string, { type?: string }>;
  const example = (type: string | undefined) =>
    type === "number" || type === "integer" ? 2 : type === "boolean" ? true : "text";
  return Object.fromEntries(Object.entries(properties).map(([name, { type }]) => [name, example(type)]));
}
