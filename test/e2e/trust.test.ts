/** Servers that a project defines: nothing of them runs before the user has trusted exactly that. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBridge } from "./helpers/client.ts";
import { command, onTerminal } from "./helpers/command.ts";
import { until } from "./helpers/engine.ts";
import { npmServer } from "./helpers/npm-servers.ts";
import { createWitness, type Witness } from "./helpers/witness.ts";

let witness: Witness;
let project: string;
beforeEach(async () => {
  witness = await createWitness();
  project = join(witness.home.path, "project");
  mkdirSync(project);
});
afterEach(() => witness[Symbol.asyncDispose]());

function defineInProject(servers: Readonly<Record<string, unknown>>, file = ".mcp.json"): void {
  witness.home.write(join("project", file), JSON.stringify({ mcpServers: servers }));
}

const inProject = (...args: string[]) => command(args, { home: witness.home, cwd: project });

async function stateOf(name: string, cwd = project): Promise<string | undefined> {
  const { stdout } = await command(["servers", "--json"], { home: witness.home, cwd });
  const { servers } = JSON.parse(stdout) as { servers: readonly { name: string; state: string }[] };
  return servers.find((server) => server.name === name)?.state;
}

describe("a server of a project", () => {
  test("UPS-12: is listed and left alone until it is trusted; a change asks again", async () => {
    const { home } = witness;
    defineInProject({
      evil: witness.stdio("evil"),
      remote: witness.http(),
      files: npmServer("filesystem", project),
    });
    await using bridge = await startBridge({ home, cwd: project });
    await bridge.python("1"); // the first result may carry a note about the engine

    expect(await stateOf("evil")).toBe("untrusted");
    expect((await bridge.python("runtime.discovered_servers()")).text).toBe("[]");
    for (const name of ["evil", "remote"]) {
      const { text, isError } = await bridge.call({ code: "print('ran')", servers: [name] });
      expect(isError).toBe(true);
      expect(text).toContain(`server "${name}" comes from the project "~/project", which is not trusted`);
      expect(text).toContain("sandpy trust ~/project");
    }
    await bridge.python("print(await runtime.find_servers(''))\nimport asyncio\nawait asyncio.sleep(1)");
    await inProject("tools", "--refresh");
    await inProject("auth", "remote", "--no-browser");
    expect(witness.wasStarted("evil")).toBe(false);
    expect(witness.connections()).toBe(0);

    const trusted = await inProject("trust", "--yes");
    expect([trusted.code, trusted.stderr]).toEqual([0, ""]);
    expect(witness.wasStarted("evil")).toBe(false); // trusting starts nothing

    const { text } = await bridge.python("(await mcp_files.list_allowed_directories()).text", {
      servers: ["files"],
    });
    expect(text).toContain(project);

    defineInProject({ files: npmServer("filesystem", project, "/tmp") });
    expect(await stateOf("files")).toBe("untrusted");
    await until("it is refused", async () => {
      const { isError, text: said } = await bridge.call({ code: "1", servers: ["files"] });
      return isError && said.includes("which has changed since it was trusted");
    });
  });

  test("runs without trust where whoever starts us says so, and only then", async () => {
    defineInProject({ files: npmServer("filesystem", project) });
    const file = witness.home.write("job.py", "print((await mcp_files.list_allowed_directories()).text)");

    expect((await inProject("run", file, "--servers", "files")).code).toBe(6);
    const flagged = await inProject("run", file, "--servers", "files", "--trust-project");
    expect([flagged.code, flagged.stdout.includes(project)]).toEqual([0, true]);
    const { code } = await command(["run", file, "--servers", "files"], {
      home: witness.home,
      cwd: project,
      env: { MCP_BRIDGE_TRUST_PROJECT: "1" },
    });
    expect(code).toBe(0);
    expect(await stateOf("files")).toBe("untrusted");
  });

  test("ends where it runs when trust is taken back", async () => {
    defineInProject({ files: npmServer("filesystem", project) });
    await inProject("trust", "--yes");
    await using bridge = await startBridge({ home: witness.home, cwd: project });
    await bridge.python("await mcp_files.list_allowed_directories()");
    const isRunning = () => Bun.spawnSync(["pgrep", "-f", `index.js ${project}`]).exitCode === 0;
    expect(isRunning()).toBe(true);

    expect((await inProject("trust", "--revoke")).stdout).toBe("No longer trusted: files.\n");

    await until("it ends", async () => {
      await bridge.python("1");
      return !isRunning();
    });
    expect(await stateOf("files")).toBe("untrusted");
  });

  test("does not take the place of the user's own", async () => {
    const { home } = witness;
    home.write(
      ".cursor/mcp.json",
      JSON.stringify({ mcpServers: { files: npmServer("filesystem", home.path) } }),
    );
    defineInProject({ files: witness.stdio("evil") }, ".cursor/mcp.json");
    await using bridge = await startBridge({ home, cwd: project });
    const { text } = await bridge.python("print((await mcp_files.list_allowed_directories()).text)");
    expect(text).toContain(home.path);
    expect(witness.wasStarted("evil")).toBe(false);
  });
});

describe("sandpy trust", () => {
  test("shows whole commands and no values, and trusts what was agreed to on the terminal", async () => {
    defineInProject({
      evil: { ...witness.stdio("evil"), env: { TOKEN: "tell-nobody", NODE_OPTIONS: "--x" } },
    });
    const options = { home: witness.home, cwd: project };

    const refused = await onTerminal(["trust"], "n\n", options);
    expect(refused.code).toBe(1);
    expect(refused.screen).toContain(`/bin/sh -c 'echo > `);
    expect(refused.screen).toContain("TOKEN");
    expect(refused.screen).toContain("NODE_OPTIONS can make it run other code");
    expect(refused.screen).not.toContain("tell-nobody");
    expect(await stateOf("evil")).toBe("untrusted");

    const agreed = await onTerminal(["trust"], "y\n", options);
    expect([agreed.code, agreed.screen.includes("Trusted.")]).toEqual([0, true]);
    expect(await stateOf("evil")).toBe("usable");
    expect((await onTerminal(["trust"], "", options)).screen).toContain("is trusted already");
  });

  test("trusts what it showed, whatever the file says by the time of the answer", async () => {
    defineInProject({ evil: witness.stdio("good") });
    await onTerminal(["trust"], "y\n", { home: witness.home, cwd: project }, () =>
      defineInProject({ evil: witness.stdio("evil") }),
    );
    expect(await stateOf("evil")).toBe("untrusted");
    defineInProject({ evil: witness.stdio("good") });
    expect(await stateOf("evil")).toBe("usable");
  });

  test("takes what is switched off as well, without switching it on", async () => {
    defineInProject({ off: witness.stdio("off", { disabled: true }) });
    expect((await inProject("trust", "--yes")).stdout).toContain("switched off");
    expect(await stateOf("off")).toBe("disabled");
    defineInProject({ off: witness.stdio("off") });
    expect(await stateOf("off")).toBe("usable");
  });

  test("shows no control character of the project to the terminal", async () => {
    defineInProject({ "a\u001b[2K": { command: "x\u202e\u0007", args: ["\r"] } });
    const { screen } = await onTerminal(["trust"], "n\n", { home: witness.home, cwd: project });
    expect(screen).toContain("a\\u{1b}[2K");
    expect(screen).toContain("x\\u{202e}\\u{7}");
    expect(["\u202e", "\u001b[2K", "\u0007"].filter((text) => screen.includes(text))).toEqual([]);
  });

  test("asks nobody who is not there", async () => {
    defineInProject({ evil: witness.stdio("evil") });
    const { code, stdout, stderr } = await inProject("trust");
    expect(code).toBe(2);
    expect(stdout).toContain("evil");
    expect(stderr).toContain("nobody sits at a terminal");
    expect(await stateOf("evil")).toBe("untrusted");
  });

  test("writes a file for the user alone, and lists and revokes what it holds", async () => {
    const { home } = witness;
    defineInProject({ evil: witness.stdio("evil") });
    await command(["trust", "project/../project", "--yes"], { home });
    const file = join(home.path, ".local/share/sandpy/trust.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).not.toContain("echo");

    const listed = await command(["trust", "--list", "--json"], { home });
    expect(JSON.parse(listed.stdout)).toMatchObject({
      trusted: [{ folder: project, file: ".mcp.json", key: "evil" }],
    });

    rmSync(project, { recursive: true });
    await command(["trust", "project", "--revoke"], { home });
    expect((await command(["trust", "--list"], { home })).stdout).toBe("No project is trusted.\n");
  });

  test("does not hold for a copy, nor for what a link leads to later", async () => {
    const { home } = witness;
    defineInProject({ evil: witness.stdio("evil") });
    symlinkSync(project, join(home.path, "link"));
    await command(["trust", "link", "--yes"], { home });
    expect(await stateOf("evil")).toBe("usable");

    mkdirSync(join(home.path, "copy"));
    writeFileSync(join(home.path, "copy/.mcp.json"), readFileSync(join(project, ".mcp.json")));
    expect(await stateOf("evil", join(home.path, "copy"))).toBe("untrusted");
    rmSync(join(home.path, "link"));
    symlinkSync(join(home.path, "copy"), join(home.path, "link"));
    expect(await stateOf("evil", join(home.path, "link"))).toBe("untrusted");
  });

  test("follows a project's file that is a link: what it leads to is what is pinned", async () => {
    const { home } = witness;
    const target = home.write(
      "elsewhere.json",
      JSON.stringify({ mcpServers: { evil: witness.stdio("evil") } }),
    );
    symlinkSync(target, join(project, ".mcp.json"));
    await inProject("trust", "--yes");
    expect(await stateOf("evil")).toBe("usable");
    writeFileSync(target, JSON.stringify({ mcpServers: { evil: witness.stdio("worse") } }));
    expect(await stateOf("evil")).toBe("untrusted");
  });

  test("is an error with a broken file, which is kept; nothing is trusted meanwhile", async () => {
    const { home } = witness;
    defineInProject({ evil: witness.stdio("evil") });
    await inProject("trust", "--yes");
    const file = home.write(".local/share/sandpy/trust.json", "{");
    const { code, stderr } = await inProject("trust", "--yes");
    expect([code, stderr.includes(`${file}, which says what you trust, is not valid JSON`)]).toEqual([
      3,
      true,
    ]);
    expect(readFileSync(file, "utf8")).toBe("{");
    expect(await stateOf("evil")).toBe("untrusted");
    expect((await inProject("servers")).stderr).toContain("trust.json");
  });
});

describe("the home as the project", () => {
  test("has the user's own files, which need no trust, and the project's, which do", async () => {
    const { home } = witness;
    home.write(".cursor/mcp.json", JSON.stringify({ mcpServers: { own: witness.stdio("own") } }));
    home.write(".mcp.json", JSON.stringify({ mcpServers: { stray: witness.stdio("stray") } }));
    expect(await stateOf("own", home.path)).toBe("usable");
    expect(await stateOf("stray", home.path)).toBe("untrusted");
    expect(witness.wasStarted("own")).toBe(false);
  });
});

describe("a policy", () => {
  test("forbids a server of its client, and names file and key", async () => {
    const { home } = witness;
    const file = home.write("corp/gemini.json", JSON.stringify({ mcp: { allowed: ["corp"] } }));
    const servers = { corp: witness.stdio("corp"), mine: witness.stdio("mine") };
    home.write(".gemini/settings.json", JSON.stringify({ mcpServers: servers }));
    const env = { GEMINI_CLI_SYSTEM_SETTINGS_PATH: file };
    await using bridge = await startBridge({ home, env });
    await bridge.python("1");
    expect((await bridge.python("runtime.discovered_servers()")).text).toBe("['corp']");
    const { text, isError } = await bridge.call({ code: "1", servers: ["mine"] });
    expect(isError).toBe(true);
    expect(text).toContain(`server "mine" is forbidden by "mcp.allowed" in ~/corp/gemini.json`);
    expect(witness.wasStarted("mine")).toBe(false);
  });
});
