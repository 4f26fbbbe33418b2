import { connect } from "node:net";
import { connectHttp } from "../../test/e2e/helpers/session-clients.ts";
import type { Random } from "../fuzz-programs/random.ts";
import type { Tally } from "./tally.ts";

const MAX_PAUSE_MS = 3000;
const MAX_STAY_MS = 1500;

/** Clients that speak slowly or not at all, or ask for much, and are gone without a word, one every second or so. */
export async function comeAndGo(
  url: URL,
  token: string,
  random: Random,
  tally: Tally,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    await Bun.sleep(random.below(MAX_PAUSE_MS));
    const stayMs = random.below(MAX_STAY_MS);
    if (random.once(4)) await leaveRun(url, token, stayMs);
    else await leaveRequest(url, token, stayMs, random);
    tally.killed("client");
  }
}

/** Half a request, or nothing at all. */
async function leaveRequest(url: URL, token: string, stayMs: number, random: Random): Promise<void> {
  const socket = connect(Number(url.port), url.hostname);
  socket.on("error", () => undefined); // the server may be the first to go
  const head = `POST ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"jsonrpc":"2.0","id":1,`;
  socket.write(head.slice(0, random.below(head.length + 1)));
  await Bun.sleep(stayMs);
  socket.destroy();
}

/** A run that nobody waits for any more. */
async function leaveRun(url: URL, token: string, stayMs: number): Promise<void> {
  try {
    const client = await connectHttp(url, token, "v2");
    client.run("import asyncio\nawait asyncio.sleep(60)").catch(() => undefined); // it is we who leave
    await Bun.sleep(stayMs);
    await client[Symbol.asyncDispose]();
  } catch {
    // the limit of sessions may be reached: those of others before it are still remembered
  }
}
