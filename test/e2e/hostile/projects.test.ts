/** Code that leaves something in /projects for the next session, for the host, or to no end (group E of our attacks). */
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { peakMib } from "../helpers/attack.ts";
import { startBridge } from "../helpers/client.ts";
import { createHome } from "../helpers/home.ts";

test("KEP-3: modules and settings left in /projects take nobody's place, in the next session or on the host", async () => {
  using home = createHome();
  const witness = join(home.path, "witness");
  {
    await using bridge = await startBridge({ home });
    const { text } = await bridge.python(`
import os
left = {
    "json.py": "raise SystemExit('shadow')",
    "sitecustomize.py": "print('SHADOWED')",
    "usercustomize.py": "print('SHADOWED')",
    "colorsys.py": "raise SystemExit('shadow')",
    "supervisor.py": "raise SystemExit('shadow')",
    "asyncio/__init__.py": "raise RuntimeError('SHADOWED')",
    "memory/json.py": "raise SystemExit('shadow')",
    ".env": "LD_PRELOAD=/projects/x.so",
    "bunfig.toml": 'preload = ["./x.ts"]',
    "x.ts": ${JSON.stringify(`require("fs").writeFileSync(${JSON.stringify(witness)}, "")`)},
    ".git/hooks/post-checkout": "#!/bin/sh\\ntouch ${witness}\\n",
}
for name, text in left.items():
    os.makedirs(os.path.dirname("/projects/" + name), exist_ok=True)
    with open("/projects/" + name, "w") as file: file.write(text)`);
    expect(text).toContain("memory/json.py");
  }
  await using bridge = await startBridge({ home, cwd: join(home.path, "MCPs/user_tools") });
  const { text } = await bridge.python(
    "import asyncio, colorsys, json\nprint([m.__file__.startswith(('/projects', '/workspace', '/tmp')) for m in (asyncio, colorsys, json)])",
  );
  expect(text.split("\n")[0]).toBe("[False, False, False]");
  expect(text).not.toContain("SHADOWED");
  expect(existsSync(witness)).toBe(false);
});

test("EXH-7: files without number and folders without end are refused beyond their limits, and cleaned up", async () => {
  using home = createHome();
  await using bridge = await startBridge({ home, env: { MCP_BRIDGE_PROJECTS_QUOTA: "64m" } });
  await bridge.python("1");
  const before = peakMib(bridge.pid);
  const { text } = await bridge.python(
    `
import os
made = 0
os.makedirs("/projects/many")
try:
    for number in range(11_000):
        open(f"/projects/many/{number}", "w").close(); made += 1
except OSError as error: print(error.strerror)
os.chdir("/projects")
depth = 0
try:
    while depth < 400: os.mkdir("d"); os.chdir("d"); depth += 1
    open("deep", "w").write("x")
except OSError as error: print(error.strerror)
os.chdir("/")
print(made, depth)`,
    { timeout: 60 },
  );
  expect(text).toMatch(/\d+ \d+/);
  expect((await bridge.python("1 + 1", { timeout: 60 })).text).toContain("2");
  const kept = readdirSync(join(home.path, "MCPs/user_tools"), { recursive: true }) as string[];
  expect(kept.length).toBeLessThanOrEqual(10_000 + 20);
  expect(kept.every((path) => path.split("/").length <= 16)).toBe(true);
  expect(peakMib(bridge.pid) - before).toBeLessThan(160);
}, 240_000);
