/** More connections than there are descriptors, by somebody who has no token. */
import { expect, test } from "bun:test";
import { openCrowd, STALLS } from "../../helpers/raw-clients.ts";
import { peakMib } from "../helpers/attack.ts";
import { until } from "../helpers/engine.ts";
import { createHome } from "../helpers/home.ts";
import { startServed } from "../helpers/served.ts";
import { connectHttp } from "../helpers/session-clients.ts";

const TOKEN = "ada-0123456789abcdef";
const OPEN_FILES = 1024;
const CEILING_MIB = 300e6 / 1024 ** 2;
/** Of 1,024 descriptors, what one address gets: docs/http.md says how it comes to that. */
const SHARE = 85;
const acts = Object.values(STALLS);

test.if(process.platform === "linux")(
  "CLI-20: 1,500 connections that are idle, slow or half closed keep nobody else waiting",
  async () => {
    using home = createHome();
    await using served = await startServed(home, [], { MCP_BRIDGE_HTTP_TOKEN: TOKEN }, { n: OPEN_FILES });
    await using before = await connectHttp(served.url, TOKEN, "v1");
    await before.run("kept = 1");
    const startedAt = performance.now();
    using crowd = openCrowd(Number(served.url.port), 1500, (socket, n) => acts[n % acts.length]?.(socket));
    await until("the surplus to be cut", () => crowd.cut >= 1500 - SHARE, 20_000);
    await using client = await connectHttp(served.url, TOKEN, "v1");
    expect((await before.run("kept + 1")).text).toBe("2");
    expect(performance.now() - startedAt).toBeLessThan(9000); // who says nothing is cut after 10 s in any case
    expect((await client.run("6 * 7")).text).toMatch(/^42\b/); // and the note of a rootless engine
    expect(served.stderr().match(/too many connections/g)).toHaveLength(1);
    expect(served.stderr()).toContain(`from=127.0.0.2`);
    expect(peakMib(served.child.pid)).toBeLessThan(CEILING_MIB);
  },
  60_000,
);
