import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BridgeError } from "../../../src/core/errors.ts";
import { ownIdentity } from "../../../src/core/process-identity.ts";
import { type TrustEntry, TrustStore } from "../../../src/discovery/trust/trust-store.ts";

let root: string;
let folder: string;
let file: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "sandpy-trust-"));
  folder = join(root, "data");
  file = join(folder, "trust.json");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function entry(key: string): TrustEntry {
  return { folder: "/p", file: ".mcp.json", key, pin: "a".repeat(64), at: "2026-01-02T03:04:05.000Z" };
}

async function faultOf(work: Promise<unknown>): Promise<BridgeError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof BridgeError) return error;
  throw new Error("it was accepted");
}

describe("what is trusted", () => {
  test("is nothing at first, and reading makes no file", async () => {
    expect(await new TrustStore(folder).read()).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  });

  test("is kept in a file that only the user can read, with nothing left over", async () => {
    const store = new TrustStore(folder);

    await store.update((known) => [...known, entry("__proto__"), entry("a")]);

    expect(await new TrustStore(folder).read()).toEqual([entry("__proto__"), entry("a")]);
    expect([statSync(file).mode & 0o777, statSync(folder).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(readdirSync(folder)).toEqual(["trust.json"]);
  });

  test("loses nothing when many change it at once", async () => {
    const names = Array.from({ length: 40 }, (_, index) => `s${index}`);

    await Promise.all(names.map((name) => new TrustStore(folder).update((known) => [...known, entry(name)])));

    expect((await new TrustStore(folder).read()).map(({ key }) => key).sort()).toEqual([...names].sort());
  });

  test("is changed although a process was killed while it held the lock", async () => {
    mkdirSync(folder, { recursive: true });
    const { where, boot } = ownIdentity();
    const holder = `${Bun.spawnSync(["true"]).pid}:1:1:${where}:${boot}:0123456789ab`;
    writeFileSync(join(folder, "trust.lock"), holder);

    await new TrustStore(folder).update(() => [entry("a")]);

    expect(readdirSync(folder)).toEqual(["trust.json"]);
  });
});

describe("a file that cannot be relied on", () => {
  const store = () => new TrustStore(folder);
  const valid = JSON.stringify({ version: 1, trusted: [] });

  test.each([
    ["that is no JSON", "{", "is not valid JSON"],
    ["that is empty", "", "is not valid JSON"],
    ["of another version", '{"version":2,"trusted":[]}', "is not as sandpy writes it: version"],
    [
      "with half an entry",
      '{"version":1,"trusted":[{"folder":"/p"}]}',
      "is not as sandpy writes it: trusted.0.file",
    ],
    ["that is a list", "[]", "is not as sandpy writes it"],
  ])("%s is an error that names it, and is left alone", async (_title, content, part) => {
    mkdirSync(folder);
    writeFileSync(file, content, { mode: 0o600 });

    for (const work of [() => store().read(), () => store().update(() => [entry("a")])]) {
      const { code, message, hint } = await faultOf(work());
      expect(code).toBe("CONFIG_INVALID");
      expect(message).toStartWith(`${file}, which says what you trust, ${part}`);
      expect(hint).toContain("sandpy trust");
    }
    expect(readFileSync(file, "utf8")).toBe(content);
  });

  test("because others can write it is refused", async () => {
    mkdirSync(folder);
    writeFileSync(file, valid);
    chmodSync(file, 0o666);

    expect((await faultOf(store().read())).message).toContain("can be written by other users");
  });

  test("because it is a link is refused", async () => {
    mkdirSync(folder);
    writeFileSync(join(root, "elsewhere.json"), valid);
    symlinkSync(join(root, "elsewhere.json"), file);

    expect((await faultOf(store().read())).message).toContain("is a symbolic link");
  });

  test("because it is a pipe is refused at once", async () => {
    mkdirSync(folder);
    Bun.spawnSync(["mkfifo", file]);

    expect((await faultOf(store().read())).message).toContain("is not a file");
  });

  test("because its folder cannot be made is said when it is written", async () => {
    writeFileSync(folder, "");

    expect((await faultOf(store().update(() => []))).message).toContain(
      "cannot be made, or belongs to somebody",
    );
  });
});
