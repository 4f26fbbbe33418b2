import type { Stats } from "node:fs";
import { chmod, lstat, mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { giveTo, type Owner } from "../core/atomic-file.ts";
import { type Caller, LOCAL_CALLER } from "../core/caller.ts";
import { removeDeadLock } from "../core/file-lock.ts";
import { fromSystem, unavailable } from "./faults.ts";
import { hashedName } from "./file-names.ts";
import { makeFolder } from "./make-folder.ts";

const SEPARATE_FOLDER = "users";
const WORLD_WRITABLE = 0o002;
const STICKY = 0o1000;
/** What {@link CallerRoot.lockFile} gives. */
const LOCK = /^\.[a-z0-9_]+~[0-9a-f]{40}\.lock(?:\.left)?$/;

/**
 * The folders of one caller: `<stateDir>/user_tools` of the local one, `<stateDir>/users/<name>/user_tools` of others.
 * The state directory is the user's and may be a link of theirs; what lies in it is ours and is never followed.
 */
export class CallerRoot {
  /** `/projects` of the sandbox. */
  readonly projects: string;
  readonly memories: string;
  readonly toolsFile: string;
  readonly #stateDir: string;
  /** Below the state directory, from the outside in. */
  readonly #folders: readonly string[];

  constructor(stateDir: string, caller: Caller) {
    const isLocal = caller.id === LOCAL_CALLER.id;
    const users = join(stateDir, SEPARATE_FOLDER);
    const base = isLocal ? stateDir : join(users, hashedName(caller.id));
    this.#stateDir = stateDir;
    this.projects = join(base, "user_tools");
    this.memories = join(this.projects, "memory");
    this.toolsFile = join(this.projects, "user_tools.py");
    this.#folders = [...(isLocal ? [] : [users, base]), this.projects];
  }

  /** Where the lock of something named `name` lies: outside of what the sandbox sees. */
  lockFile(name: string): string {
    return join(dirname(this.projects), `.${hashedName(name)}.lock`);
  }

  /** Removes the locks of those that were killed. Never rejects. */
  async sweepLocks(): Promise<void> {
    const folder = dirname(this.projects);
    const names = await readdir(folder).catch(() => []);
    for (const name of names) if (LOCK.test(name)) await removeDeadLock(join(folder, name));
  }

  /** Whether there is anything to read. Rejects with `MEMORY_UNAVAILABLE` where it is not the user's own. */
  async check(): Promise<boolean> {
    const state = await look(this.#stateDir, stat);
    if (state === undefined) return false;
    await this.#checkState(state);
    for (const folder of [...this.#folders, this.memories]) {
      const facts = await look(folder, lstat);
      if (facts === undefined) return folder === this.memories;
      checkFolder(folder, facts, otherThanUs(state)?.uid ?? ownUid(facts));
    }
    return true;
  }

  /**
   * Makes the folders that are missing, for nobody else to enter, and says whom files are to be given to: where root
   * works in a folder of somebody else's, to them.
   */
  async prepare(): Promise<Owner | undefined> {
    try {
      const owner = await this.#makeState();
      for (const folder of [...this.#folders, this.memories]) {
        const isNew = await makeFolder(folder);
        if (isNew) await giveTo(folder, owner);
        const facts = await lstat(folder);
        checkFolder(folder, facts, owner?.uid ?? ownUid(facts));
        if ((facts.mode & 0o077) !== 0) await chmod(folder, 0o700);
      }
      return owner;
    } catch (error) {
      throw fromSystem(error, "making the folder for what is kept", this.projects);
    }
  }

  async #makeState(): Promise<Owner | undefined> {
    const before = await look(this.#stateDir, stat);
    if (before === undefined) {
      const parent = await nearestFolder(this.#stateDir);
      await mkdir(this.#stateDir, { recursive: true, mode: 0o700 });
      const owner = otherThanUs(parent);
      await giveTo(this.#stateDir, owner);
      return owner;
    }
    await this.#checkState(before);
    return otherThanUs(before);
  }

  async #checkState(facts: Stats): Promise<void> {
    const path = JSON.stringify(this.#stateDir);
    if (!facts.isDirectory()) {
      throw unavailable(
        `the state directory ${path} is not a folder`,
        "Move that file away, or set MCP_BRIDGE_STATE_DIR.",
      );
    }
    const link = await lstat(this.#stateDir);
    for (const owned of [link, facts]) {
      const uid = ownUid(owned);
      if (owned.uid !== uid && owned.uid !== 0 && uid !== 0) {
        throw unavailable(
          `the state directory ${path} belongs to another user (uid ${owned.uid}, expected ${uid})`,
          `Give it to you (chown), or set MCP_BRIDGE_STATE_DIR to a folder of yours.`,
        );
      }
    }
    if ((facts.mode & WORLD_WRITABLE) !== 0 && (facts.mode & STICKY) === 0) {
      throw unavailable(
        `every user of this machine can change the state directory ${path}`,
        `Run: chmod o-w ${path}`,
      );
    }
  }
}

function checkFolder(folder: string, facts: Stats, uid: number): void {
  const path = JSON.stringify(folder);
  if (!facts.isDirectory()) {
    const what = facts.isSymbolicLink() ? "is a symbolic link, which is not followed" : "is not a folder";
    throw unavailable(`${path} ${what}`, "Put a real folder in its place, or set MCP_BRIDGE_STATE_DIR.");
  }
  if (facts.uid !== uid && facts.uid !== ownUid(facts)) {
    throw unavailable(
      `${path} belongs to another user (uid ${facts.uid}, expected ${uid})`,
      "Give it to you (chown), or set MCP_BRIDGE_STATE_DIR to a folder of yours.",
    );
  }
}

async function nearestFolder(path: string): Promise<Stats> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const facts = await look(folder, stat);
    if (facts !== undefined) return facts;
  }
}

async function look(path: string, how: (path: string) => Promise<Stats>): Promise<Stats | undefined> {
  try {
    return await how(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw fromSystem(error, "looking at what is kept", path);
  }
}

/** Where systems know no users, everything is ours. */
function ownUid(facts: Stats): number {
  return process.getuid?.() ?? facts.uid;
}

function otherThanUs(facts: Stats): Owner | undefined {
  return ownUid(facts) === 0 && facts.uid !== 0 ? { uid: facts.uid, gid: facts.gid } : undefined;
}
