import { connect, type Socket } from "node:net";

/** What a connection does that never becomes a request. */
export const STALLS = {
  "says nothing": () => undefined,
  "sends a byte now and then": (socket: Socket) => {
    socket.write("GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: ");
    const drip = setInterval(() => socket.write("y"), 1000).unref();
    socket.on("close", () => clearInterval(drip));
  },
  "has closed its half": (socket: Socket) => void socket.end("GET /mcp HTTP/1.1\r\nHost: localhost\r\n"),
} satisfies Readonly<Record<string, (socket: Socket) => void>>;

/** Many connections of one address, which is not that of other clients. */
export interface Crowd extends Disposable {
  /** Those that the system has connected, and those that have been cut since. */
  readonly connected: number;
  readonly cut: number;
  readonly answers: readonly string[];
}

/** Opens so many from `address` (of Linux, where all of 127.0.0.0/8 is this machine); each then does what `act` does. */
export function openCrowd(
  port: number,
  count: number,
  act: (socket: Socket, index: number) => void,
  address = "127.0.0.2",
): Crowd {
  const crowd = { connected: 0, cut: 0, answers: [] as string[] };
  const sockets = Array.from({ length: count }, (_, index) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: address, allowHalfOpen: true });
    socket.setEncoding("latin1");
    socket.on("connect", () => {
      crowd.connected += 1;
      act(socket, index);
    });
    socket.on("data", (text) => crowd.answers.push(String(text)));
    socket.on("error", () => undefined);
    socket.on("end", () => socket.destroy());
    socket.on("close", () => {
      crowd.cut += 1;
    });
    return socket;
  });
  return Object.assign(crowd, {
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
    },
  });
}
