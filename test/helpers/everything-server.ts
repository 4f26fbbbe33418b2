import { join } from "node:path";

/** The official server that does everything, reached by URL; it ends when it is disposed of. */
export async function startEverything(
  mode: "streamableHttp" | "sse",
): Promise<AsyncDisposable & { url: string }> {
  const port = await freePort();
  const script = join(
    import.meta.dir,
    "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
  );
  const child = Bun.spawn([process.execPath, script, mode], {
    env: { PATH: process.env["PATH"] ?? "", PORT: String(port) },
    stdout: "ignore",
    stderr: "pipe",
  });
  const url = `http://127.0.0.1:${port}/${mode === "sse" ? "sse" : "mcp"}`;
  let said = "";
  for await (const chunk of child.stderr) {
    said += new TextDecoder().decode(chunk);
    if (said.includes(String(port))) break;
  }
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

async function freePort(): Promise<number> {
  const server = Bun.serve({ port: 0, fetch: () => new Response() });
  const { port = 0 } = server;
  await server.stop(true);
  return port;
}
