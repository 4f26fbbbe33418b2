import type { BridgeError } from "../core/errors.ts";
import { matchesGlob } from "../core/glob.ts";
import type { Discovery, ServerDefinition } from "../discovery/server-definition.ts";
import { explainUnusable, notUsable } from "./availability.ts";

/** The servers that are switched off and that sessions may add to what they use, as the user permits it. */
export class AddableServers {
  readonly #addable: readonly string[];
  readonly #added = new Set<string>();

  /** `addable`: names or globs. */
  constructor(addable: readonly string[]) {
    this.#addable = addable;
  }

  mayAdd({ name, availability }: ServerDefinition): boolean {
    return (
      availability.kind === "disabled" &&
      availability.otherwise === undefined &&
      this.#addable.some((glob) => matchesGlob(glob, name))
    );
  }

  /** Notes that a session uses it. */
  note({ name }: ServerDefinition): void {
    this.#added.add(name);
  }

  /** Whether some session uses it and may. */
  isInUse(definition: ServerDefinition): boolean {
    return this.#added.has(definition.name) && this.mayAdd(definition);
  }
}

/** The servers that one session added to what it may use. */
export class AddedServers {
  readonly #addable: AddableServers;
  readonly #names = new Set<string>();

  constructor(addable: AddableServers) {
    this.#addable = addable;
  }

  /** The definition as this session sees it. What is permitted is looked at each time: files may change. */
  see(definition: ServerDefinition): ServerDefinition {
    return this.#names.has(definition.name) && this.#addable.mayAdd(definition)
      ? { ...definition, availability: { kind: "usable" } }
      : definition;
  }

  /** All definitions as this session sees them. */
  applyTo(discovery: Discovery): Discovery {
    if (this.#names.size === 0) return discovery;
    return { ...discovery, servers: discovery.servers.map((definition) => this.see(definition)) };
  }

  /** Adds a server; one that is usable needs nothing. Throws `UPSTREAM_NOT_USABLE` with what the user has to do. */
  add(definition: ServerDefinition, home: string | undefined): ServerDefinition {
    if (definition.availability.kind === "usable") return definition;
    if (!this.#addable.mayAdd(definition)) throw refusal(definition, home);
    this.#names.add(definition.name);
    this.#addable.note(definition);
    return this.see(definition);
  }
}

function refusal(definition: ServerDefinition, home: string | undefined): BridgeError {
  const { name, availability } = definition;
  const unusable = explainUnusable(definition, home) ?? { reason: "is not usable", remedy: "" };
  if (availability.kind !== "disabled") return notUsable(definition, unusable);
  if (availability.otherwise === undefined) {
    const setting = `MCP_BRIDGE_ADD_SERVERS=${name}`;
    const remedy = `${unusable.remedy} Or start Sandpy with ${setting}, which lets sessions add it.`;
    return notUsable(definition, { ...unusable, remedy });
  }
  const other = explainUnusable({ ...definition, availability: availability.otherwise }, home);
  const reason = `${unusable.reason}, and ${other?.reason}`;
  return notUsable(definition, { reason, remedy: `${unusable.remedy} ${other?.remedy}` });
}
