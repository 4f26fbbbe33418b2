import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RemoteServer } from "../../../src/discovery/server-definition.ts";
import { createSignIns } from "../../../src/upstream/oauth/sign-ins.ts";
import { serveHttp, serveSessions } from "../../helpers/http-servers.ts";
import { browse, createOAuthWorld, type OAuthWorld } from "../../helpers/oauth-world.ts";
import { createRig, faultOf, type Rig, remote, soon } from "../harness.ts";

const SUM = { content: [{ type: "text", text: "3" }] };
const NEEDED = {
  code: "UPSTREAM_UNAUTHORIZED",
  message: 'server "web" needs a sign-in',
  hint: "Ask the user to run: sandpy auth web",
};
const add = (rig: Rig) =>
  rig.upstream.callTool({ server: "web", tool: "add", arguments: { a: 1, b: 2 } }, soon());

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 10_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`the condition did not come true: ${condition}`);
    await Bun.sleep(20);
  }
}

function createFolder(): Disposable & { readonly path: string; text(): string } {
  const path = mkdtempSync(join(tmpdir(), "sandpy-sign-ins-"));
  const folder = join(path, "sign-ins");
  return {
    path,
    text: () =>
      readdirSync(folder)
        .map((name) => readFileSync(join(folder, name), "utf8"))
        .join(""),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Signs in as a person would. */
async function signIn(world: OAuthWorld, dataDir: string, settings = {}): Promise<string[]> {
  const presented: string[] = [];
  const signIns = createSignIns({ dataDir });
  await signIns.signIn(remote("web", world.url, settings), {
    signal: soon(),
    present: async (url) => {
      presented.push(url);
      expect(await browse(url)).toContain("You can close this page");
    },
  });
  return presented;
}

describe("a server that wants a sign-in", () => {
  test("says so, and is called after it", async () => {
    await using world = await createOAuthWorld();
    using folder = createFolder();
    await using rig = createRig([remote("web", world.url)], { dataDir: folder.path });
    expect(await faultOf(add(rig))).toEqual(NEEDED);

    const [url = ""] = await signIn(world, folder.path);

    expect(await add(rig)).toEqual(SUM);
    const asked = Object.fromEntries(new URL(url).searchParams);
    expect(asked).toMatchObject({
      code_challenge_method: "S256",
      resource: world.url,
      scope: "tools:read offline_access",
    });
    expect(new URL(asked["redirect_uri"] ?? "").hostname).toBe("127.0.0.1");
    const files = readdirSync(join(folder.path, "sign-ins"));
    expect(files.map((name) => statSync(join(folder.path, "sign-ins", name)).mode & 0o777)).toEqual([0o600]);
    expect(statSync(join(folder.path, "sign-ins")).mode & 0o777).toBe(0o700);
    const { tokens } = JSON.parse(folder.text());
    expect(rig.logged.join("\n")).not.toContain(tokens.accessToken);
  });

  test("is signed in to anew with the client that was registered before", async () => {
    await using world = await createOAuthWorld();
    using folder = createFolder();

    await signIn(world, folder.path);
    await signIn(world, folder.path);

    expect(world.asked.filter((request) => request === "POST /reg").length).toBe(1);
  });

  test("is signed in to with the client of its definition", async () => {
    await using world = await createOAuthWorld();
    using folder = createFolder();
    const probe = Bun.serve({ port: 0, fetch: () => new Response() });
    const callbackPort = probe.port ?? 0;
    await probe.stop(true);
    const registered = await fetch(`${world.issuer}/reg`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        redirect_uris: [`http://localhost:${callbackPort}/callback`],
        application_type: "native",
        grant_types: ["authorization_code", "refresh_token"],
      }),
    });
    const { client_id: clientId, client_secret: clientSecret } = (await registered.json()) as Record<
      string,
      string
    >;
    const oauth = { clientId, clientSecret, callbackPort, scopes: ["tools:read"] } as RemoteServer["oauth"];
    await using rig = createRig([remote("web", world.url, { oauth })], { dataDir: folder.path });

    await signIn(world, folder.path, { oauth });
    expect(await add(rig)).toEqual(SUM);
    world.revokeTokens();
    expect(await add(rig)).toEqual(SUM);

    expect(world.asked.filter((request) => request === "POST /reg").length).toBe(1);
    expect(folder.text()).not.toContain(clientSecret ?? "none");
  });

  test("is called with more rights after another sign-in", async () => {
    await using world = await createOAuthWorld();
    using folder = createFolder();
    await signIn(world, folder.path);
    await using rig = createRig([remote("web", world.url)], { dataDir: folder.path });
    await add(rig);
    world.wants = "tools:read tools:write";

    expect(await faultOf(add(rig))).toEqual({
      ...NEEDED,
      message: 'server "web" needs a sign-in with more rights: "tools:read tools:write"',
    });
    const [url = ""] = await signIn(world, folder.path);

    expect(new URL(url).searchParams.get("scope")?.split(" ").sort()).toEqual([
      "offline_access",
      "tools:read",
      "tools:write",
    ]);
    await until(async () => (await add(rig).catch(() => undefined)) !== undefined);
  });

  test.each([
    ["off", { oauth: "off" as const }, "Its definition forbids a sign-in by OAuth. "],
    [
      "a header",
      { headers: { Authorization: "Bearer wrong-token" } },
      "It does not accept the authorization that its definition gives. ",
    ],
  ])("is not signed in to against its definition: %s", async (_case, settings, hint) => {
    await using world = await createOAuthWorld();
    using folder = createFolder();
    await signIn(world, folder.path);
    await using rig = createRig([remote("web", world.url, settings)], { dataDir: folder.path });

    expect(await faultOf(add(rig))).toEqual({
      code: "UPSTREAM_UNAUTHORIZED",
      message: 'server "web" needs a sign-in (HTTP 401)',
      hint: `${hint}Correct its definition "web" in ~/MCPs/all.json.`,
    });
    expect(await faultOf(signIn(world, folder.path, settings))).toMatchObject({
      code: "UPSTREAM_NOT_USABLE",
    });
  });
});

