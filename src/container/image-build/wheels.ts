import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { BridgeError } from "../../core/errors.ts";

const MAX_WHEELS = 2000;

/** A wheel in a folder, ready to be sent. */
export interface Wheel {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

/** The wheels of a folder, by name. Throws `USAGE` where there are none. */
export async function listWheels(folder: string): Promise<readonly Wheel[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw new BridgeError("USAGE", `the folder ${JSON.stringify(folder)} cannot be read (${error.code})`, {
      hint: "Give --wheels a folder of .whl files, such as pip download makes.",
    });
  });
  const wheels: Wheel[] = [];
  for (const name of names
    .filter((each) => each.endsWith(".whl"))
    .sort()
    .slice(0, MAX_WHEELS)) {
    const path = join(folder, name);
    const facts = await stat(path).catch(() => undefined); // a link to nothing
    if (facts?.isFile()) wheels.push({ name, path, bytes: facts.size });
  }
  if (wheels.length > 0) return wheels;
  throw new BridgeError("USAGE", `there is no wheel (.whl) in ${JSON.stringify(folder)}`, {
    hint: 'Fill it with "pip download --only-binary :all: --dest FOLDER PACKAGE".',
  });
}

/** Sends wheels as `install.py` takes them on stdin. A file that grows meanwhile is cut, one that shrinks is an error. */
export async function sendWheels(
  wheels: readonly Wheel[],
  write: (bytes: Uint8Array | string) => Promise<void>,
): Promise<void> {
  for (const { name, path, bytes } of wheels) {
    await write(`${JSON.stringify({ name, size: bytes })}\n`);
    if (bytes === 0) continue;
    let sent = 0;
    for await (const block of createReadStream(path, { end: bytes - 1 })) {
      sent += (block as Buffer).length;
      await write(block as Buffer);
    }
    if (sent !== bytes)
      throw new BridgeError("USAGE", `${JSON.stringify(path)} became shorter while it was read`);
  }
}
