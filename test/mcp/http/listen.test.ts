import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import type { BridgeError } from "../../../src/core/errors.ts";
import { createHttpApp } from "../../../src/mcp/http/http-app.ts";
import { listen } from "../../../src/mcp/http/listen.ts";
import { ALICE, eventsOf, openSession, startHttpWorld } from "../../helpers/http-world.ts";
import { createMemoryLog } from "../../helpers/logs.ts";
import { until } from "../../helpers/until.ts";

const HEAD = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ALICE}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n`;
const MIB = 1 << 20;

/** A socket that says what a test wants, and keeps what comes back. */
class RawClient {
  heard = "";
  isOver = false;
  readonly socket: Socket;

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.socket.setEncoding("latin1").on("data", (text) => {
      this.heard += text;
    });
    for (const event of ["error", "end", "close"]) {
      this.socket.on(event, () => {
        this.isOver = true;
        this.socket.destroy();
      });
    }
  }

  get status(): string {
    return /^HTTP\/1\.1 (\d+)/.exec(this.heard)?.[1] ?? "";
  }

  /** What was answered when the connection was over. */
  async end(): Promise<string> {
    await until("the end of the connection", () => this.isOver);
    return this.status;
  }
}

async function say(port: number, text: string | Uint8Array): Promise<string> {
  const client = new RawClient(port);
  client.socket.write(text);
  return client.end();
}

/** Others are served while one behaves badly. */
async function isServing(world: ReturnType<typeof startHttpWorld>): Promise<boolean> {
  const startedAt = performance.now();
  await openSession(world);
  return performance.now() - startedAt < 1000;
}

describe("CLI-15: malformed requests", () => {
  test.each([
    ["no host", "GET /mcp HTTP/1.1\r\nConnection: close\r\n\r\n", "400"],
    ["no host, as long ago", "GET /mcp HTTP/1.0\r\n\r\n", "403"],
    [
      "two hosts",
      "GET /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      "403",
    ],
    ["an empty host", "GET /mcp HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n", "403"],
    [
      "another host in the target",
      "GET http://evil.com/mcp HTTP/1.1\r\nHost: evil.com\r\nConnection: close\r\n\r\n",
      "403",
    ],
    ["a length in words", `${HEAD}Content-Length: abc\r\n\r\n{}`, "400"],
    ["a length below nothing", `${HEAD}Content-Length: -5\r\n\r\n{}`, "400"],
    ["two lengths", `${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, "400"],
    [
      "a length and pieces",
      `${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      "400",
    ],
    ["a length that is too long", `${HEAD}Content-Length: ${40 * MIB}\r\n\r\n{}`, "413"],
    ["a length beyond numbers", `${HEAD}Content-Length: 99999999999999999999999\r\n\r\n{}`, "400"],
    ["pieces of no length", `${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`, "400"],
    ["no HTTP", "\x00\x01\x02hello\r\n\r\n", "400"],
    ["TLS", new Uint8Array([0x16, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3, 13, 10, 13, 10]), "400"],
    [
      "headers without end",
      `GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: ${"y".repeat(100_000)}\r\n\r\n`,
      "431",
    ],
  ] as const)("%s", async (_, text, status) => {
    await using world = startHttpWorld();
    expect(await say(world.port, text)).toBe(status);
    expect(world.connections).toEqual([]);
    expect(await isServing(world)).toBe(true);
  });

  test("a body in pieces that is too long is not kept", async () => {
    await using world = startHttpWorld();
    const client = new RawClient(world.port);
    client.socket.write(`${HEAD}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const piece = `${MIB.toString(16)}\r\n${" ".repeat(MIB)}\r\n`;
    for (let n = 0; n < 40 && !client.isOver; n++) client.socket.write(piece);
    expect(await client.end()).toBe("413");
    expect(await isServing(world)).toBe(true);
  }, 20_000);
});

describe("connections that stall", () => {
  test("CLI-15: are cut, and others are served meanwhile", async () => {
    await using world = startHttpWorld({ idleSeconds: 2 });
    const silent = Array.from({ length: 500 }, () => new RawClient(world.port));
    const slowHead = new RawClient(world.port);
    slowHead.socket.write("GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: ");
    const slowBody = new RawClient(world.port);
    slowBody.socket.write(`${HEAD}Content-Length: 5000\r\n\r\n{`);
    const drip = setInterval(() => {
      for (const { socket } of [slowHead, slowBody]) if (!socket.destroyed) socket.write("y");
    }, 200);
    const halfOpen = new RawClient(world.port);
    halfOpen.socket.end(`${HEAD}Content-Length: 5000\r\n\r\n{`);
    expect(await isServing(world)).toBe(true);
    await until(
      "all of them to be cut",
      () => [...silent, slowHead, slowBody, halfOpen].every(({ isOver }) => isOver),
      30_000,
    );
    clearInterval(drip);
    expect(world.connections).toEqual([]);
    expect(await isServing(world)).toBe(true);
  }, 40_000);
});

describe("a connection", () => {
  test("is cut some time after an answer that took long", async () => {
    await using world = startHttpWorld({ idleSeconds: 1 });
    const client = new RawClient(world.port);
    client.socket.write(`${HEAD}Content-Length: 2\r\n\r\n{}`);
    await until("an answer", () => client.status === "400");
    await client.end();
  });
});

describe("CLI-14: a call that is quiet for longer than a connection may be", () => {
  const call = { name: "run_python", arguments: { code: "wait 6000\nvalue done" } };

  test.each([
    ["as a stream", {}],
    [
      "as JSON",
      {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
      },
    ],
  ])(
    "is answered %s",
    async (_, meta) => {
      await using world = startHttpWorld({ idleSeconds: 1 });
      const isModern = Object.keys(meta).length > 0;
      const session = isModern ? undefined : await openSession(world);
      const headers: Record<string, string> = isModern
        ? { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "run_python" }
        : {};
      const answer = await world.post(
        { id: 1, method: "tools/call", params: { _meta: meta, ...call } },
        session,
        headers,
      );
      const text = isModern ? await answer.text() : JSON.stringify(await Array.fromAsync(eventsOf(answer)));
      expect(text).toContain("done");
    },
    20_000,
  );
});

describe("listening", () => {
  const log = createMemoryLog();
  const app = createHttpApp({
    path: "/mcp",
    endpoint: { handle: async () => new Response() },
    authenticator: {
      isRequired: false,
      identify: () => Promise.reject(),
      authenticate: () => Promise.reject(),
    },
    hosts: { hosts: [], origins: [] },
    routes: [],
    isDraining: () => false,
    log,
  });
  const faultOf = (host: string, port: number): BridgeError => {
    try {
      void listen({ app, host, port, log }).close();
    } catch (error) {
      return error as BridgeError;
    }
    throw new Error("it listens");
  };

  test("fails with the next step where the port is taken", async () => {
    const first = listen({ app, host: "127.0.0.1", port: 0, log });
    const { code, message, hint } = faultOf("127.0.0.1", first.port);
    await first.close();
    expect([code, message]).toEqual([
      "HTTP_LISTEN_FAILED",
      `the port of 127.0.0.1:${first.port} is in use already`,
    ]);
    expect(hint).toContain("--port");
  });

  test.each([["192.0.2.1"], ["no.such.name.invalid"]])(
    "fails on an address that is not of this machine: %s",
    (host) => {
      expect(faultOf(host, 0)).toMatchObject({
        code: "HTTP_LISTEN_FAILED",
        hint: "Choose another by --host and --port.",
      });
    },
  );
});
