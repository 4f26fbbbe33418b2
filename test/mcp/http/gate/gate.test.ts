import { describe, expect, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import { createHttpApp } from "../../../../src/mcp/http/http-app.ts";
import { listen } from "../../../../src/mcp/http/listen.ts";
import { ALICE, type HttpWorld, openSession, startHttpWorld } from "../../../helpers/http-world.ts";
import { createMemoryLog } from "../../../helpers/logs.ts";
import { openCrowd, STALLS } from "../../../helpers/raw-clients.ts";
import { until } from "../../../helpers/until.ts";

const LIMITS = { total: 60, perAddress: 30 };
const FLOOD = 300;
/** Less than the 10 s after which what says nothing is cut anyhow. */
const PROMPT_MS = 5000;
const onLinux = test.if(process.platform === "linux"); // elsewhere 127.0.0.2 is nobody's
const PING_BODY = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const PING = [
  "POST /mcp HTTP/1.1",
  "Host: localhost",
  `Authorization: Bearer ${ALICE}`,
  "Content-Type: application/json",
  "Accept: application/json, text/event-stream",
  `Content-Length: ${PING_BODY.length}`,
].join("\r\n");

const ask = (name: string) => `GET /through?${name} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;

/** As `/proc/net/tcp` writes them. */
const STATES = { listening: "0A", connected: "01" };

const warningsOf = ({ log }: HttpWorld) =>
  log.lines.filter((line) => line.includes("too many connections")).length;

async function isServedPromptly(world: HttpWorld): Promise<boolean> {
  const startedAt = performance.now();
  for (let n = 0; n < 3; n++) await openSession(world);
  return performance.now() - startedAt < PROMPT_MS;
}

describe("CLI-20: a flood of connections from one address", () => {
  onLinux.each(Object.entries(STALLS))(
    "of which each %s is cut to its share, and others are served meanwhile",
    async (_, act) => {
      await using world = startHttpWorld({ connections: LIMITS });
      using crowd = openCrowd(world.port, FLOOD, act);
      await until("its surplus to be cut", () => crowd.cut >= FLOOD - LIMITS.perAddress);
      expect(await isServedPromptly(world)).toBe(true);
      expect(crowd.connected).toBe(FLOOD);
      expect(warningsOf(world)).toBe(1);
      expect(world.log.lines.join()).toContain("from=127.0.0.2");
    },
    20_000,
  );

  onLinux("leaves room for somebody of the same address who asks for something", async () => {
    await using world = startHttpWorld({ connections: LIMITS });
    using crowd = openCrowd(world.port, FLOOD, STALLS["sends a byte now and then"], "127.0.0.1");
    await until("its surplus to be cut", () => crowd.cut >= FLOOD - LIMITS.perAddress);
    expect(await isServedPromptly(world)).toBe(true);
  });

  onLinux.each([
    ["has no token is answered and closed", "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", "401", FLOOD],
    ["was answered keeps its share", `${PING}\r\n\r\n${PING_BODY}`, "400", FLOOD - LIMITS.perAddress],
  ])("of which each %s, and others are served meanwhile", async (_, request, status, cut) => {
    await using world = startHttpWorld({ connections: LIMITS });
    using crowd = openCrowd(world.port, FLOOD, (socket) => void socket.write(request));
    await until("its surplus to be cut", () => crowd.cut >= cut);
    expect(await isServedPromptly(world)).toBe(true);
    expect(crowd.answers.length).toBeGreaterThan(0);
    expect(crowd.answers.filter((answer) => !answer.startsWith(`HTTP/1.1 ${status} `))).toEqual([]);
  });

  onLinux("and of many takes the place of those who waited longest", async () => {
    await using world = startHttpWorld({ connections: LIMITS });
    const crowds = ["127.0.0.2", "127.0.0.3", "127.0.0.4"].map((address) =>
      openCrowd(world.port, LIMITS.perAddress, STALLS["says nothing"], address),
    );
    const cut = () => crowds.reduce((sum, crowd) => sum + crowd.cut, 0);
    await until("the surplus of all to be cut", () => cut() >= LIMITS.perAddress);
    expect(await isServedPromptly(world)).toBe(true);
    for (const crowd of crowds) crowd[Symbol.dispose]();
  });
});

onLinux("the port behind the gate serves nobody else, not even from a port of ours", async () => {
  await using world = startHttpWorld();
  const behind = ownTcp("listening").find(({ local }) => local !== world.port)?.local ?? 0;
  const client = connect(world.port, "127.0.0.1");
  client.write(ask("one"));
  await until("the connection behind", () => ownTcp("connected").some(({ remote }) => remote === behind));
  const ours = ownTcp("connected").find(({ remote }) => remote === behind)?.local ?? 0;
  const froms = [{}, { localAddress: "127.0.0.2", localPort: ours }];
  for (const from of froms) {
    const stranger = connect({ port: behind, host: "127.0.0.1", ...from });
    let heard = "";
    stranger.setEncoding("latin1").on("data", (text) => {
      heard += text;
    });
    stranger.write(ask("two"));
    await until("an answer", () => heard.includes("this port is not for clients"));
    expect(heard).toStartWith("HTTP/1.1 403 ");
    stranger.destroy();
  }
  client.destroy();
});

describe("what goes through the gate", () => {
  const log = createMemoryLog();
  const sha = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  const large = randomBytes(20_000_000);
  const behindIt = (handle: (request: Request, peer: string | undefined) => Promise<Response>) => {
    const app = createHttpApp({
      path: "/mcp",
      endpoint: { handle: async () => new Response() },
      authenticator: {
        isRequired: false,
        identify: () => Promise.reject(),
        authenticate: () => Promise.reject(),
      },
      hosts: { hosts: ["127.0.0.1"], origins: [] },
      routes: [(app) => void app.all("/through", (c) => handle(c.req.raw, c.env.peer))],
      isDraining: () => false,
      log,
    });
    return listen({ app, host: "127.0.0.1", port: 0, log });
  };

  test("arrives whole when it is large, both ways, though one side is slow", async () => {
    const listening = behindIt(async (request) => {
      const hash = createHash("sha256");
      for await (const piece of request.body ?? []) {
        hash.update(piece);
        await Bun.sleep(0);
      }
      return new Response(large, { headers: { "x-hash": hash.digest("hex") } });
    });
    const answer = await fetch(`http://127.0.0.1:${listening.port}/through`, { method: "POST", body: large });
    expect(answer.headers.get("x-hash")).toBe(sha(large));
    const got: Uint8Array[] = [];
    for await (const piece of answer.body ?? []) {
      got.push(piece);
      await Bun.sleep(0);
    }
    expect(sha(Buffer.concat(got))).toBe(sha(large));
    await listening.close();
  }, 30_000);

  onLinux("is told from which address its client is", async () => {
    const listening = behindIt(async (_request, peer) => new Response(`from ${peer};`));
    const said = async (localAddress: string) => {
      const socket = connect({ port: listening.port, host: "127.0.0.1", localAddress });
      socket.write(ask("address"));
      let text = "";
      for await (const piece of socket) {
        text += piece;
        const address = /from (\S+);/.exec(text)?.[1];
        if (address !== undefined) return address;
      }
      return text;
    };
    expect([await said("127.0.0.1"), await said("127.0.0.2")]).toEqual(["127.0.0.1", "127.0.0.2"]);
    await listening.close();
  });

  test("is told that the client has left, and the server behind is let go", async () => {
    const seen: string[] = [];
    const listening = behindIt(async ({ signal }) => {
      seen.push("asked");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      seen.push("left");
      return new Response();
    });
    const socket = connect(listening.port, "127.0.0.1");
    socket.write(ask("leaving"));
    await until("the request", () => seen.includes("asked"));
    socket.destroy();
    await until("the abort", () => seen.includes("left"));
    await listening.close();
  });

  test("in many pieces is one request, and several on one connection are answered in order", async () => {
    const listening = behindIt(async (request) => new Response(new URL(request.url).search));
    const socket = connect(listening.port, "127.0.0.1");
    let heard = "";
    socket.setEncoding("latin1").on("data", (text) => {
      heard += text;
    });
    for (const piece of ask("one")) {
      socket.write(piece);
      await Bun.sleep(0);
    }
    socket.write(ask("two") + ask("three"));
    await until("three answers", () => /\?one.*\?two.*\?three/s.test(heard));
    socket.destroy();
    await listening.close();
  });
});

/** The ports of the TCP sockets of this process. */
function ownTcp(which: "listening" | "connected"): { readonly local: number; readonly remote: number }[] {
  const inodes = new Set(
    readdirSync("/proc/self/fd").flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1] ?? [];
      } catch {
        return []; // the one that read the folder
      }
    }),
  );
  const portOf = (address = "") => Number.parseInt(address.split(":")[1] ?? "", 16);
  return readFileSync("/proc/self/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(({ 3: state, 9: inode = "" }) => state === STATES[which] && inodes.has(inode))
    .map(({ 1: local, 2: remote }) => ({ local: portOf(local), remote: portOf(remote) }));
}
