import type { HostMemory } from "../../src/kernel/host-memory.ts";

/** What is kept, for a test of what asks for it: nothing is, but for what the test says. */
export function createHostMemory(says: Partial<HostMemory> = {}): HostMemory {
  const refuse = async () => {
    throw new Error("the test did not expect this request");
  };
  return {
    listMemories: async () => ({ memories: [], unreadable: [] }),
    loadMemory: async () => null,
    saveMemory: refuse,
    deleteMemory: async () => false,
    holdMemory: refuse,
    commitMemory: refuse,
    holdTools: refuse,
    commitTools: refuse,
    release: async () => undefined,
    projectState: async () => "",
    listProjectFiles: async () => ({ state: "", files: [] }),
    readProjectFile: refuse,
    writeProjectFile: refuse,
    removeProjectFile: refuse,
    releaseAll: async () => undefined,
    ...says,
  };
}
