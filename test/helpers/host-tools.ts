import type { HostTools } from "../../src/kernel/host-tools.ts";

/** The host's side for a test of what asks it: what the test does not say has no servers. */
export function createHostTools(says: Partial<HostTools> = {}): HostTools {
  const refuse = async () => {
    throw new Error("the test did not expect this request");
  };
  return {
    beginRun: () => undefined,
    servers: async () => [],
    listServers: async () => [],
    connect: async () => undefined,
    tools: async () => [],
    checkTool: async () => undefined,
    toolDocs: async () => [],
    callTool: refuse,
    describeServer: refuse,
    findServers: async () => ({ servers: [], total: 0, searched: 0 }),
    searchTools: refuse,
    addServer: refuse,
    listResources: async () => ({ resources: [], templates: [], complete: true }),
    readResource: refuse,
    listPrompts: async () => ({ prompts: [], complete: true }),
    getPrompt: refuse,
    ...says,
  };
}
