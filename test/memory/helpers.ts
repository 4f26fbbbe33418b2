import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Caller } from "../../src/core/caller.ts";
import type { HostMemory } from "../../src/kernel/host-memory.ts";
import { createMemory, type MemoryOptions } from "../../src/memory/memory.ts";

export const { signal } = new AbortController();

/** A state directory of one test. */
export interface StateDir extends Disposable {
  readonly path: string;
  /** The folder of memories. */
  readonly memories: string;
}

export function createStateDir(): StateDir {
  const path = mkdtempSync(join(tmpdir(), "sandpy-memory-"));
  return {
    path,
    memories: join(path, "user_tools/memory"),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** A session of a bridge of its own. */
export function openSession(
  stateDir: string,
  options: Partial<MemoryOptions> = {},
  caller?: Caller,
): HostMemory {
  return createMemory({ stateDir, quotaBytes: 64 * 1024 ** 2, ...options }).openSession(caller);
}

/** Code and message of what a promise rejects with. */
export function failureOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "no failure",
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  );
}

export function save(session: HostMemory, key: string, value: unknown): Promise<unknown> {
  return session.saveMemory({ key, value: JSON.stringify(value), metadata: null }, signal);
}
