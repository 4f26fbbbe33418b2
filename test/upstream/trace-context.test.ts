import { expect, test } from "bun:test";
import { withinRun } from "../../src/core/run-context.ts";
import { serveBothEras, serveSessions } from "../helpers/http-servers.ts";
import { createRig, remote, soon } from "./harness.ts";

const TRACE = {
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  tracestate: "vendor=1",
};

test.each([
  ["older", serveSessions],
  ["newest", serveBothEras],
] as const)(
  "a call of a server of the %s revision by URL names its trace, and no other request does",
  async (_which, serve) => {
    await using server = serve();
    await using rig = createRig([remote("web", server.url)]);
    const call = () =>
      rig.upstream.callTool(
        { server: "web", tool: serve === serveBothEras ? "era" : "add", arguments: { a: 1, b: 2 } },
        soon(),
      );

    await withinRun({ trace: TRACE }, call); // starts the server as well
    await call();

    const told = server.seen.map(({ rpc, headers }) => [
      rpc,
      headers.get("traceparent"),
      headers.get("tracestate"),
    ]);
    const calls = told.filter(([rpc]) => rpc === "tools/call");
    expect(calls).toEqual([
      ["tools/call", TRACE.traceparent, TRACE.tracestate],
      ["tools/call", null, null],
    ]);
    expect(told.filter(([rpc, parent]) => rpc !== "tools/call" && parent !== null)).toEqual([]);
  },
);
