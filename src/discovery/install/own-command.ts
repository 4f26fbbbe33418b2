import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { BridgeError } from "../../core/errors.ts";
import { findOnPath } from "./find-targets.ts";

/** Which program clients are to start. */
export interface OwnCommand {
  /** For clients that a shell starts: a name on the PATH, or a path. */
  readonly forTerminals: string;
  /** For clients that a desktop starts, which have a PATH of their own: a path. */
  readonly forDesktops: string;
}

const NAME = "sandpy";

/**
 * How a client is to start this program. Where the PATH leads to it, that path is taken and not what it links to: package
 * managers replace the link, and the file behind it goes with the version. `wanted` is a program of the user's choice.
 */
export async function findOwnCommand(
  selfPath: string | undefined,
  searchPath: string | undefined,
  wanted: string | undefined,
): Promise<OwnCommand> {
  if (wanted !== undefined) {
    if (/^[\w.-]+$/.test(wanted)) return { forTerminals: wanted, forDesktops: wanted };
    const path = resolve(wanted);
    if ((await identify(path)) !== undefined) return { forTerminals: path, forDesktops: path };
    throw new BridgeError("USAGE", `${JSON.stringify(path)} does not exist`, {
      hint: "Give --command the path of a sandpy, or its name on the PATH.",
    });
  }
  if (selfPath === undefined) {
    throw new BridgeError("USAGE", "this sandpy runs from its source, which no client can start", {
      hint: "Build it by ./scripts/build and type dist/sandpy install, or name a program with --command PATH.",
    });
  }
  const onPath = await findOnPath(NAME, searchPath);
  const own = await identify(selfPath);
  return onPath !== undefined && own !== undefined && (await identify(onPath)) === own
    ? { forTerminals: NAME, forDesktops: onPath }
    : { forTerminals: selfPath, forDesktops: selfPath };
}

/** The same text for every path and link that leads to a file; `undefined` where there is none. */
export function identify(path: string): Promise<string | undefined> {
  return stat(path).then(
    ({ dev, ino }) => `${dev} ${ino}`,
    () => undefined,
  );
}
