import { createHash } from "node:crypto";
import { join } from "node:path";
import type { PrivateFolder } from "../core/private-folder.ts";
import { buildSeccompProfile, type Interpreter } from "./seccomp-profile.ts";

/**
 * Puts the profile where the engine can read it, and returns the path: podman wants a file, and docker's client reads
 * one and sends it on. The name carries the content's hash, so bridges of different versions do not disturb each other.
 */
export async function installSeccompProfile(
  cache: PrivateFolder,
  interpreter: Interpreter = "kernel",
): Promise<string> {
  const text = JSON.stringify(buildSeccompProfile(interpreter));
  const name = `seccomp-${createHash("sha256").update(text).digest("hex").slice(0, 16)}.json`;
  if ((await cache.read(name)) === text) return join(cache.folder, name);
  return cache.write(name, text);
}
