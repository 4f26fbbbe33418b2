import { expect, test } from "bun:test";
import { runChild } from "../../src/core/child.ts";
import { command } from "./helpers/command.ts";
import { createHome } from "./helpers/home.ts";

test("the manual page of the binary is without fault for mandoc, and readable", async () => {
  using home = createHome();
  const mandoc = Bun.which("mandoc");
  if (mandoc === null) {
    throw new Error(
      'mandoc is needed for this test: install the package "mandoc", or run ./scripts/test e2e as root',
    );
  }
  const file = home.write("sandpy.1", (await command(["__manual", "man"], { home })).stdout);
  const run = (...args: string[]) =>
    runChild({
      command: mandoc,
      args: [...args, file],
      env: { PATH: process.env["PATH"] ?? "" },
      timeoutMs: 60_000,
      maxChars: 4 * 1024 ** 2,
    });
  // What is unknown of other programs' pages depends on the machine.
  const { stdout, stderr } = await run("-Tlint", "-Wstyle");
  expect(
    `${stdout}${stderr}`
      .split("\n")
      .filter((line) => !/^$|referenced manual not found|outdated mandoc.db/.test(line)),
  ).toEqual([]);
  const { stdout: printed } = await run("-Tutf8", "-Owidth=80");
  // As a terminal of paper prints bold: the letter, a step back, and the letter again.
  const shown = printed
    .split("\b")
    .map((part, index, all) => (index < all.length - 1 ? part.slice(0, -1) : part))
    .join("");
  expect(shown).toMatch(/-c, --code <code>\n\s+The program itself/);
  expect(shown).toContain("MCP_BRIDGE_TIMEOUT");
});
