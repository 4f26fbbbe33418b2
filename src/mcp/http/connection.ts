import type { Caller } from "../../core/caller.ts";
import type { McpClientPeer } from "../client-peer.ts";
import type { PythonRunner } from "../python-runner.ts";

/** One client, as the rest of the house serves it. */
export interface Connection {
  readonly runner: PythonRunner;
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly caller: Caller;
  readonly peer: McpClientPeer;
  /** Whether the connection has a sandbox of its own, for calls that name none. */
  readonly hasDefault: boolean;
}

export type Connect = (options: ConnectOptions) => Promise<Connection>;

export interface LateConnection extends Connection {
  /** Whether code has run, or tried to. */
  readonly isMade: boolean;
}

/** A connection that is made when code first runs: many clients only look what there is. */
export function connectLate(connect: () => Promise<Connection>): LateConnection {
  let connecting: Promise<Connection> | undefined;
  const get = async () => {
    connecting ??= connect();
    try {
      return await connecting;
    } catch (error) {
      connecting = undefined; // what stood in its way may be gone the next time
      throw error;
    }
  };
  return {
    get isMade() {
      return connecting !== undefined;
    },
    runner: { run: async (request, signal) => (await get()).runner.run(request, signal) },
    async close() {
      const connection = await connecting?.catch(() => undefined); // that was said where it was wanted
      await connection?.close();
    },
  };
}

/** A connection for each run: in the newest revision nothing but a request holds a client and its run together. */
export function connectEach(connect: () => Promise<Connection>): PythonRunner {
  return {
    async run(request, signal) {
      const connection = await connect();
      try {
        return await connection.runner.run(request, signal);
      } finally {
        await connection.close();
      }
    },
  };
}
