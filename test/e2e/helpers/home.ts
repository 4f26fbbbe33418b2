import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A home folder of one test; it goes when the test is over. */
export interface TestHome extends Disposable {
  readonly path: string;
  /** Writes a file below the home and returns its path. */
  write(name: string, content: string): string;
  /** Defines upstream servers in `~/MCPs/servers.json`. */
  defineServers(servers: Readonly<Record<string, unknown>>): void;
}

export function createHome(): TestHome {
  const path = mkdtempSync(join(tmpdir(), "sandpy-e2e-"));
  const write = (name: string, content: string) => {
    const file = join(path, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  };
  return {
    path,
    write,
    defineServers: (servers) => void write("MCPs/servers.json", JSON.stringify({ mcpServers: servers })),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}
