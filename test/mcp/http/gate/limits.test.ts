import { describe, expect, test } from "bun:test";
import { connectionLimits, sourceOf } from "../../../../src/mcp/http/gate/limits.ts";

describe("CLI-20: the connections that descriptors allow", () => {
  test.each([
    [16, 8, 4],
    [64, 10, 5],
    [256, 42, 21],
    [1024, 170, 85],
    [4096, 1024, 512],
    [20_000, 4096, 2048],
    [Number.MAX_SAFE_INTEGER, 4096, 2048],
  ])("%d: %d in all, %d of an address", (openFiles, total, perAddress) => {
    expect(connectionLimits(openFiles)).toEqual({ total, perAddress });
  });
});

describe("CLI-20: one source", () => {
  test.each([
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::1", "0:0:0:0::/64"],
    ["2001:db8:0:12::5", "2001:db8:0:12::/64"],
    ["2001:db8::12:1:2:3:4", "2001:db8:0:12::/64"],
    ["2001:0DB8:0000:0012:a:b:c:d", "2001:db8:0:12::/64"],
    ["2001:db8::", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ])("of %s is %s", (address, source) => {
    expect(sourceOf(address)).toBe(source);
  });
});
