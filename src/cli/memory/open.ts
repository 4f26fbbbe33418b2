import type { KeptMemory } from "../../app/open-memory.ts";
import type { Config } from "../../config/config.ts";
import { loadSettings } from "../../config/load-file.ts";
import { BridgeError } from "../../core/errors.ts";
import { findNearest } from "../../core/nearest.ts";
import type { UnreadableMemory } from "../../kernel/host-memory.ts";
import type { CliContext, CliIo } from "../context.ts";
import { printable } from "../printable.ts";

/** What a command on memories works with. */
export interface Desk extends KeptMemory {
  readonly config: Config;
  /** Never aborts: files of this machine do not keep anybody waiting. */
  readonly signal: AbortSignal;
}

/** Opens what the user who types keeps. */
export async function openDesk({ io }: CliContext): Promise<Desk> {
  const config = await loadSettings(io.env);
  const { openMemory } = await import("../../app/open-memory.ts");
  return { ...openMemory(config), config, signal: new AbortController().signal };
}

/** Says on stderr what lies among the memories and is none. */
export function reportUnreadable(
  io: CliIo,
  unreadable: readonly UnreadableMemory[],
  { archive }: Desk,
): void {
  for (const { file, reason } of unreadable) {
    io.stderr.write(`sandpy: ${printable(`${archive.memoriesFolder}/${file} ${reason}`)}\n`);
  }
}

/** The failure for a key that there is no memory of. */
export async function unknownKey(key: string, { memory, signal }: Desk): Promise<BridgeError> {
  const { memories } = await memory.listMemories(signal);
  const nearest = findNearest(
    key,
    memories.map((info) => info.key),
  );
  return new BridgeError("MEMORY_REFUSED", `there is no memory ${JSON.stringify(key)}`, {
    hint:
      nearest === undefined
        ? 'Type "sandpy memory list" to see all.'
        : `Did you mean ${JSON.stringify(nearest)}?`,
  });
}
