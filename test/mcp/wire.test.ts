import { describe, expect, test } from "bun:test";
import { patient } from "../helpers/patient.ts";
import { call, INITIALIZE, RawServer, request, textOf } from "../helpers/raw-server.ts";
import { until } from "../helpers/until.ts";

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))));

describe("a line that holds no message", () => {
  test.each<[string, string | Uint8Array, number, unknown]>([
    ["garbage", "garbage\n", PARSE_ERROR, null],
    ["a message cut short", '{"jsonrpc":"2.0","id":1,\n', PARSE_ERROR, null],
    ["bytes that are not UTF-8", bytes([0xff, 0xfe, 0x0a]), PARSE_ERROR, null],
    ["an array", `[${request(1, "ping").trim()}]\n`, INVALID_REQUEST, null],
    ["an empty array", "[]\n", INVALID_REQUEST, null],
    ["a number", "5\n", INVALID_REQUEST, null],
    ["null", "null\n", INVALID_REQUEST, null],
    ["an object without a method", '{"jsonrpc":"2.0","id":"a"}\n', INVALID_REQUEST, "a"],
    ["a method that is no text", '{"jsonrpc":"2.0","id":"a","method":5}\n', INVALID_REQUEST, "a"],
    ["another version", '{"jsonrpc":"1.0","id":"a","method":"ping"}\n', INVALID_REQUEST, "a"],
    ["an id of null", request(null, "ping"), INVALID_REQUEST, null],
    ["a fraction for an id", request(1.5, "ping"), INVALID_REQUEST, 1.5],
    ["an object for an id", request({}, "ping"), INVALID_REQUEST, null],
    [
      "an id that no number holds",
      '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}\n',
      INVALID_REQUEST,
      null,
    ],
    ["an unknown method", request("x", "no/such"), NOT_FOUND, "x"],
    [
      "params that are a list",
      '{"jsonrpc":"2.0","id":"p","method":"ping","params":[1]}\n',
      INVALID_PARAMS,
      "p",
    ],
    ["an unknown tool", request("t", "tools/call", { name: "nope" }), INVALID_PARAMS, "t"],
    [
      "NaN, which is not JSON",
      '{"jsonrpc":"2.0","id":"n","method":"ping","params":{"a":NaN}}\n',
      PARSE_ERROR,
      "n",
    ],
    ["deep nesting", `${"[".repeat(200_000)}\n`, PARSE_ERROR, null],
  ])("CLI-4: %s gets an error with its code and id, and serving goes on", async (_title, line, code, id) => {
    await using server = await RawServer.connect();
    await server.child.write(line);
    await server.child.write(call("after", "value alive"));
    expect(textOf(await server.reply("after"))).toBe("alive");
    const errors = server.replies.filter((reply) => "error" in reply);
    expect(errors).toMatchObject([{ jsonrpc: "2.0", id, error: { code } }]);
  });

  test("deep nesting inside the arguments is an error of its own", async () => {
    await using server = await RawServer.connect();
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    await server.child.write(call(1, "1").replace('"code":"1"', `"code":"1","servers":${deep}`));
    expect(await server.reply(1)).toHaveProperty("result.isError", true);
    expect(textOf(await server.reply(1))).toContain("nested too deep");
    await server.child.write(call(2, "value alive"));
    expect(textOf(await server.reply(2))).toBe("alive");
  });

  test("longer than 64 MiB is refused without being held", async () => {
    await using server = await RawServer.connect();
    const piece = Buffer.alloc(1 << 20, "x");
    for (let count = 0; count < 65; count++) await server.child.write(piece);
    await server.child.write(`\n${call(2, "value alive")}`);
    expect(textOf(await server.reply(2))).toBe("alive");
    expect(await server.reply(null)).toMatchObject({ error: { code: INVALID_REQUEST } });
  }, 30_000);
});

describe("a line that is unusual", () => {
  test.each([
    ["ends in CRLF", call(2, "value x").replace("\n", "\r\n")],
    ["follows blank lines", `\n \r\n\t\n${call(2, "value x")}`],
    ["starts with a byte order mark", `\ufeff${call(2, "value x")}`],
    ["has members that JSON-RPC does not know", call(2, "value x").replace("{", '{"trace":"abc",')],
    [
      "follows a notification that nobody knows",
      `{"jsonrpc":"2.0","method":"notifications/no"}\n${call(2, "value x")}`,
    ],
    ["follows a response to nothing", `{"jsonrpc":"2.0","id":77,"result":{}}\n${call(2, "value x")}`],
    ["follows a broken response", `{"jsonrpc":"2.0","id":{},"result":5}\n${call(2, "value x")}`],
  ])("is served when it %s", async (_title, lines) => {
    await using server = await RawServer.connect();
    await server.child.write(lines);
    expect(textOf(await server.reply(2))).toBe("x");
    expect(server.replies).toHaveLength(2);
  });

  test("comes in single bytes", async () => {
    await using server = await RawServer.connect();
    for (const byte of Buffer.from(call("é", "value é"))) await server.child.write(Uint8Array.of(byte));
    expect(textOf(await server.reply("é"))).toBe("é");
  });

  test.each(["", "a", " 1", "é😀", 0, -7, 9007199254740991])("has its id %j echoed exactly", async (id) => {
    await using server = await RawServer.connect();
    await server.child.write(call(id, "value x"));
    expect(textOf(await server.reply(id))).toBe("x");
  });

  test("refuses an id that still waits, and runs the first once", async () => {
    await using server = await RawServer.connect();
    await server.child.write(call(5, "print first\nwait 50") + call(5, "print second"));
    await until("both replies", () => server.replies.length === 3);
    expect(server.replies[1]).toMatchObject({ id: 5, error: { code: INVALID_REQUEST } });
    expect(textOf(server.replies[2] ?? {})).toBe("first\n");
  });
});

