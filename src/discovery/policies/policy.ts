import type { Config } from "../../config/config.ts";
import type { ReadOutcome } from "../read.ts";
import type { DiscoveryProblem, Origin, ServerDefinition } from "../server-definition.ts";

/** What an organisation's files say about the servers that some clients define. */
export interface Policy {
  /** The clients, as their origins name them, to whose servers it applies. */
  readonly clients: readonly string[];
  /** Completes "is forbidden by …" with file and key; `undefined`: it has nothing against the server. */
  forbids(server: PolicySubject): string | undefined;
}

/** A server as one of its files defines it. */
export interface PolicySubject {
  readonly origin: Origin;
  readonly transport: ServerDefinition["transport"];
}

/** Reads one client's policy; `undefined` where its files say nothing about servers. */
export type LoadPolicy = (context: PolicyContext) => Promise<Policy | undefined>;

/** What policies are read with. */
export interface PolicyContext {
  readonly config: Config;
  readonly files: PolicyFiles;
}

/** Paths of one administrator's file, or folder, for each platform. */
export type SystemPath = Readonly<Record<"linux" | "darwin" | "win32", string>>;

/** Where an administrator's file is. Every system that is neither macOS nor Windows keeps it as Linux does. */
export function systemPath({ platform, systemRoot }: Config, path: SystemPath): string {
  const own = path[platform === "darwin" || platform === "win32" ? platform : "linux"];
  return systemRoot === "/" ? own : `${systemRoot}${own}`;
}

/** A file that was read: what it holds, or why that is not known. */
export type PolicyFile =
  | { readonly kind: "absent"; readonly file: string }
  | { readonly kind: "read"; readonly file: string; readonly value: unknown }
  | { readonly kind: "unreadable"; readonly file: string; readonly reason: string };

/** Reads files for policies and remembers which. */
export class PolicyFiles {
  readonly #read: (file: string) => Promise<ReadOutcome>;
  readonly #problems: DiscoveryProblem[] = [];
  readonly #paths = new Set<string>();

  constructor(read: (file: string) => Promise<ReadOutcome>) {
    this.#read = read;
  }

  async read(file: string): Promise<PolicyFile> {
    this.#paths.add(file);
    const outcome = await this.#read(file);
    switch (outcome.kind) {
      case "document":
        return { kind: "read", file, value: outcome.document.value };
      case "missing":
        return { kind: "absent", file };
      case "empty":
        return { kind: "read", file, value: {} };
      case "problem":
        this.#problems.push(outcome.problem);
        return { kind: "unreadable", file, reason: outcome.problem.message };
    }
  }

  report(where: string, message: string): void {
    this.#problems.push({ where, message });
  }

  /** Everything that was read, and what would have been. */
  get paths(): readonly string[] {
    return [...this.#paths];
  }

  get problems(): readonly DiscoveryProblem[] {
    return this.#problems;
  }
}

/** A policy for a file that is there and cannot be read: nobody can tell what it forbids, so it forbids all. */
export function forbidAll(
  clients: readonly string[],
  { file, reason }: { file: string; reason: string },
): Policy {
  return { clients, forbids: () => `${file}, which ${reason}` };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
