import type { Config } from "../../config/config.ts";
import { shortenHome } from "../../core/home-path.ts";
import type { FoundTarget } from "../../discovery/install/find-targets.ts";
import type { CliIo } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { renderTable, screenOf } from "../table.ts";
import type { InstallOptions } from "./options.ts";

const COLUMNS = [
  { title: "CLIENT", minWidth: undefined },
  { title: "HERE", minWidth: undefined },
  { title: "SANDPY", minWidth: undefined },
  { title: "FILE", minWidth: 20 },
] as const;

/** `sandpy install --list` */
export async function listTargets(
  found: readonly FoundTarget[],
  { json }: InstallOptions,
  config: Config,
  io: CliIo,
): Promise<number> {
  const { hasEntry } = await import("../../discovery/install/plan.ts");
  const states = await Promise.all(
    found.map(async (each) => ({
      each,
      state: await hasEntry(each, { config, selfPath: io.selfPath }).catch(() => "unreadable" as const),
    })),
  );
  if (json === true) {
    return printJson(io, {
      clients: states.map(({ each: { target, file, fileExists, isPresent }, state }) => ({
        client: target.id,
        name: target.name,
        present: isPresent,
        installed: state === "unreadable" ? null : state,
        file,
        fileExists,
      })),
    });
  }
  const rows = states.map(({ each: { target, file, isPresent }, state }) => [
    target.id,
    isPresent ? "yes" : "-",
    state === "unreadable" ? state : state ? "yes" : "-",
    printable(shortenHome(file, config.homeDir)),
  ]);
  return print(io, `${renderTable(COLUMNS, rows, screenOf(io)).join("\n")}\n`);
}
