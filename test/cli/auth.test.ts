import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliWorld } from "../helpers/cli-world.ts";
import { browse, createOAuthWorld, type OAuthWorld } from "../helpers/oauth-world.ts";
import { until } from "../helpers/until.ts";

let home: string;
let world: CliWorld;
let oauth: OAuthWorld;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "sandpy-auth-"));
  world = new CliWorld();
  Object.assign(world.env, { HOME: home, PATH: process.env["PATH"] ?? "" });
  oauth = await createOAuthWorld();
  mkdirSync(join(home, "MCPs"));
  const mcpServers = { web: { type: "http", url: oauth.url }, local: { command: "no-such" } };
  writeFileSync(join(home, "MCPs/all.json"), JSON.stringify({ mcpServers }));
});
afterEach(async () => {
  await oauth[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

/** The address that the command prints, once it has. */
async function printedAddress(): Promise<string> {
  let text = "";
  const listen = (chunk: Buffer) => {
    text += chunk;
  };
  world.stderr.on("data", listen);
  const find = () => /^ {2}(http\S+)$/m.exec(text)?.[1];
  await until("the address of the sign-in", () => find() !== undefined);
  world.stderr.off("data", listen);
  return find() ?? "";
}

test("signs in by an address that it prints, shows it, and signs out", async () => {
  const signingIn = world.run("auth", "web", "--no-browser");
  await browse(await printedAddress());

  const { code, stdout, stderr } = await signingIn;
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Signed in to "web", which has 1 tool.\n' });
  expect(stderr).toStartWith('Sign in to "web" on this page:\n');
  expect(stderr).toContain("\n\nOpen it in a browser. Waiting …\n");
  expect((await world.run("auth")).stdout).toBe(`NAME  STATE      SERVER\nweb   signed in  ${oauth.url}\n`);
  expect(JSON.parse((await world.run("auth", "--json")).stdout)).toEqual({
    servers: [
      { name: "web", state: "signed-in", expiresAt: expect.stringMatching(/^2\d{3}-.*Z$/), renews: true },
    ],
  });
  expect((await world.run("auth", "web", "--logout")).stdout).toBe('Signed out of "web".\n');
  expect((await world.run("auth", "web", "--logout")).stdout).toBe('Nobody was signed in to "web".\n');
  const { stdout: none } = await world.run("auth");
  expect(none).toContain("web   -      http");
  expect(none).toEndWith("type: sandpy auth SERVER\n");
});

test("opens the browser where there is a screen", async () => {
  const opened = join(home, "opened");
  const opener = join(home, "bin/xdg-open");
  mkdirSync(join(home, "bin"));
  writeFileSync(opener, `#!/bin/sh\nprintf %s "$1" > ${opened}.new && mv ${opened}.new ${opened}\n`, {
    mode: 0o755,
  });
  Object.assign(world.env, { PATH: `${home}/bin:${process.env["PATH"]}`, DISPLAY: ":0" });
  const signingIn = world.run("auth", "web", "--json");
  const read = () => {
    try {
      return readFileSync(opened, "utf8");
    } catch {
      return ""; // not yet
    }
  };
  await until("the browser", () => read() !== "");
  await browse(read());

  const { code, stdout, stderr } = await signingIn;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ name: "web", state: "signed-in", renews: true, tools: 1 });
  expect(stderr).toContain("It is open in your browser.");
});

test("ends at a signal", async () => {
  const signingIn = world.run("auth", "web", "--no-browser");
  const address = await printedAddress();
  await world.signal("SIGINT");

  expect(await signingIn).toMatchObject({ code: 130, stdout: "" });
  const callback = new URL(address).searchParams.get("redirect_uri") ?? "";
  expect(await fetch(callback).catch(({ code }: { code: string }) => code)).toBe("ECONNREFUSED");
  expect(world.listens).toBe(false);
});

describe("says what is wrong", () => {
  test.each([
    [["auth", "wep"], 6, 'sandpy: no server is called "wep"\nDid you mean "web"?\n'],
    [
      ["auth", "local"],
      6,
      'sandpy: server "local" is a program on this machine, which signs in by itself\nIts own documents say how.\n',
    ],
    [["auth", "--logout"], 2, 'sandpy: SERVER is missing\nType "sandpy auth SERVER --logout".\n'],
  ])("%p", async (argv, code, stderr) => {
    expect(await world.run(...argv)).toEqual({ code, stdout: "", stderr });
  });

  test("when the user refuses", async () => {
    const signingIn = world.run("auth", "web", "--no-browser");
    const { searchParams } = new URL(await printedAddress());
    await fetch(`${searchParams.get("redirect_uri")}?state=${searchParams.get("state")}&error=access_denied`);

    const { code, stderr } = await signingIn;
    expect(code).toBe(6);
    expect(stderr).toEndWith(
      'sandpy: the sign-in to server "web" failed: the authorization server answered "access_denied"\n',
    );
  });

  test("when the server knows nothing of OAuth", async () => {
    const plain = Bun.serve({ port: 0, fetch: () => new Response(null, { status: 404 }) });
    const mcpServers = { web: { type: "http", url: `http://127.0.0.1:${plain.port}/mcp` } };
    writeFileSync(join(home, "MCPs/all.json"), JSON.stringify({ mcpServers }));

    const { code, stderr } = await world.run("auth", "web", "--no-browser");

    expect(code).toBe(6);
    expect(stderr).toBe(
      'sandpy: the sign-in to server "web" failed: it asks for none, and says nowhere who could give one\n',
    );
    await plain.stop(true);
  });
});
