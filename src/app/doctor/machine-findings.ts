import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { release } from "node:os";
import { dirname, isAbsolute } from "node:path";
import type { Config } from "../../config/config.ts";
import { shortenHome } from "../../core/home-path.ts";
import { type OwnLimits, readOwnLimits, scarcityOf } from "../../core/own-limits.ts";
import { shellPath } from "../../core/shell-word.ts";
import { COMMIT, VERSION } from "../../core/version.ts";
import type { Finding } from "./finding.ts";

const MIB = 1024 * 1024;
/** Less than this, and memories may soon not be kept; less than a page, and they are not. */
const LITTLE_BYTES = 100 * MIB;
const NOTHING_BYTES = MIB;

/** What runs here. */
export function describeVersions({ platform }: Pick<Config, "platform">): Finding {
  const facts = {
    sandpy: VERSION,
    commit: COMMIT,
    bun: Bun.version,
    os: platform,
    osRelease: release(),
    arch: process.arch,
  };
  return {
    check: "versions",
    status: "ok",
    found: `sandpy ${VERSION} (${COMMIT}), bun ${facts.bun}, ${platform} ${facts.osRelease} ${facts.arch}`,
    facts,
  };
}

/** What sandpy itself may have: each sandbox, server and client takes some of it. */
export function describeOwnLimits(): Finding {
  const limits = readOwnLimits();
  const scarcity = scarcityOf(limits);
  const shown = ({ openFiles, processes }: OwnLimits) => [
    openFiles === undefined ? [] : `${countOf(openFiles)} open files`,
    processes === undefined ? [] : `${countOf(processes)} processes`,
  ];
  const check = "own-limits";
  if (scarcity === undefined) {
    const found = shown(limits).flat().join(", ") || "not known on this system";
    return { check, status: "ok", found, facts: { ...limits } };
  }
  const { what, remedy, command } = scarcity;
  return { check, status: "warning", found: `sandpy ${what}`, remedy, command, facts: { ...limits } };
}

function countOf(limit: number): string {
  return limit === Number.MAX_SAFE_INTEGER ? "any number of" : String(limit);
}

/** The home directory: engines keep their images below it, and so do clients their settings. */
export async function examineHome({ homeDir, env }: Config): Promise<Finding> {
  const check = "home";
  const given = env["HOME"];
  const facts = { home: homeDir, given: given ?? null };
  const isGiven = given !== undefined && isAbsolute(given);
  if (!isGiven && process.platform !== "win32") {
    return {
      check,
      status: "warning",
      found: `HOME is ${given === undefined ? "not set" : `${JSON.stringify(given)}, which is no absolute path`}; taken is ${homeDir}, but an engine may look elsewhere for its images`,
      remedy: 'Set it where sandpy is started, such as in "env" of sandpy\'s entry in your MCP client.',
      command: `export HOME=${shellPath(homeDir)}`,
      facts,
    };
  }
  const refusal = await refusalOf(homeDir, constants.W_OK | constants.X_OK);
  if (refusal === undefined) return { check, status: "ok", found: homeDir, facts };
  return {
    check,
    status: "problem",
    found: `nothing can be written in the home directory ${homeDir} (${refusal})`,
    remedy: "Engines and sandpy keep their files there: name another one with HOME.",
    command: "export HOME=/path/to/a/folder",
    facts,
  };
}

/** The directory of memories, saved tools and server definitions. */
export async function examineStateDir({ stateDir, homeDir }: Config): Promise<Finding> {
  const check = "state-directory";
  const shown = shortenHome(stateDir, homeDir);
  const facts = await stat(stateDir).catch((error: NodeJS.ErrnoException) => error.code ?? "unknown");
  if (typeof facts === "string") return examineAbsence(stateDir, shown, facts);
  const word = shellPath(stateDir);
  const free = await freeBytes(stateDir);
  const mode = (facts.mode & 0o7777).toString(8).padStart(4, "0");
  const own = process.geteuid?.();
  const about = { path: stateDir, exists: true, owner: facts.uid, mode, freeBytes: free ?? null };
  const finding = (status: Finding["status"], found: string, remedy?: string, command?: string): Finding => ({
    check,
    status,
    found,
    remedy,
    command,
    facts: about,
  });
  if (!facts.isDirectory()) {
    return finding(
      "problem",
      `${shown} is not a folder`,
      "Move it away, or name another one with MCP_BRIDGE_STATE_DIR.",
      `mv ${word} ${word}.old`,
    );
  }
  const refusal = await refusalOf(stateDir, constants.R_OK | constants.W_OK | constants.X_OK);
  if (refusal !== undefined) {
    return finding(
      "problem",
      `${shown} cannot be written (${refusal}): owner ${facts.uid}, mode ${mode}`,
      "Make it yours, or name another one with MCP_BRIDGE_STATE_DIR.",
      own === undefined || own === facts.uid ? `chmod u+rwx ${word}` : `sudo chown -R "$USER" ${word}`,
    );
  }
  if (free !== undefined && free < LITTLE_BYTES) {
    const status = free < NOTHING_BYTES ? "problem" : "warning";
    return finding(
      status,
      `the disk of ${shown} has ${Math.floor(free / MIB)} MiB left`,
      "Make room there.",
      `df -h ${word}`,
    );
  }
  if ((facts.mode & 0o022) !== 0) {
    return finding(
      "warning",
      `others may write in ${shown} (mode ${mode}): server definitions in it start programs as you`,
      "Keep it to yourself.",
      `chmod go-w ${word}`,
    );
  }
  if (own !== undefined && own !== facts.uid) {
    return finding(
      "warning",
      `${shown} belongs to another user (${facts.uid}): server definitions in it start programs as you`,
      "Make it yours, or name another one with MCP_BRIDGE_STATE_DIR.",
      `sudo chown -R "$USER" ${word}`,
    );
  }
  const room = free === undefined ? "" : `, ${Math.floor(free / MIB)} MiB free`;
  return finding("ok", `${shown}, writable, mode ${mode}${room}`);
}

/** It is made when something is to be kept, if that is possible. */
async function examineAbsence(stateDir: string, shown: string, code: string): Promise<Finding> {
  const check = "state-directory";
  const facts = { path: stateDir, exists: false };
  const parent = await nearestFolder(dirname(stateDir));
  const refusal = code === "ENOENT" ? await refusalOf(parent, constants.W_OK | constants.X_OK) : code;
  if (refusal === undefined) {
    return {
      check,
      status: "ok",
      found: `${shown} is not there yet; it is made when something is kept`,
      facts,
    };
  }
  return {
    check,
    status: "problem",
    found: `${shown} is not there and cannot be made: ${parent} refuses (${refusal})`,
    remedy: "Name a folder that can be written with MCP_BRIDGE_STATE_DIR.",
    command: "export MCP_BRIDGE_STATE_DIR=/path/to/a/folder",
    facts,
  };
}

async function nearestFolder(path: string): Promise<string> {
  for (let folder = path; ; folder = dirname(folder)) {
    if (folder === dirname(folder) || (await refusalOf(folder, constants.F_OK)) !== "ENOENT") return folder;
  }
}

async function freeBytes(path: string): Promise<number | undefined> {
  return statfs(path).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => undefined, // a system that does not say
  );
}

/** The system's code for why not; `undefined` when it may be done. */
async function refusalOf(path: string, mode: number): Promise<string | undefined> {
  return access(path, mode).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code ?? "unknown",
  );
}