describe("the end", () => {
  test.each<[string, (server: RawServer) => unknown]>([
    ["stdin ends", (server) => server.child.endInput()],
    ["SIGTERM arrives", (server) => server.child.kill("SIGTERM")],
    ["SIGINT arrives", (server) => server.child.kill("SIGINT")],
  ])("answers what is under way and queued when %s, and exits with 0", async (_title, end) => {
    await using server = await RawServer.connect();
    await server.child.write(call(1, "print a\nwait 300") + call(2, "print b\nwait 50") + request(3, "ping"));
    await server.reply(3); // the calls have arrived
    end(server);
    expect(await server.end()).toBe(0);
    expect(server.replies.map(({ id }) => id)).toEqual(["init", 3, 1, 2]);
    expect(server.replies.slice(2).map(textOf)).toEqual(["a\n", "b\n"]);
  });

  test("takes a last line without its newline", async () => {
    await using server = await RawServer.connect();
    await server.child.write(call(1, "print a").trimEnd());
    server.child.endInput();
    expect(await server.end()).toBe(0);
    expect(textOf(await server.reply(1))).toBe("a\n");
  });

  test("comes at once when nothing is under way", async () => {
    await using server = await RawServer.start();
    const start = performance.now();
    server.child.endInput();
    expect(await server.end()).toBe(0);
    expect(performance.now() - start).toBeLessThan(patient(2000));
    expect(server.replies).toEqual([]);
  });

  test("cancels what takes too long, and its reply says so", async () => {
    await using server = await RawServer.connect();
    await server.child.write(call(1, "print begun\nhold"));
    server.child.endInput();
    const start = performance.now();
    expect(await server.end()).toBe(0);
    expect(performance.now() - start).toBeLessThan(patient(5000));
    expect(textOf(await server.reply(1))).toBe("begun\n[note] Variables were kept.");
    expect(server.replies[1]).toHaveProperty("result.isError", true);
  }, 10_000);

  test("refuses what does not even react to that", async () => {
    await using server = await RawServer.connect();
    await server.child.write(call(1, "ignore 60000"));
    server.child.endInput();
    expect(await server.end()).toBe(0);
    expect(await server.reply(1)).toMatchObject({
      error: { message: "Cancelled: the server is shutting down" },
    });
  }, 10_000);

  test("comes sooner when it is asked for twice", async () => {
    await using server = await RawServer.connect();
    await server.child.write(call(1, "hold") + request(2, "ping"));
    await server.reply(2);
    const start = performance.now();
    server.child.kill("SIGTERM");
    await until("the first signal", () => server.child.stderrText().includes("shutting down"));
    server.child.kill("SIGTERM");
    expect(await server.end()).toBe(0);
    expect(performance.now() - start).toBeLessThan(patient(2000));
    expect(await server.reply(1)).toHaveProperty("result.isError", true);
  });

  test("CLI-1: waits for no reply to a cancelled call, and sends none", async () => {
    await using server = await RawServer.connect();
    const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
    await server.child.write(`${call(1, "hold")}${JSON.stringify(cancel)}\n`);
    server.child.endInput();
    expect(await server.end()).toBe(0);
    expect(server.replies.map(({ id }) => id)).toEqual(["init"]);
  });

  test("does not wait for a subscription of the modern era", async () => {
    await using server = await RawServer.start();
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    await server.child.write(
      request("d", "server/discover", { _meta }) +
        request("s", "subscriptions/listen", { _meta, notifications: { toolsListChanged: true } }) +
        request("c", "tools/call", { _meta, name: "run_python", arguments: { code: "value 1" } }),
    );
    expect(textOf(await server.reply("c"))).toBe("1");
    const start = performance.now();
    server.child.endInput();
    expect(await server.end()).toBe(0);
    expect(performance.now() - start).toBeLessThan(patient(2000));
  });
});

test("a server that opens with garbage still negotiates", async () => {
  await using server = await RawServer.start();
  await server.child.write(`hello?\n${INITIALIZE}`);
  expect(await server.reply("init")).toHaveProperty("result.protocolVersion", "2025-11-25");
});
