import { isAbsolute } from "node:path";
import { type Child, runChild, startChild } from "../../core/child.ts";
import { BridgeError } from "../../core/errors.ts";
import { lastLine } from "../engine-call.ts";
import { record } from "../facts.ts";
import { findProgram } from "../machine.ts";
import { parseJson } from "../parse-json.ts";
import type { InstallOptions } from "./installer.ts";
import { writeProgram } from "./programs.ts";

const DESCRIBE_TIMEOUT_MS = 60_000;
const PACK_TIMEOUT_MS = 10 * 60_000;
/** The packer runs on any Python 3.9 or newer, and finds the best one itself. */
const PACKERS = ["python3", ...[14, 13, 12, 11, 10, 9].map((minor) => `python3.${minor}`)];

/** The interpreter of this machine that an image is made of. */
export interface HostPython {
  readonly executable: string;
  readonly version: string;
  /** Where packages go. */
  readonly packages: string;
  /** Changes when the image would. */
  readonly fingerprint: string;
}

/** What a {@link HostPacker} needs. */
export interface HostPackerOptions {
  /** For programs and what they make; the caller removes it. */
  readonly folder: string;
  /** The interpreter to pack; `undefined` for the best one. */
  readonly wanted: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Packs this machine's own Python. */
export class HostPacker {
  readonly #program: string;
  readonly #python: string;
  readonly #wanted: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #signal: AbortSignal;

  private constructor(program: string, python: string, { wanted, env, signal }: HostPackerOptions) {
    this.#program = program;
    this.#python = python;
    this.#wanted = wanted === undefined ? [] : ["--python", wanted];
    // Older Pythons would write the same code in different bytes.
    this.#env = { ...env, PYTHONHASHSEED: "0" };
    this.#signal = signal;
  }

  /** Throws `IMAGE_BUILD_FAILED` without any Python. */
  static async create(options: HostPackerOptions): Promise<HostPacker> {
    const { folder, wanted, env } = options;
    if (process.platform !== "linux") {
      throw new BridgeError(
        "IMAGE_BUILD_FAILED",
        `--from-host needs Linux binaries, and this is ${process.platform}`,
        {
          hint: "Pull an image instead: sandpy image pull",
        },
      );
    }
    // The packer itself may run on another interpreter than the one that is packed.
    for (const name of wanted === undefined ? PACKERS : [...PACKERS, wanted]) {
      const path = isAbsolute(name) ? name : await findProgram(name, env);
      if (path !== undefined) return new HostPacker(await writeProgram("packHost", folder), path, options);
    }
    throw new BridgeError(
      "IMAGE_BUILD_FAILED",
      "no python3 is on the PATH, and --from-host packs this machine's own",
      {
        hint: "Install Python 3.9 or newer, or name one with --python.",
      },
    );
  }

  async describe(): Promise<HostPython> {
    const { executable, version, packages, fingerprint } = record(
      parseJson(await this.#run(["--describe"], DESCRIBE_TIMEOUT_MS)),
    );
    const texts = [executable, version, packages, fingerprint];
    if (!texts.every((text) => typeof text === "string")) {
      throw new BridgeError("IMAGE_BUILD_FAILED", `${JSON.stringify(this.#python)} did not describe itself`);
    }
    return { executable, version, packages, fingerprint } as HostPython;
  }

  /** Writes the root file system as a tar. */
  async pack(tarPath: string): Promise<void> {
    await this.#run(["--output", tarPath], PACK_TIMEOUT_MS);
  }

  /** Starts the installer with the interpreter that is packed. */
  async startInstaller(
    python: HostPython,
    folder: string,
    options: InstallOptions,
    onLine: (line: string) => void,
  ): Promise<Child> {
    const program = await writeProgram("install", folder);
    return startChild({
      command: python.executable,
      args: ["-B", program, JSON.stringify(options)],
      env: { ...this.#env, TMPDIR: folder },
      ownGroup: true,
      onStderr: (text) => onLine(lastLine(text)),
    });
  }

  async #run(args: readonly string[], timeoutMs: number): Promise<string> {
    const { code, stdout, stderr } = await runChild({
      command: this.#python,
      args: ["-B", this.#program, ...args, ...this.#wanted],
      env: this.#env,
      timeoutMs,
      signal: this.#signal,
    });
    if (code === 0) return stdout;
    if (this.#signal.aborted) throw new BridgeError("CANCELLED", "building the image was cancelled");
    throw new BridgeError(
      "IMAGE_BUILD_FAILED",
      `packing this machine's Python failed (${code}): ${lastLine(stderr)}`,
      {
        hint: "Name another interpreter with --python.",
      },
    );
  }
}
