import type { Closable } from "../core/lifecycle.ts";
import type { HandedStart } from "./handing-down.ts";
import type { ImageStore } from "./image-store.ts";
import type { OciRuntimeFacts } from "./oci-runtime.ts";

/** What one sandbox may use. The isolation flags are not here: they are always on. */
export interface SandboxLimits {
  /** Bytes of memory, swap included. */
  readonly memoryBytes: number;
  /** Processes and threads. */
  readonly pids: number;
  /** CPU cores; `undefined` for no limit. */
  readonly cpus: number | undefined;
  /** Bytes of files in {@link PROJECTS}, which count as memory. */
  readonly projectsBytes: number;
}

/** A folder or file of the host that a sandbox sees; paths are absolute and without colons. */
export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
}

/** What to start: a program of an image that speaks on its stdin and stdout. */
export interface SandboxSpec {
  readonly image: string;
  /** `uid:gid`, numbers. */
  readonly user: string;
  readonly limits: SandboxLimits;
  /** Absent: nothing of the host. */
  readonly mounts?: readonly Mount[];
  /** The program and its arguments; the image's entry point is not used. */
  readonly command: readonly string[];
  /**
   * The same program where it takes descriptors 3 to 5 for its stdin, stdout and stderr. An engine that can hand them to the
   * container does: its client then ends once the container runs, and nobody stands between the container and us.
   */
  readonly heirCommand?: readonly string[];
}

/** A container that runs. Shaped like a process; closing it kills it by name and checks that it is gone. */
export interface Sandbox extends Closable {
  readonly name: string;
  /** Where it has our pipes, by `heirCommand`: to be told whether it began. */
  readonly handedDown: HandedStart | undefined;
  readonly stdout: AsyncIterable<Uint8Array>;
  /** Resolves when the pipe has taken the bytes; rejects when the container is gone. */
  write(bytes: Uint8Array | string): Promise<void>;
  /** Settles when the container has ended, for whatever reason; never rejects. */
  readonly ended: Promise<SandboxExit>;
}

export interface SandboxExit {
  /**
   * The engine client's exit code: the program's own, 137 after a kill, `null` when the client itself was killed, and for an
   * heir that had begun, whose end no client sees.
   * Before the first byte of stdout, 125 to 127 are the engine's: 125 its own failure (no such image, no daemon, a flag
   * that it refuses), 126 the OCI runtime's or a command that cannot be executed, 127 a command that is not in the
   * image. After it they are the program's like any other.
   */
  readonly code: number | null;
  /** What the engine's client and the program wrote to stderr, at most 8 KiB. */
  readonly stderr: string;
}

/** Facts about the engine in use, for messages and for `doctor`. */
export interface EngineInfo {
  readonly engine: "podman" | "docker";
  readonly version: string;
  readonly rootless: boolean;
  readonly cgroupVersion: 1 | 2 | undefined;
  /** The OCI runtime passed as `--runtime`; `undefined` for the engine's default. */
  readonly ociRuntime: string | undefined;
  /** Whether the engine enforces memory and process limits; where it does not, the supervisor sets rlimits. */
  readonly enforcesLimits: boolean;
  /** Whether podman's client talks to a podman elsewhere, such as in a virtual machine. */
  readonly remote: boolean;
}

/** A container engine that was found and answers. */
export interface ContainerEngine {
  readonly info: EngineInfo;
  /** Absolute path of the engine's client. */
  readonly executable: string;
  readonly images: ImageStore;
  /** The OCI runtime that starts containers, as the engine describes it; `undefined` where it does not. */
  describeRuntime(signal: AbortSignal): Promise<OciRuntimeFacts | undefined>;
  /**
   * Starts a container. Resolves when the engine's client runs; an engine that then fails shows in `ended`.
   * The signal stops the start, not the container.
   */
  start(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox>;
  /** Whether the image is there, without asking a registry. */
  hasImage(image: string, signal: AbortSignal): Promise<boolean>;
  /** Pulls the image; rejects with `IMAGE_MISSING` and the engine's words. `onProgress` gets its last line. */
  pull(image: string, onProgress: (line: string) => void, signal: AbortSignal): Promise<void>;
  /**
   * What to try, in order, when a sandbox ended with 125 to 127 before its first byte and `hasImage` says that the image
   * is there: the same engine with the other OCI runtimes of this machine, then the engine that was second choice.
   * Empty when `MCP_BRIDGE_OCI_RUNTIME` is set and there is no second engine. Forgets what was remembered.
   */
  alternatives(signal: AbortSignal): Promise<readonly ContainerEngine[]>;
  /** Removes the containers that killed bridges of this machine left behind; returns their names. */
  removeOrphans(signal: AbortSignal): Promise<readonly string[]>;
  /** Remembers, for later bridges, that this one works. To be called on an alternative that gave a first byte. */
  prefer(): Promise<void>;
}
