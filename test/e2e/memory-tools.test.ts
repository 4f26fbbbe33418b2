import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBridge } from "./helpers/client.ts";
import { command, onTerminal } from "./helpers/command.ts";
import { createHome } from "./helpers/home.ts";

const TOOLS = `
def greet(name: str) -> str:
    """Says hello."""
    return "hello " + name

async def later():
    "Does it later."
    return 1

save_tool(greet)
save_tool(later)`;

test("what Python saved is listed, shown and deleted from the command line", async () => {
  using home = createHome();
  await using bridge = await startBridge({ home });
  expect((await bridge.python(TOOLS)).isError).toBe(false);
  const file = join(home.path, "MCPs/user_tools/user_tools.py");

  const list = await command(["memory", "tools", "list", "--json"], { home });
  expect(JSON.parse(list.stdout).tools).toEqual([
    {
      name: "greet",
      signature: expect.stringContaining("greet(name: str) -> str"),
      description: "Says hello.",
    },
    { name: "later", signature: expect.stringContaining("later()"), description: "Does it later." },
  ]);
  expect((await command(["memory", "tools", "path"], { home })).stdout).toBe(`${file}\n`);
  expect((await command(["memory", "tools", "show"], { home })).stdout).toBe(readFileSync(file, "utf8"));
  expect((await command(["memory", "tools", "show", "greet"], { home })).stdout).toContain(
    'return "hello " + name',
  );
  expect(await command(["memory", "tools", "show", "nope"], { home })).toMatchObject({ code: 7, stdout: "" });

  expect((await onTerminal(["memory", "tools", "delete", "later"], "n\n", { home })).code).toBe(1);
  expect(readFileSync(file, "utf8")).toContain("later");
  expect(await command(["memory", "tools", "delete", "later"], { home })).toMatchObject({ code: 0 });
  expect(readFileSync(file, "utf8")).not.toContain("later");
  expect(readFileSync(file, "utf8")).toContain("greet");
});

test("a file of tools that prints, or is no Python, does not confuse the command line", async () => {
  using home = createHome();
  home.write("MCPs/user_tools/user_tools.py", 'print("[]")\n\ndef one():\n    "First."\n');
  const noisy = await command(["memory", "tools", "list", "--json"], { home });
  expect(JSON.parse(noisy.stdout).tools).toMatchObject([{ name: "one" }]);
  const broken = "def one(:\n";
  writeFileSync(join(home.path, "MCPs/user_tools/user_tools.py"), broken);
  expect((await command(["memory", "tools", "show"], { home })).stdout).toBe(broken);
  const list = await command(["memory", "tools", "list"], { home });
  expect([list.code, list.stderr]).toEqual([7, expect.stringContaining("user_tools.py")]);
});
