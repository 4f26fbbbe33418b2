import { describe, expect, test } from "bun:test";
import { knownHoles, parseDockerRuntime, parsePodmanRuntime } from "../../src/container/oci-runtime.ts";

describe("the OCI runtime", () => {
  test("of podman is read from its info", () => {
    const version = "runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1\nspec: 1.0.2-dev";
    const answer = { host: { ociRuntime: { name: "runc", path: "/usr/bin/runc", version } } };
    expect(parsePodmanRuntime(answer)).toEqual({ name: "runc", version: "1.1.5+ds1", path: "/usr/bin/runc" });
    const given = {
      host: { ociRuntime: { name: "/opt/runc", path: "/opt/runc", version: "runc version 1.2.7" } },
    };
    expect(parsePodmanRuntime(given)).toEqual({ name: "runc", version: "1.2.7", path: "/opt/runc" });
    expect(parsePodmanRuntime({ host: {} })).toBeUndefined();
  });

  test("of docker is read from its components, which name only runc", () => {
    const answer = {
      Server: {
        Components: [
          { Name: "Engine", Version: "28" },
          { Name: "runc", Version: "1.3.3" },
        ],
      },
    };
    expect(parseDockerRuntime(answer, "runc").version).toBe("1.3.3");
    expect(parseDockerRuntime(answer, "runsc")).toEqual({
      name: "runsc",
      version: undefined,
      path: undefined,
    });
    expect(parseDockerRuntime(undefined, "runc").version).toBeUndefined();
  });

  test.each([
    ["runc", "1.1.5+ds1", true],
    ["runc", "1.2.7", true],
    ["runc", "1.2.8", false],
    ["runc", "1.3.0", true],
    ["runc", "1.3.2", true],
    ["runc", "1.3.3", false],
    ["runc", "1.4.0-rc.2", true],
    ["runc", "1.4.0-rc.3", false],
    ["runc", "1.4.0", false],
    ["runc", "1.10.0", false],
    ["runc", "2.0.0", false],
    ["runc", undefined, false],
    ["crun", "1.8.1", false],
  ])("ISO-14: %s %s is known to let containers out: %p", (name, version, expected) => {
    expect(knownHoles({ name, version, path: undefined }) !== undefined).toBe(expected);
  });
});
