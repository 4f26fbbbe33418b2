import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EngineInfo } from "../../src/container/engine.ts";
import { checkMounts, mountArgs, mountUser } from "../../src/container/mounts.ts";

const info = { engine: "docker", rootless: false, remote: false } as EngineInfo;

test("shows folders read-only or not, with a label where files need one", () => {
  const mounts = [
    { source: "/srv/a b,c", target: "/data", isReadOnly: true },
    { source: "/srv/x", target: "/x", isReadOnly: false },
  ];
  expect(mountArgs(mounts, false)).toEqual(["--volume", "/srv/a b,c:/data:ro", "--volume", "/srv/x:/x:rw"]);
  expect(mountArgs(mounts.slice(0, 1), true)).toEqual(["--volume", "/srv/a b,c:/data:ro,z"]);
  expect(() => mountArgs([{ source: "/a:b", target: "/x", isReadOnly: true }], false)).toThrow("colon");
});

test("runs as who asks for it, unless that is root, or the settings name another", () => {
  const uid = process.getuid?.() ?? 0;
  const own = uid === 0 ? "65534:65534" : `${uid}:${process.getgid?.()}`;
  expect(mountUser("65534:65534", true, info)).toBe(own);
  expect(mountUser("1:1", false, info)).toBe("1:1");
  expect(mountUser("65534:65534", true, { ...info, rootless: true })).toBe("65534:65534");
});

describe("a folder that the sandbox's user", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "sandpy-mount-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const check = (mode: number, isReadOnly: boolean, user = "65534:65534") => {
    chmodSync(folder, mode);
    const mounts = [{ source: folder, target: "/data", isReadOnly }];
    return checkMounts({ image: "x", user, limits: {} as never, command: [], mounts }, info);
  };

  test.if(process.platform === "linux")(
    "may use is mounted, and another is refused with what to do",
    async () => {
      await check(0o755, true);
      await check(0o777, false);
      await expect(check(0o700, true)).rejects.toMatchObject({
        code: "FILES_FAILED",
        message: `the mount of ${JSON.stringify(folder)} could not be read by the sandbox, which runs as 65534:65534`,
      });
      await expect(check(0o755, false)).rejects.toMatchObject({
        hint: expect.stringContaining(
          'Add ":ro" to the mount if reading is enough. Else let that user: chmod -R o+rwX',
        ),
      });
    },
  );

  test.if(process.getuid?.() === 0)("owns is mounted", async () => {
    chownSync(folder, 1234, 1234);
    await check(0o700, false, "1234:99");
    await check(0o070, false, "99:1234");
  });
});
