import { join } from "node:path";

const MODULES = join(import.meta.dir, "../../../node_modules/@modelcontextprotocol");

/** The command of one of the official servers from npm, run by the Bun that runs the tests. */
export function npmServer(name: "filesystem" | "memory" | "everything", ...args: string[]) {
  return { command: process.execPath, args: [join(MODULES, `server-${name}/dist/index.js`), ...args] };
}