test("signing out ends the tokens at the authorization server as well", async () => {
  await using world = await createOAuthWorld();
  using folder = createFolder();
  await signIn(world, folder.path);
  const { accessToken } = JSON.parse(folder.text()).tokens;
  const ask = () => fetch(world.url, { headers: { authorization: `Bearer ${accessToken}` } });
  expect((await ask()).status).not.toBe(401);

  expect(await createSignIns({ dataDir: folder.path }).signOut(remote("web", world.url))).toBe(true);

  expect((await ask()).status).toBe(401);
  expect(readdirSync(join(folder.path, "sign-ins"))).toEqual([]);
});

test("a server that needs none leaves no trace of sign-ins", async () => {
  await using server = serveSessions();
  using folder = createFolder();
  await using rig = createRig([remote("web", server.url)], { dataDir: folder.path });

  expect(await add(rig)).toEqual(SUM);
  expect(readdirSync(folder.path)).toEqual([]);
});

test("a sign-in that cannot be read counts as none", async () => {
  await using world = await createOAuthWorld();
  using folder = createFolder();
  await signIn(world, folder.path);
  const [name = ""] = readdirSync(join(folder.path, "sign-ins"));
  writeFileSync(join(folder.path, "sign-ins", name), folder.text().slice(0, 100));
  await using rig = createRig([remote("web", world.url)], { dataDir: folder.path });

  expect(await faultOf(add(rig))).toEqual(NEEDED);
  await signIn(world, folder.path);
  await until(async () => (await add(rig).catch(() => undefined)) !== undefined);
});

