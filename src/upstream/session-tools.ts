import type { Discovery, ServerDefinition } from "../discovery/server-definition.ts";
import type { HostTools, ServerDetails, ServerName, ToolQuery, ToolSummary } from "../kernel/host-tools.ts";
import { waitFor } from "./abort.ts";
import { type AddableServers, AddedServers } from "./added-servers.ts";
import type { Approvals } from "./approvals/approvals.ts";
import { type Attempt, callOnceApproved, requestFor } from "./approvals/approved-call.ts";
import { explainUnusable, notUsable } from "./availability.ts";
import { type CallFacts, type CallWatch, createFacts } from "./call-watch.ts";
import type { CatalogueReader } from "./catalogue/catalogue.ts";
import type { ClientPeer } from "./client-peer.ts";
import type { Learner } from "./learner.ts";
import type { LiveServer } from "./live-server.ts";
import { pausingPeer } from "./pausing-peer.ts";
import type { Pool } from "./pool.ts";
import type { Registry } from "./registry.ts";
import { describeKnown, findServers, nameServer, type ServerFacts, summarize } from "./server-finder.ts";
import type { ToolFinder } from "./tool-finder.ts";

const MAX_DESCRIPTION_CHARS = 4000;
/** A search waits this long for servers that nobody has ever asked for their tools. */
const LEARN_MS = 5000;
const READING_FILES = "reading the configuration of servers";
const READING_TOOLS = "reading what is known of servers";
const SEARCHING = "searching the tools of servers";

export interface SessionToolsOptions {
  readonly registry: Registry;
  readonly pool: Pool;
  readonly catalogue: CatalogueReader;
  readonly learner: Learner;
  readonly finder: ToolFinder;
  /** The client for whom the session runs now. */
  readonly peer: () => ClientPeer | undefined;
  /** Asks the user of the session. */
  readonly approvals: Approvals;
  readonly addable: AddableServers;
  readonly watch: CallWatch;
  /** What `~` stands for. */
  readonly home: string | undefined;
  /** Milliseconds for one page of a list. */
  readonly listMs: number;
}

/** A server that was looked up. */
interface Found {
  readonly name: string;
  readonly definition: ServerDefinition;
  /** See {@link Registry.readings}. */
  readonly readings: number;
}

/** How a server is used. */
interface UseOptions {
  readonly onFound?: (definition: ServerDefinition) => void;
  /** The client that is asked what the server wants of one; by default that of the session. */
  readonly asked?: ClientPeer | undefined;
}

let calls: Promise<typeof import("./call.ts")> | undefined;

/** It needs the SDK, which is loaded by now; to import it anew for each call would cost a tenth of what we compute for it. */
function loadCalls() {
  calls ??= import("./call.ts");
  return calls;
}

