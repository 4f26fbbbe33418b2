import { open } from "node:fs/promises";
import type { Child } from "../../core/child.ts";
import { BridgeError } from "../../core/errors.ts";
import { lastLine } from "../engine-call.ts";
import { record } from "../facts.ts";
import { parseJson } from "../parse-json.ts";
import { sendWheels, type Wheel } from "./wheels.ts";

const MAX_HEADER_BYTES = 1 << 20;
/** More than the largest packages there are; a disk is not filled by what a container says without end. */
const MAX_TAR_BYTES = 16 * 1024 ** 3;
/** Of `install.py`. */
const EXIT_NO_PIP = 90;
const LOCKED_LINE = /^[A-Za-z0-9][\w.!+-]*==[\w.!+-]+ --hash=sha256:[0-9a-f]{64}$/;
const MAX_LOCKED = 2000;

/** What is to be installed; `install.py` reads it. */
export interface InstallOptions {
  readonly requirements: readonly string[];
  /** The folder in the image. */
  readonly target: string;
  /** A folder on the machine where the installer runs, `-` for wheels on its stdin, `null` for an index. */
  readonly wheels: string | null;
  /** The requirements have hashes. */
  readonly locked: boolean;
}

/**
 * Waits for an installer: feeds it wheels, and writes the tar of packages that it prints to `tarPath`. Returns the exact
 * versions with their hashes. Rejects with `IMAGE_BUILD_FAILED` and pip's own reason, or with `CANCELLED`; the process is
 * gone then.
 */
export async function finishInstaller(
  child: Child,
  wheels: readonly Wheel[],
  tarPath: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const stop = () => child.kill("SIGKILL");
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    // A process that ends early breaks the pipe: its exit says why.
    const sending = sendWheels(wheels, (bytes) => child.write(bytes)).catch((error: unknown) => error);
    const [header, sent] = await Promise.all([
      receive(child, tarPath),
      sending.finally(() => child.endInput()),
    ]);
    const { code } = await child.exited;
    if (signal.aborted) throw new BridgeError("CANCELLED", "building the image was cancelled");
    if (code !== 0) throw installFailed(code, child.stderrText());
    if (sent instanceof Error) throw sent;
    return parseHeader(header);
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

/** Splits the first line from the tar behind it, which goes to the file. */
async function receive(child: Child, tarPath: string): Promise<string> {
  await using file = await open(tarPath, "w", 0o600);
  let header: Buffer | undefined = Buffer.alloc(0);
  let line = "";
  let bytes = 0;
  for await (const chunk of child.stdout) {
    let body: Uint8Array = chunk;
    if (header !== undefined) {
      header = Buffer.concat([header, chunk]);
      const end = header.indexOf(0x0a);
      if (end === -1 && header.length <= MAX_HEADER_BYTES) continue;
      if (end === -1) throw tooMuch("a line that never ends");
      line = header.toString("utf8", 0, end);
      body = header.subarray(end + 1);
      header = undefined;
    }
    bytes += body.length;
    if (bytes > MAX_TAR_BYTES) throw tooMuch(`more than ${MAX_TAR_BYTES} bytes`);
    await file.writeFile(body);
  }
  return line;
}

function parseHeader(line: string): readonly string[] {
  const { lock } = record(parseJson(line));
  const isLock =
    Array.isArray(lock) &&
    lock.length <= MAX_LOCKED &&
    lock.every((each) => typeof each === "string" && LOCKED_LINE.test(each));
  if (isLock) return lock as string[];
  throw new BridgeError("IMAGE_BUILD_FAILED", "the installer did not say which packages it installed", {
    hint: "Try again; if it stays, report it with the packages that you named.",
  });
}

function installFailed(code: number | null, stderr: string): BridgeError {
  if (code === EXIT_NO_PIP) {
    return new BridgeError("IMAGE_BUILD_FAILED", "the Python that packages are for has no pip", {
      hint: "Install it (on Debian: apt-get install python3-pip), or name another Python with --python or --base.",
    });
  }
  const reasons = stderr.split("\n").filter((line) => line.startsWith("ERROR: "));
  // Pip says that it found nothing, also where it reached nothing: why is in a warning.
  const broken = stderr.split("\n").findLast((line) => line.includes("connection broken by"));
  const words = reasons.length > 0 ? reasons.map((line) => line.slice(7)) : [lastLine(stderr)];
  const reason = [...words, ...(broken === undefined ? [] : [broken.slice(0, 500)])].join("\n");
  return new BridgeError("IMAGE_BUILD_FAILED", `pip failed (${code ?? "killed"}): ${reason.slice(0, 4000)}`, {
    hint: "Correct the names and versions. Where no index can be reached, give the wheels: --wheels FOLDER.",
  });
}

function tooMuch(what: string): BridgeError {
  return new BridgeError("IMAGE_BUILD_FAILED", `the installer printed ${what}`);
}