describe("a sign-in to a hostile server", () => {
  const metadata = (issuer: string, more: object) => ({
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/reg`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    ...more,
  });

  test.each<[string, (origin: string) => { issuer?: string; more?: object; large?: boolean }]>([
    ["goes to no address of a network", () => ({ issuer: "https://169.254.169.254" })],
    ["goes to no plain address elsewhere", () => ({ issuer: "http://login.example" })],
    ["reads no endless metadata", () => ({ large: true })],
    ["opens no script", () => ({ more: { authorization_endpoint: "javascript:alert(1)" } })],
    ["opens no file", () => ({ more: { authorization_endpoint: "file:///etc/passwd" } })],
    ["opens no plain page elsewhere", () => ({ more: { authorization_endpoint: "http://login.example/" } })],
    ["takes no other issuer", () => ({ more: { issuer: "https://other.example" } })],
    ["registers nowhere else", () => ({ more: { registration_endpoint: "http://10.0.0.1/reg" } })],
    ["does not go without PKCE", () => ({ more: { code_challenge_methods_supported: ["plain"] } })],
  ])("%s", async (_case, lie) => {
    using folder = createFolder();
    await using server = serveHttp((request) => {
      const { origin, pathname } = new URL(request.url);
      const { issuer = origin, more = {}, large = false } = lie(origin);
      if (pathname.startsWith("/.well-known/oauth-protected-resource")) {
        return Response.json({ resource: `${origin}/mcp`, authorization_servers: [issuer] });
      }
      if (pathname.startsWith("/.well-known/")) {
        return large ? new Response("x".repeat(2 ** 22)) : Response.json(metadata(issuer, more));
      }
      if (pathname === "/reg") return Response.json({ client_id: "c", redirect_uris: [] }, { status: 201 });
      return new Response(null, { status: 401 });
    });
    const presented: string[] = [];
    const signingIn = createSignIns({ dataDir: folder.path }).signIn(remote("web", server.url), {
      signal: soon(),
      present: async (url) => void presented.push(url),
    });

    const { code, message } = await faultOf(signingIn);

    expect(code).toBe("UPSTREAM_UNAUTHORIZED");
    expect(message).toStartWith('the sign-in to server "web" failed: ');
    expect(presented).toEqual([]);
  });
});

/** A small disk in place of a folder. */
function mountSmall(path: string): Disposable & { fill(): void } {
  const args = ["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", path];
  if (Bun.spawnSync(["mount", ...args], { stderr: "ignore" }).exitCode !== 0)
    throw new Error("cannot mount a tmpfs");
  return {
    fill() {
      expect(() => {
        for (;;) appendFileSync(join(path, "filler"), Buffer.alloc(4096));
      }).toThrow("ENOSPC");
    },
    [Symbol.dispose]: () => void Bun.spawnSync(["umount", "-l", path]),
  };
}

const canMount = (() => {
  if (process.getuid?.() !== 0 || process.platform !== "linux") return false;
  using folder = createFolder();
  try {
    mountSmall(folder.path)[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
})();
if (!canMount) process.stderr.write("not run: a full disk, since only root can mount one\n");

describe("a token that the server refuses", () => {
  const refreshes = (world: OAuthWorld) =>
    world.asked.filter((request) => request === "POST /token").length - 1;

  test("is refreshed once, for many callers in several bridges", async () => {
    await using world = await createOAuthWorld();
    using folder = createFolder();
    await signIn(world, folder.path);
    const definitions = [remote("web", world.url)];
    await using one = createRig(definitions, { dataDir: folder.path });
    await using other = createRig(definitions, { dataDir: folder.path });
    const script = join(import.meta.dir, "../../fixtures/servers/signed-in-bridge.ts");
    const third = Bun.spawn([process.execPath, script, world.url, folder.path], {
      stdout: "pipe",
      stdin: "pipe",
    });
    await Promise.all([add(one), add(other)]);
    const lines = third.stdout.pipeThrough(new TextDecoderStream()).getReader();
    expect((await lines.read()).value).toBe("ready\n");
    world.revokeTokens();

    third.stdin.write("go\n");
    third.stdin.flush();
    const results = await Promise.all([one, other, one, other, one, other].map(add));

    expect(results).toEqual(Array(6).fill(SUM));
    expect((await lines.read()).value).toBe("3 3 3\n");
    expect(await third.exited).toBe(0);
    expect(refreshes(world)).toBe(1);
    expect(readdirSync(join(folder.path, "sign-ins")).length).toBe(1);
  });

  test("is refreshed before its end", async () => {
    await using world = await createOAuthWorld({ tokenSeconds: 2 });
    using folder = createFolder();
    await signIn(world, folder.path);
    await using rig = createRig([remote("web", world.url)], { dataDir: folder.path });
    await add(rig);
    const { renewAt } = JSON.parse(folder.text()).tokens;
    await until(async () => Date.now() > renewAt);

    expect(await add(rig)).toEqual(SUM);
    expect(refreshes(world)).toBe(1);
  });

  test("and cannot be refreshed asks for a sign-in, until there is one", async () => {
    await using world = await createOAuthWorld();
    using folder = createFolder();
    await signIn(world, folder.path);
    await using rig = createRig([remote("web", world.url)], { dataDir: folder.path });
    await add(rig);
    world.refusesRefresh = true;
    world.revokeTokens();
    const signIns = createSignIns({ dataDir: folder.path });

    expect(await faultOf(add(rig))).toEqual(NEEDED);
    expect(await signIns.state(remote("web", world.url))).toEqual({ kind: "needed" });
    world.refusesRefresh = false;
    await signIn(world, folder.path);

    await until(async () => (await add(rig).catch(() => undefined)) !== undefined);
    expect(await signIns.state(remote("web", world.url))).toMatchObject({
      kind: "signed-in",
      canRenew: true,
    });
    expect(await signIns.signOut(remote("web", world.url))).toBe(true);
    expect(await signIns.state(remote("web", world.url))).toEqual({ kind: "none" });
    expect(await signIns.signOut(remote("web", world.url))).toBe(false);
  });

  test.skipIf(!canMount)(
    "HOST-9: is refreshed on a full disk too, and what was issued counts on",
    async () => {
      await using world = await createOAuthWorld();
      using folder = createFolder();
      using disk = mountSmall(folder.path);
      await signIn(world, folder.path);
      await using rig = createRig([remote("web", world.url)], { dataDir: folder.path });
      await add(rig);
      const kept = folder.text();
      disk.fill();
      world.revokeTokens();

      expect([await add(rig), await add(rig)]).toEqual([SUM, SUM]);
      expect([refreshes(world), folder.text()]).toEqual([1, kept]);
      expect(readdirSync(join(folder.path, "sign-ins"))).toHaveLength(1);
    },
  );

  test("is kept when the authorization server is away", async () => {
    using folder = createFolder();
    let text = "";
    {
      await using world = await createOAuthWorld();
      await signIn(world, folder.path);
      text = folder.text();
    }
    await using server = serveHttp(() => new Response(null, { status: 401 }));
    const { server: url } = JSON.parse(text);
    const name = readdirSync(join(folder.path, "sign-ins"))[0] ?? "";
    const moved = createHash("sha256").update(server.url).digest("hex").slice(0, 32);
    writeFileSync(join(folder.path, "sign-ins", `${moved}.json`), text.replaceAll(url, server.url));
    rmSync(join(folder.path, "sign-ins", name));
    await using rig = createRig([remote("web", server.url)], { dataDir: folder.path });

    const fault = await faultOf(add(rig));

    expect(fault.code).toBe("UPSTREAM_FAILED");
    expect(fault.message).toStartWith('the sign-in to server "web" could not be renewed: ');
    expect(folder.text()).toContain("refreshToken");
  });
});