/** What one session may ask of the upstream servers. */
export function createSessionTools({
  registry,
  pool,
  catalogue,
  learner,
  finder,
  peer,
  approvals,
  addable,
  watch,
  home,
  listMs,
}: SessionToolsOptions): HostTools {
  const facts: ServerFacts = { status: (definition) => pool.status(definition), catalogue, home };
  const isUsable = ({ availability }: ServerDefinition) => availability.kind === "usable";

  const added = new AddedServers(addable);
  const readConfiguration = async (signal: AbortSignal) =>
    added.applyTo(await waitFor(registry.current(), signal, READING_FILES));
  const findOther = async (name: string, signal: AbortSignal) =>
    added.see(await waitFor(registry.findOther(name), signal, READING_FILES));
  const find = async (name: string, signal: AbortSignal): Promise<Found> => {
    const definition = registry.findUsable(name) ?? (await findOther(name, signal));
    return { name: definition.name, definition, readings: registry.readings };
  };
  /** What was found a moment ago; where the files were read since, it may have been taken away. */
  const seeAgain = ({ definition, readings }: Found) =>
    readings === registry.readings ? definition : undefined;

  /** Does `work` with a server, started if need be; a server that may not be used is refused. */
  const use = async <T>(
    server: string | Found,
    signal: AbortSignal,
    work: (live: LiveServer, definition: ServerDefinition) => Promise<T>,
    { onFound, asked = peer() }: UseOptions = {},
  ): Promise<T> => {
    const name = typeof server === "string" ? server : server.name;
    const found = typeof server === "string" ? undefined : seeAgain(server);
    // Nothing is waited for that is there: each wait costs the call as much as what it does between two.
    const definition = found ?? registry.findUsable(name) ?? (await findOther(name, signal));
    onFound?.(definition);
    const unusable = explainUnusable(definition, home);
    if (unusable !== undefined) throw notUsable(definition, unusable);
    return pool.use(definition, { signal, peer: asked }, (live) => work(live, definition));
  };

  /** The same, and what is found out goes to `facts`. */
  const useFor = <T>(
    facts: CallFacts,
    signal: AbortSignal,
    work: (live: LiveServer, definition: ServerDefinition) => Promise<T>,
    asked?: ClientPeer,
  ): Promise<T> =>
    use(
      facts.server,
      signal,
      (live, definition) => {
        facts.mask = live.connection.mask;
        return work(live, definition);
      },
      {
        onFound: ({ name }) => {
          facts.server = name;
        },
        asked,
      },
    );

  /** The same for what counts as a call of the server, and is written down. */
  const call = <T extends object>(
    facts: CallFacts,
    signal: AbortSignal,
    work: (live: LiveServer, definition: ServerDefinition) => Promise<T>,
  ): Promise<T> => watch.watch(facts, () => useFor(facts, signal, work));

  const listTools = (server: string | Found, signal: AbortSignal): Promise<readonly ToolSummary[]> =>
    use(server, signal, async (live, definition) => {
      const { listTools: list } = await loadCalls();
      return list(live, definition, signal);
    });

  const knownTools = async (definition: ServerDefinition) => {
    await catalogue.load([definition]);
    return catalogue.known(definition)?.tools;
  };

  const search = (servers: readonly ServerDefinition[], query: ToolQuery, signal: AbortSignal) =>
    waitFor(finder.find(servers, query), signal, SEARCHING);

  const describe = (
    definition: ServerDefinition,
    tools: readonly ToolSummary[] | undefined,
  ): ServerDetails => ({
    ...describeKnown(definition, facts),
    description: definition.description.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed(),
    instructions: catalogue.known(definition)?.info.instructions ?? null,
    tools: tools ?? null,
  });

  return {
    beginRun() {
      watch.beginRun();
      approvals.beginRun();
    },
    async servers() {
      return nameUsable(added.applyTo(await registry.current()));
    },
    async listServers(signal) {
      const { servers } = await readConfiguration(signal);
      await waitFor(catalogue.load(servers), signal, READING_TOOLS);
      return servers.filter(isUsable).map((definition) => summarize(definition, facts));
    },
    async connect(server, signal) {
      await use(server, signal, async () => undefined);
    },
    tools: listTools,
    async toolDocs(server, signal) {
      const found = await find(server, signal);
      return (await knownTools(found.definition)) ?? listTools(found, signal);
    },
    checkTool: (server, tool, signal) =>
      use(server, signal, async (live, definition) => {
        const { resolveTool } = await loadCalls();
        await resolveTool(live, definition, tool, signal);
      }),
    callTool(wanted, signal, whileAsking = (work) => work()) {
      const facts = createFacts("tools/call", wanted.server, wanted.arguments, wanted.tool);
      const asked = pausingPeer(peer(), whileAsking);
      const attempt: Attempt = (mayCall) =>
        useFor(
          facts,
          signal,
          async (live, definition) => {
            const { callTool, resolveTool } = await loadCalls();
            const tool = await resolveTool(live, definition, wanted.tool, signal, (name) => {
              facts.tool = name;
            });
            const needs = requestFor(definition, tool, facts);
            if (needs !== undefined && !mayCall(needs)) return { needs };
            const named = { tool: tool.name, arguments: wanted.arguments };
            return { result: await callTool(live, definition, named, { signal, peer: asked }) };
          },
          asked,
        );
      return watch.watch(facts, () => callOnceApproved({ attempt, approvals, facts, whileAsking, signal }));
    },
    async describeServer(server, signal) {
      const found = await find(server, signal);
      const { definition } = found;
      const tools = await knownTools(definition);
      if (tools !== undefined || !isUsable(definition)) return describe(definition, tools);
      return describe(definition, await listTools(found, signal));
    },
    async findServers(query, signal) {
      const discovery = await readConfiguration(signal);
      await waitFor(catalogue.load(discovery.servers), signal, READING_TOOLS);
      learner.learn(discovery.servers, query.query); // the next search finds more
      return findServers(discovery, query, facts);
    },
    async searchTools(query, signal) {
      const { servers } = await readConfiguration(signal);
      await waitFor(catalogue.load(servers), signal, READING_TOOLS);
      const usable = servers.filter(isUsable);
      if (query.server !== null) {
        const found = await find(query.server, signal);
        const { name, definition } = found;
        // Refuses a server that is not usable, too.
        if (!isUsable(definition) || catalogue.known(definition) === undefined)
          await listTools(found, signal);
        return { ...(await search(usable, { ...query, server: name }, signal)), learning: 0 };
      }
      if (learner.learn(usable, query.query) > 0) await learner.wait(LEARN_MS, signal);
      return { ...(await search(usable, query, signal)), learning: learner.learn(usable) };
    },
    async addServer(server, signal) {
      const found = await find(server, signal);
      const definition = added.add(found.definition, home);
      return describe(definition, await listTools({ ...found, definition }, signal));
    },
    listResources: (server, signal) =>
      call(createFacts("resources/list", server, {}), signal, async (live) => {
        const { listResources } = await import("./resources.ts");
        return listResources(live, { pageMs: listMs, signal });
      }),
    readResource: (server, uri, signal) =>
      call(createFacts("resources/read", server, { uri }), signal, async (live) => {
        const { readResource } = await import("./resources.ts");
        return readResource(live, uri, signal);
      }),
    listPrompts: (server, signal) =>
      call(createFacts("prompts/list", server, {}), signal, async (live) => {
        const { listPrompts } = await import("./resources.ts");
        return listPrompts(live, { pageMs: listMs, signal });
      }),
    getPrompt(request, signal) {
      const { server, prompt, arguments: args } = request;
      const facts = createFacts("prompts/get", server, { name: prompt, arguments: args });
      return call(facts, signal, async (live) => {
        const { getPrompt } = await import("./resources.ts");
        return getPrompt(live, request, signal);
      });
    },
  };
}

const named = new WeakMap<Discovery, readonly ServerName[]>();

/** The usable servers by name: asked for with every cell, and there may be a thousand. */
function nameUsable(discovery: Discovery): readonly ServerName[] {
  let names = named.get(discovery);
  if (names === undefined) {
    names = discovery.servers.filter(({ availability }) => availability.kind === "usable").map(nameServer);
    named.set(discovery, names);
  }
  return names;
}
