import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { Lane } from "../../../../src/mcp/http/gate/lane.ts";
import { until } from "../../../helpers/until.ts";

const COUNT = 10_000;

const countArrays = () => {
  Bun.gc(true);
  return heapStats().objectTypeCounts["Uint8Array"] ?? 0;
};

test("CLI-20: a head that comes byte by byte takes little more than its bytes", async () => {
  let lane: Lane | undefined;
  const listener = Bun.listen<Lane>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: (socket) => {
        lane = new Lane("somebody", socket, () => undefined);
      },
      data: () => undefined,
    },
  });
  const client = connect(listener.port, "127.0.0.1");
  await until("the connection", () => lane !== undefined);
  const before = countArrays();
  for (let n = 0; n < COUNT; n += 1) lane?.fromClient(new Uint8Array(1));
  expect(countArrays() - before).toBeLessThan(COUNT / 10);
  client.destroy();
  listener.stop(true);
});
