import type { HostMemory } from "../kernel/host-memory.ts";
import type { RpcRequest } from "../kernel/rpc.ts";
import type { RpcMethod } from "./rpc-methods.ts";

type MemoryMethod = Extract<
  RpcRequest["method"],
  `memory_${string}` | `tools_${string}` | `project_${string}` | "release"
>;

const MAX_SHOWN_CHARS = 60;

/** A key is the sandbox's word, and may be long. */
function quote(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text);
}

/** The requests of what is kept. */
export const MEMORY_METHODS: { readonly [M in MemoryMethod]: RpcMethod<M, HostMemory> } = {
  memory_list: {
    label: () => "the list of memories",
    serve: (memory, _, signal) => memory.listMemories(signal),
  },
  memory_load: {
    label: ({ key }) => `the memory ${quote(key)}`,
    serve: async (memory, { key }, signal) => ({ memory: await memory.loadMemory(key, signal) }),
  },
  memory_save: {
    label: ({ key }) => `saving the memory ${quote(key)}`,
    serve: (memory, entry, signal) => memory.saveMemory(entry, signal),
  },
  memory_delete: {
    label: ({ key }) => `deleting the memory ${quote(key)}`,
    serve: async (memory, { key }, signal) => ({ deleted: await memory.deleteMemory(key, signal) }),
  },
  memory_hold: {
    label: ({ key }) => `its turn to update the memory ${quote(key)}`,
    serve: (memory, { key }, signal) => memory.holdMemory(key, signal),
  },
  memory_commit: {
    label: () => "saving an updated memory",
    serve: (memory, change, signal) => memory.commitMemory(change, signal),
  },
  tools_hold: {
    label: () => "its turn to change the saved tools",
    serve: (memory, _, signal) => memory.holdTools(signal),
  },
  tools_commit: {
    label: () => "saving the tools",
    serve: async (memory, change, signal) => {
      await memory.commitTools(change, signal);
      return {};
    },
  },
  release: {
    label: () => "giving back what was held",
    serve: async (memory, lease) => {
      await memory.release(lease);
      return {};
    },
  },
  project_list: {
    label: () => "the list of the files of /projects",
    serve: (memory, _, signal) => memory.listProjectFiles(signal),
  },
  project_read: {
    label: ({ path }) => `the file ${quote(path)}`,
    serve: (memory, file, signal) => memory.readProjectFile(file, signal),
  },
  project_write: {
    label: ({ path }) => `saving the file ${quote(path)}`,
    serve: async (memory, piece, signal) => {
      const file = await memory.writeProjectFile(piece, signal);
      return file === "changed" ? { file: null, changed: true } : { file, changed: false };
    },
  },
  project_remove: {
    label: ({ path }) => `removing the file ${quote(path)}`,
    serve: async (memory, file, signal) => ({ changed: !(await memory.removeProjectFile(file, signal)) }),
  },
};
