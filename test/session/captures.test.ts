import { describe, expect, test } from "bun:test";
import { CapturedImages } from "../../src/session/images.ts";
import { CapturedOutput } from "../../src/session/output.ts";

describe("CapturedOutput", () => {
  test("keeps the streams apart, and head and tail of a long one", () => {
    const output = new CapturedOutput(10);
    output.append("stdout", "abcdefghijklmnop", 0);
    output.append("stderr", "short", 0);
    expect(output.read("stdout")).toEqual({ text: "abcde\n[… 6 characters left out …]\nlmnop", dropped: 6 });
    expect(output.read("stderr")).toEqual({ text: "short", dropped: 0 });
  });

  test.each([
    [16, "all of it is"],
    [12, "the first 12 of 16 bytes are"],
  ])("names the file that has the rest (%i bytes kept)", (kept, words) => {
    const output = new CapturedOutput(10);
    output.append("stdout", "abcdefghijklmnop", 0);
    output.noteFile({ type: "spilled", name: "stdout", path: "/tmp/x.txt", bytes: 16, kept });
    expect(output.read("stdout").text).toBe(
      `abcde\n[… 6 characters left out; ${words} in the sandbox: /tmp/x.txt …]\nlmnop`,
    );
  });
});

describe("CapturedOutput of a sandbox that keeps back what would be left out", () => {
  test("counts what was not sent", () => {
    const output = new CapturedOutput(10);
    output.append("stdout", "abcdefgh", 0);
    output.append("stdout", "uvwxyz", 100);
    expect(output.read("stdout")).toEqual({
      text: "abcde\n[… 104 characters left out …]\nvwxyz",
      dropped: 104,
    });
  });
});

describe("CapturedImages", () => {
  const frame = (data: string) => ({ type: "display" as const, id: 1, mime: "image/png" as const, data });

  test("keeps what fits and counts what does not", () => {
    const captured = new CapturedImages();
    for (let n = 0; n < 23; n += 1) captured.add(frame("AAAA"));
    expect([captured.images.length, captured.refused, captured.images[0]]).toEqual([
      20,
      3,
      { mimeType: "image/png", data: "AAAA" },
    ]);
  });

  test("bounds their size in all", () => {
    const captured = new CapturedImages();
    const large = "A".repeat(5 * 1024 * 1024);
    for (let n = 0; n < 6; n += 1) captured.add(frame(large));
    expect([captured.images.length, captured.refused]).toEqual([4, 2]);
  });
});
