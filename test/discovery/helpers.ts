import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { discover } from "../../src/discovery/discover.ts";
import type { Discovery, ServerDefinition } from "../../src/discovery/server-definition.ts";

/** A user's machine: `home` and a trusted `project` beside it, in a folder of their own. */
export class Machine {
  readonly root = mkdtempSync(join(tmpdir(), "sandpy-machine-"));
  readonly home = join(this.root, "home");
  readonly project = join(this.root, "project");

  constructor() {
    mkdirSync(this.home);
    mkdirSync(this.project);
  }

  /** Brings the files of a fixture; `PROJECT` in them stands for the project's folder. */
  copy(fixture: string): void {
    cpSync(join(import.meta.dir, "../fixtures/homes/clients", fixture), this.root, { recursive: true });
    const claude = join(this.home, ".claude.json");
    try {
      writeFileSync(claude, readFileSync(claude, "utf8").replaceAll("PROJECT", this.project));
    } catch {
      // The fixture has no such file.
    }
  }

  /** Writes a file, text or JSON, at a path that starts at the root: `home/…` or `project/…`. */
  write(path: string, content: unknown): string {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
    return file;
  }

  discover(env: Readonly<Record<string, string>> = {}, overrides: Partial<Config> = {}): Promise<Discovery> {
    const config = loadConfig({ HOME: this.home, MCP_BRIDGE_TRUST_PROJECT: "1", ...env });
    return discover({ ...config, projectDir: this.project, platform: "linux", ...overrides });
  }

  /** A text without the folders of this machine: `~` is the home, `.` the project. */
  strip(text: string): string {
    return text.replaceAll(this.home, "~").replaceAll(this.project, ".");
  }

  /** A server on one line, without what is not said. */
  render({ name, availability, transport, tools, startMs, callMs }: ServerDefinition): string {
    const pairs = (values: Readonly<Record<string, string>>) =>
      Object.entries(values).map(([key, value]) => `${key}=${value}`);
    const what =
      transport.kind === "stdio"
        ? [
            [transport.command, ...transport.args]
              .map((word) => (/\s/.test(word) ? `'${word}'` : word))
              .join(" "),
            ...pairs(transport.env),
            ...(transport.cwd === undefined ? [] : [`in ${transport.cwd}`]),
          ]
        : [
            `${transport.protocol} ${transport.url}`,
            ...pairs(transport.headers),
            ...(transport.oauth === undefined ? [] : [`oauth ${JSON.stringify(transport.oauth)}`]),
          ];
    const limits = [
      ...(tools.allow === undefined ? [] : [`allow ${tools.allow.join(",")}`]),
      ...(tools.deny.length === 0 ? [] : [`deny ${tools.deny.join(",")}`]),
      ...(startMs === undefined ? [] : [`start ${startMs}`]),
      ...(callMs === undefined ? [] : [`call ${callMs}`]),
    ];
    const state = {
      usable: () => "",
      disabled: () => ` OFF ${(availability as { reason: string }).reason}`,
      needs: () => ` NEEDS ${(availability as { what: readonly string[] }).what.join("; ")}`,
      untrusted: () => " UNTRUSTED",
      forbidden: () => " FORBIDDEN",
      self: () => " SELF",
    }[availability.kind]();
    return this.strip(`${name}: ${[...what, ...limits].join(" | ")}${state}`);
  }
}
