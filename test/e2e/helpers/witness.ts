import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createHome, type TestHome } from "./home.ts";

/** A home whose servers leave traces when they are started or contacted. */
export interface Witness extends AsyncDisposable {
  readonly home: TestHome;
  /** An entry that writes a file when it is started, and is no MCP server beyond that. */
  stdio(name: string, more?: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /** An entry for the listener. */
  http(more?: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  wasStarted(name: string): boolean;
  /** Connections to the listener so far. */
  connections(): number;
}

export async function createWitness(): Promise<Witness> {
  const home = createHome();
  let count = 0;
  const listener = createServer((_request, response) => response.writeHead(500).end());
  listener.on("connection", () => count++);
  const listening = Promise.withResolvers<void>();
  listener.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  const { port } = listener.address() as AddressInfo;
  const marker = (name: string) => join(home.path, `started-${name}`);
  return {
    home,
    stdio: (name, more = {}) => ({ command: "/bin/sh", args: ["-c", `echo > '${marker(name)}'`], ...more }),
    http: (more = {}) => ({ type: "http", url: `http://127.0.0.1:${port}/mcp`, ...more }),
    wasStarted: (name) => existsSync(marker(name)),
    connections: () => count,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>();
      listener.close(() => closed.resolve());
      listener.closeAllConnections();
      await closed.promise;
      home[Symbol.dispose]();
    },
  };
}
