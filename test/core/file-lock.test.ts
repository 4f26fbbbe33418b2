import { expect, test } from "bun:test";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir, uptime } from "node:os";
import { dirname, join } from "node:path";
import { removeDeadLock, withFileLock } from "../../src/core/file-lock.ts";
import { digestPlace, ownIdentity, type ProcessIdentity } from "../../src/core/process-identity.ts";

function createPath(): Disposable & { readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), "sandpy-lock-"));
  return { path: join(folder, "x.lock"), [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

/** What a lock says that another process has held for so long. */
function holder({ heldS = 0, ...who }: Partial<ProcessIdentity> & { readonly heldS?: number }): string {
  const { pid, started, where, boot } = { ...ownIdentity(), ...who };
  return [pid, started, Math.floor(uptime() - heldS), where, boot, "0123456789ab"].join(":");
}

/** A process id that nobody has. */
function deadPid(): number {
  return Bun.spawnSync(["true"]).pid;
}

/** The same as an earlier version says it. */
function byName(who: Partial<ProcessIdentity>): string {
  return holder({ where: ownIdentity().whereByName, ...who });
}

/** Whether the system has an id of this machine; without one, its name is all there is. */
const isMachineKnown =
  existsSync("/etc/machine-id") && readFileSync("/etc/machine-id", "utf8").trim().length === 32;

/** Of a machine that has our name and another id. */
const OTHER_PLACE = digestPlace(hostname(), ownIdentity().namespace, "0123456789abcdef0123456789abcdef");

function setAge(path: string, seconds: number): void {
  const then = Date.now() / 1000 - seconds;
  utimesSync(path, then, then);
}

test("lets one in at a time, across processes", async () => {
  using place = createPath();
  const counter = join(dirname(place.path), "counter");
  writeFileSync(counter, "0");
  const program = `
    import { readFileSync, writeFileSync } from "node:fs";
    import { withFileLock } from ${JSON.stringify(join(import.meta.dir, "../../src/core/file-lock.ts"))};
    for (let round = 0; round < 20; round++) {
      await withFileLock(${JSON.stringify(place.path)}, { waitMs: 20000 }, async () => {
        const value = Number(readFileSync(${JSON.stringify(counter)}, "utf8"));
        await Bun.sleep(1);
        writeFileSync(${JSON.stringify(counter)}, String(value + 1));
      });
    }`;

  const processes = [1, 2, 3].map(() => Bun.spawn([process.execPath, "-e", program]));

  expect(await Promise.all(processes.map(({ exited }) => exited))).toEqual([0, 0, 0]);
  expect(readFileSync(counter, "utf8")).toBe("60");
  expect(readdirSync(dirname(place.path))).toEqual(["counter"]);
});

test.each([
  ["whose holder has died", () => holder({ pid: deadPid() }), 0],
  ["HOST-12: whose holder's number is another process's by now", () => holder({ started: "1" }), 0],
  ["HOST-16: of before a reboot", () => holder({ boot: "00000001" }), 0],
  ["of an earlier version whose holder has died", () => byName({ pid: deadPid() }), 0],
  ["of an earlier version, of before a reboot a while ago", () => byName({ boot: "00000001" }), 130],
  ["that one has held for minutes", () => holder({ heldS: 130 }), 0],
  ["that is very old", () => holder({ where: "00000001" }), 600],
  ["that is half written since a while", () => "12:", 15],
  ["from a future that the clock has left again", () => holder({ where: "00000001" }), -600],
])("takes over a lock %s", async (_case, text, ageS) => {
  using place = createPath();
  writeFileSync(place.path, text());
  setAge(place.path, ageS);

  expect(await withFileLock(place.path, { waitMs: 5000 }, async () => "done")).toBe("done");
  expect(readdirSync(dirname(place.path))).toEqual([]);
});

test.each([
  ["another machine or container", () => holder({ pid: deadPid(), where: "00000001" }), 0],
  ["another machine of the same name", () => holder({ where: OTHER_PLACE, boot: "00000001" }), 0],
  ...(isMachineKnown
    ? [
        [
          "an earlier version on another machine of the same name",
          () => byName({ boot: "00000001" }),
          0,
        ] as const,
      ]
    : []),
  ["a process that lives", () => holder({}), 0],
  ["an earlier version that lives", () => byName({}), 0],
  ["HOST-11: a process that lives, after the clock was set a day forward", () => holder({}), 86_400],
  ["HOST-11: a process that lives, after the clock was set a day back", () => holder({}), -86_400],
])("waits for a lock of %s, but not for ever", async (_case, text, ageS) => {
  using place = createPath();
  writeFileSync(place.path, text());
  setAge(place.path, ageS);

  const waiting = withFileLock(place.path, { waitMs: 100 }, async () => "done");

  expect(await waiting.catch(({ code }: { code: string }) => code)).toBe("LIMIT_EXCEEDED");
  expect(existsSync(place.path)).toBe(true);
});

test.if(isMachineKnown)("tells machines of one name apart", () => {
  const { where, whereByName, namespace } = ownIdentity();
  const id = readFileSync("/etc/machine-id", "utf8").trim();
  expect(where).toBe(digestPlace(hostname(), namespace, id));
  expect(new Set([where, whereByName, OTHER_PLACE]).size).toBe(3);
});

test("leaves a dead lock to the one that is removing it, unless that one has died too", async () => {
  using place = createPath();
  writeFileSync(place.path, holder({ pid: deadPid() }));
  writeFileSync(`${place.path}.left`, holder({}));
  await removeDeadLock(place.path);
  expect(existsSync(place.path)).toBe(true);

  writeFileSync(`${place.path}.left`, holder({ pid: deadPid() }));
  expect(await withFileLock(place.path, { waitMs: 5000 }, async () => "done")).toBe("done");
  expect(readdirSync(dirname(place.path))).toEqual([]);
});

test("leaves a dead lock that cannot be removed where it is, and says so to who wants it", async () => {
  using place = createPath();
  const path = join(dirname(place.path), "x".repeat(253)); // what is put beside it would have a longer name than there are
  const text = holder({ pid: deadPid() });
  symlinkSync(text, path);
  await removeDeadLock(path);
  expect(readlinkSync(path)).toBe(text);
  const wanted = withFileLock(path, { waitMs: 1000 }, async () => "got it");
  expect(await wanted.catch(({ code }: { code: string }) => code)).toBe("ENAMETOOLONG");
});

test("frees the lock when the work fails, and does not wait once it is called off", async () => {
  using place = createPath();
  const failing = withFileLock(place.path, { waitMs: 100 }, async () => {
    throw new Error("no");
  });
  expect(await failing.catch(({ message }: Error) => message)).toBe("no");
  expect(readdirSync(dirname(place.path))).toEqual([]);

  writeFileSync(place.path, holder({}));
  const signal = AbortSignal.abort(new Error("called off"));
  const waiting = withFileLock(place.path, { waitMs: 5000, signal }, async () => "done");

  expect(await waiting.catch(({ message }: Error) => message)).toBe("called off");
});

test("needs no room on the disk, and says from the first moment who holds it", async () => {
  using place = createPath();
  const program = `
    import { readlinkSync } from "node:fs";
    import { withFileLock } from ${JSON.stringify(join(import.meta.dir, "../../src/core/file-lock.ts"))};
    await withFileLock(${JSON.stringify(place.path)}, { waitMs: 100 }, async () =>
      console.log(readlinkSync(${JSON.stringify(place.path)}).split(":")[0] === String(process.pid)));`;

  // No file of this process may have any bytes, as on a full disk.
  const script = 'trap "" XFSZ; ulimit -f 0; exec "$0" -e "$1"';
  const { stdout } = Bun.spawnSync(["sh", "-c", script, process.execPath, program]);

  expect(stdout.toString()).toBe("true\n");
  expect(readdirSync(dirname(place.path))).toEqual([]);
});
