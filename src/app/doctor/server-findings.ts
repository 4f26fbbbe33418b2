import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { shortenHome } from "../../core/home-path.ts";
import type { Log } from "../../core/log.ts";
import { takeInventory } from "../inventory.ts";
import type { Finding } from "./finding.ts";

const MAX_NAMED = 8;

/** The servers that a bridge would find here, and which of them it cannot use. Starts none. */
export async function examineServers(
  config: Config,
  options: { readonly selfPath: string | undefined; readonly log: Log },
): Promise<Finding[]> {
  const check = "servers";
  const { entries, problems } = await takeInventory(config, options);
  const unusable = entries.flatMap(({ server, unusable }) =>
    unusable === undefined ? [] : [{ name: server.name, kind: server.availability.kind, ...unusable }],
  );
  const faults = problems.filter(({ isNote }) => isNote !== true);
  const facts = {
    found: entries.length,
    usable: entries.length - unusable.length,
    unusable,
    problems: faults.map(({ where, message }) => ({ where, message })),
  };
  const broken = faults.map(
    ({ where, message }): Finding => ({
      check,
      status: "warning",
      found: `${shortenHome(where, config.homeDir)}: ${message}`,
      remedy: "Correct the file; what it defines is not used.",
    }),
  );
  if (entries.length === 0) {
    const file = shortenHome(join(config.stateDir, "servers.json"), config.homeDir);
    return [
      {
        check,
        status: "warning",
        found: "none was found in the files of MCP clients; Python runs, but has nothing to call",
        remedy: `Define some in ${file}, as in {"mcpServers": {"notes": {"command": "npx", "args": ["-y", "some-mcp-server"]}}}.`,
        command: "sandpy servers",
        facts,
      },
      ...broken,
    ];
  }
  // Switched off is somebody's wish; the rest waits for something.
  const waiting = unusable.filter(({ kind }) => kind !== "disabled" && kind !== "self");
  const off = unusable.length - waiting.length;
  const counts = `${facts.usable} of ${entries.length} can be used${off === 0 ? "" : `, ${off} switched off or sandpy itself`}`;
  if (waiting.length === 0) return [{ check, status: "ok", found: counts, facts }, ...broken];
  const named = waiting.slice(0, MAX_NAMED).map(({ name, reason }) => `${name} ${reason}`);
  const more = waiting.length > MAX_NAMED ? `; and ${waiting.length - MAX_NAMED} more` : "";
  return [
    {
      check,
      status: "warning",
      found: `${counts}; ${named.join("; ")}${more}`,
      remedy: waiting.length === 1 ? waiting[0]?.remedy : "See what each of them needs.",
      command: "sandpy servers",
      facts,
    },
    ...broken,
  ];
}
