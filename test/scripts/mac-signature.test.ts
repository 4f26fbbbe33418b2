import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { signAdHoc } from "../../scripts/packaging/mac-signature.ts";

const CODE_BYTES = 10_000;
const LINK_EDIT_AT = 8_192;
const TEXT_BYTES = 4_096n;

/** A Mach-O with what the signature is about: __TEXT, __LINKEDIT, and an old signature at the end that fits nothing. */
function makeProgram(oldSignatureBytes: number): Buffer {
  const program = Buffer.alloc(CODE_BYTES + oldSignatureBytes, 7);
  program.fill(0, 0, 32 + 72 + 72 + 16);
  program.writeUInt32LE(0xfeedfacf, 0);
  program.writeUInt32LE(3, 16);
  const segment = (at: number, name: string, offset: bigint, bytes: bigint) => {
    program.writeUInt32LE(0x19, at);
    program.writeUInt32LE(72, at + 4);
    program.write(name, at + 8, "latin1");
    program.writeBigUInt64LE(bytes, at + 32);
    program.writeBigUInt64LE(offset, at + 40);
    program.writeBigUInt64LE(bytes, at + 48);
  };
  segment(32, "__TEXT", 0n, TEXT_BYTES);
  segment(104, "__LINKEDIT", BigInt(LINK_EDIT_AT), BigInt(CODE_BYTES + oldSignatureBytes - LINK_EDIT_AT));
  program.writeUInt32LE(0x1d, 176);
  program.writeUInt32LE(16, 180);
  program.writeUInt32LE(CODE_BYTES, 184);
  program.writeUInt32LE(oldSignatureBytes, 188);
  return program;
}

describe("the signature for macOS", () => {
  test.each([16, 100_000])("covers every page, in place of an old one of %i bytes", (oldBytes) => {
    const signed = signAdHoc(makeProgram(oldBytes), "sandpy");
    const signatureBytes = signed.readUInt32LE(188);
    expect(signed.length).toBe(CODE_BYTES + signatureBytes);
    expect(Number(signed.readBigUInt64LE(104 + 48))).toBe(signed.length - LINK_EDIT_AT);
    expect(Number(signed.readBigUInt64LE(104 + 32))).toBe(16_384);

    const blob = signed.subarray(CODE_BYTES);
    expect([blob.readUInt32BE(0), blob.readUInt32BE(4)]).toEqual([0xfade0cc0, signatureBytes]);
    const directory = blob.subarray(blob.readUInt32BE(16));
    const [magic, bytes, , flags, hashesAt = 0, nameAt = 0, special, pages = 0, limit] = Array.from(
      { length: 9 },
      (_, index) => directory.readUInt32BE(index * 4),
    );
    expect({ magic, bytes, flags, special, pages, limit }).toEqual({
      magic: 0xfade0c02,
      bytes: directory.length,
      flags: 0x20002,
      special: 0,
      pages: 3,
      limit: CODE_BYTES,
    });
    expect(directory.toString("latin1", nameAt, hashesAt)).toBe("sandpy\0");
    expect(directory.readBigUInt64BE(80 - 8)).toBe(TEXT_BYTES);
    for (let page = 0; page < pages; page++) {
      // The last page is hashed as far as it goes: the kernel does so too.
      const code = signed.subarray(page * 4096, Math.min((page + 1) * 4096, CODE_BYTES));
      const hash = directory.subarray(hashesAt + page * 32, hashesAt + (page + 1) * 32);
      expect(hash.toString("hex")).toBe(createHash("sha256").update(code).digest("hex"));
    }
    expect(signAdHoc(signed, "sandpy").equals(signed)).toBe(true);
  });

  test.each([
    ["another kind of file", Buffer.from("#!/bin/sh\n".repeat(10)), /no Mach-O of 64 bits/],
    ["a cut file", Buffer.alloc(8), /no Mach-O of 64 bits/],
    ["a Mach-O without a signature", makeProgram(16).fill(0, 176, 180), /no place for a signature/],
  ])("is not put on %s", (_what, program, words) => {
    expect(() => signAdHoc(program, "sandpy")).toThrow(words);
  });
});
