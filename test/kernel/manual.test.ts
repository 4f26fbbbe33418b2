import { expect, test } from "bun:test";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { MANUAL } from "../../src/kernel/manual.ts";

test("the manual is Markdown and costs a model at most 600 tokens", () => {
  expect(MANUAL).toStartWith("# run_python\n\n");
  expect(MANUAL).toEndWith(".");
  expect(MANUAL).not.toContain('"""');
  expect(encode(MANUAL).length).toBeLessThanOrEqual(600);
});
