import { join } from "node:path";
import type { TestHome } from "./home.ts";

const MODULES = join(import.meta.dir, "../../../node_modules/@modelcontextprotocol");

/** The command of one of the official servers from npm, run by the Bun that runs the tests. */
export function npmServer(name: "filesystem" | "everything", ...args: string[]) {
  return { command: process.execPath, args: [script(name), ...args] };
}

/** The official memory server, which keeps its graph in the home: by default it would write beside its own code. */
export function memoryServer(home: TestHome) {
  const env = { MEMORY_FILE_PATH: join(home.path, "graph.json") };
  return { command: process.execPath, args: [script("memory")], env };
}

function script(name: string): string {
  return join(MODULES, `server-${name}/dist/index.js`);
}
