import { createHash } from "node:crypto";

/*
 * The signature that macOS asks of a program, in its least form: ad hoc, which names nobody and says that the bytes are whole.
 * Formats as in Apple's headers mach-o/loader.h and kern/cs_blobs.h. What linkers write, and what Bun writes for arm64 alone.
 */

const MACH_O_64 = 0xfeedfacf;
const HEADER_BYTES = 32;
const SEGMENT_64 = 0x19;
const CODE_SIGNATURE = 0x1d;
const SUPER_BLOB = 0xfade0cc0;
const CODE_DIRECTORY = 0xfade0c02;
const VERSION_WITH_EXEC_SEGMENT = 0x20400;
/** Ad hoc, and by a linker: a real signature may take its place. */
const FLAGS = 0x20002;
const SHA256 = { type: 2, bytes: 32 } as const;
const PAGE_BITS = 12;
const PAGE_BYTES = 1 << PAGE_BITS;
const SEGMENT_ALIGNMENT = 0x4000;
const SUPER_BLOB_BYTES = 20;
const DIRECTORY_BYTES = 88;
const MAIN_BINARY = 1n;

interface Places {
  /** Of the load commands, from the start of the file. */
  readonly signature: number;
  readonly linkEdit: number;
  readonly textBytes: bigint;
}

/** The program with a signature that fits it, in place of the one that it has. Throws for what is no signed Mach-O of 64 bits. */
export function signAdHoc(program: Buffer, identifier: string): Buffer {
  const places = findPlaces(program);
  const codeBytes = program.readUInt32LE(places.signature + 8);
  const pages = Math.ceil(codeBytes / PAGE_BYTES);
  const name = Buffer.from(`${identifier}\0`);
  const hashesAt = DIRECTORY_BYTES + name.length;
  const directoryBytes = hashesAt + pages * SHA256.bytes;
  const signatureBytes = SUPER_BLOB_BYTES + directoryBytes;

  const code = Buffer.from(program.subarray(0, codeBytes));
  code.writeUInt32LE(signatureBytes, places.signature + 12);
  const linkEditBytes = BigInt(codeBytes + signatureBytes) - code.readBigUInt64LE(places.linkEdit + 40);
  code.writeBigUInt64LE(linkEditBytes, places.linkEdit + 48);
  const alignment = BigInt(SEGMENT_ALIGNMENT);
  code.writeBigUInt64LE(((linkEditBytes + alignment - 1n) / alignment) * alignment, places.linkEdit + 32);

  const signature = Buffer.alloc(signatureBytes);
  // A super blob with one blob in it, the code directory, in slot 0.
  writeWords(signature, 0, [SUPER_BLOB, signatureBytes, 1, 0, SUPER_BLOB_BYTES]);
  const directory = signature.subarray(SUPER_BLOB_BYTES);
  const head = [CODE_DIRECTORY, directoryBytes, VERSION_WITH_EXEC_SEGMENT, FLAGS, hashesAt, DIRECTORY_BYTES];
  writeWords(directory, 0, [...head, 0, pages, codeBytes]);
  directory.set([SHA256.bytes, SHA256.type, 0, PAGE_BITS], 36);
  directory.writeBigUInt64BE(places.textBytes, 72);
  directory.writeBigUInt64BE(MAIN_BINARY, 80);
  name.copy(directory, DIRECTORY_BYTES);
  for (let page = 0; page < pages; page++) {
    const bytes = code.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
    createHash("sha256")
      .update(bytes)
      .digest()
      .copy(directory, hashesAt + page * SHA256.bytes);
  }
  return Buffer.concat([code, signature]);
}

function findPlaces(program: Buffer): Places {
  if (program.length < HEADER_BYTES || program.readUInt32LE(0) !== MACH_O_64) {
    throw new Error("this is no Mach-O of 64 bits");
  }
  let signature: number | undefined;
  let linkEdit: number | undefined;
  let textBytes: bigint | undefined;
  let at = HEADER_BYTES;
  for (let left = program.readUInt32LE(16); left > 0; left--) {
    const command = program.readUInt32LE(at);
    if (command === CODE_SIGNATURE) signature = at;
    if (command === SEGMENT_64) {
      const name = program.toString("latin1", at + 8, at + 24).replace(/\0+$/, "");
      if (name === "__LINKEDIT") linkEdit = at;
      if (name === "__TEXT") textBytes = program.readBigUInt64LE(at + 48);
    }
    at += program.readUInt32LE(at + 4);
  }
  if (signature === undefined || linkEdit === undefined || textBytes === undefined) {
    throw new Error("this Mach-O has no place for a signature");
  }
  return { signature, linkEdit, textBytes };
}

function writeWords(into: Buffer, at: number, words: readonly number[]): void {
  for (const [index, word] of words.entries()) into.writeUInt32BE(word, at + index * 4);
}
