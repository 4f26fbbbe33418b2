import type { Config } from "../../config/config.ts";
import type { BridgeError } from "../../core/errors.ts";
import { shortenHome } from "../../core/home-path.ts";
import type { FoundTarget } from "../../discovery/install/find-targets.ts";
import type { Prepared } from "../../discovery/install/prepare.ts";
import type { CliIo } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import type { InstallOptions } from "./options.ts";

/** What was done for one client. */
export interface Done {
  readonly found: FoundTarget;
  readonly prepared?: Prepared;
  readonly failure?: BridgeError;
}

/** Says what was done for each client, and on stderr what failed; returns the exit code of the first that did. */
export async function report(
  done: readonly Done[],
  options: InstallOptions,
  config: Config,
  io: CliIo,
): Promise<number> {
  const failures = done.flatMap(({ found, failure }) => (failure === undefined ? [] : [{ found, failure }]));
  let code = 0;
  if (options.json === true)
    code = await printJson(io, { dryRun: options.isDryRun, clients: done.map(describe) });
  else {
    const parts = await Promise.all(done.map((each) => renderDone(each, options, config)));
    code = await print(io, parts.join(""));
    const isChanged = done.some(({ prepared }) => (prepared?.changes.length ?? 0) > 0);
    if (isChanged && !options.isDryRun)
      code = (await print(io, "Restart the clients that run: they read their files at start.\n")) || code;
  }
  for (const { found, failure } of failures) {
    io.stderr.write(
      `sandpy: ${found.target.name}: ${printable(failure.message)}\n${failure.hint === undefined ? "" : `${failure.hint}\n`}`,
    );
  }
  return failures[0]?.failure.exitCode ?? code;
}

async function renderDone(
  { found, prepared }: Done,
  { isDryRun, move }: InstallOptions,
  config: Config,
): Promise<string> {
  if (prepared === undefined) return "";
  const { plan, changes, moved, back, neighbours } = prepared;
  const { name } = found.target;
  const file = shortenHome(found.file, config.homeDir);
  const would = isDryRun ? "would be " : "";
  const verb = { add: "added to", update: "updated in", remove: "removed from", none: "" }[plan.action];
  const lines = [
    plan.action === "none" ? `${name}: ${plan.note} (${file})` : `${name}: ${would}${verb} ${file}`,
  ];
  if (plan.action !== "none" && plan.note !== undefined) lines.push(`  ${plan.note}`);
  const { movedFile } = await import("../../discovery/install/move.ts");
  const own = shortenHome(movedFile(config, found), config.homeDir);
  if (moved.length > 0) lines.push(`  ${would}moved to ${own}: ${moved.join(", ")}`);
  if (move === true)
    for (const { name, reason } of neighbours)
      if (reason !== undefined) lines.push(`  ${name} stays there: ${reason}`);
  if (back !== undefined && back.back.length > 0)
    lines.push(`  ${would}moved back from ${own}: ${back.back.join(", ")}`);
  for (const { name, reason } of back?.stays ?? []) lines.push(`  ${name} was not moved back: ${reason}`);
  const text = lines.map((line) => `${printable(line)}\n`).join("");
  if (!isDryRun) return text;
  const { renderPreview } = await import("../../discovery/install/preview.ts");
  const diffs = await Promise.all(
    changes.map((change) => renderPreview(change, shortenHome(change.file.path, config.homeDir))),
  );
  return text + diffs.join("").split("\n").map(printableLine).join("\n");
}

function describe({ found, prepared, failure }: Done) {
  return {
    client: found.target.id,
    file: found.file,
    action: failure === undefined ? prepared?.plan.action : "failed",
    note: failure?.message ?? prepared?.plan.note ?? null,
    ...(failure === undefined ? {} : { code: failure.code, hint: failure.hint ?? null }),
    moved: prepared?.moved ?? [],
    movedBack: prepared?.back?.back ?? [],
    others: (prepared?.neighbours ?? []).map(({ name, reason }) => ({
      name,
      movable: reason === undefined,
      reason: reason ?? null,
    })),
  };
}

/** A line of a file keeps its tabs; the line ends of Windows are not to be seen. */
function printableLine(line: string): string {
  return line.replace(/\r$/, "").split("\t").map(printable).join("\t");
}
