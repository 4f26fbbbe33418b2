import { defineCommand } from "citty";
import type { Config } from "../../config/config.ts";
import { loadSettings } from "../../config/load-file.ts";
import { toBridgeError } from "../../core/errors.ts";
import { shortenHome } from "../../core/home-path.ts";
import type { FoundTarget, InstallScope } from "../../discovery/install/find-targets.ts";
import type { Prepared } from "../../discovery/install/prepare.ts";
import { MANY, usage } from "../arguments.ts";
import { confirm } from "../confirm.ts";
import type { CliContext, CliIo } from "../context.ts";
import { printable } from "../printable.ts";
import { stoppable } from "../stoppable.ts";
import { listTargets } from "./list.ts";

import type { InstallOptions } from "./options.ts";
import { type Done, report } from "./report.ts";

/** `sandpy install` */
export const installCommand = defineCommand({
  meta: { name: "install", description: "Write Sandpy into the configuration of your MCP clients." },
  args: {
    client: {
      type: "positional",
      required: false,
      valueHint: MANY,
      description: "claude-code, cursor, …; default: all that are found here",
    },
    list: { type: "boolean", description: "show the clients, which are here, and their files" },
    "dry-run": { type: "boolean", description: "show what would change in the files, and change nothing" },
    move: { type: "boolean", description: "move the client's other servers behind Sandpy, into ~/MCPs" },
    uninstall: { type: "boolean", description: "take Sandpy out again, and move those servers back" },
    scope: {
      type: "string",
      valueHint: "user|project",
      description: "write your own file (default) or that of this folder",
    },
    command: {
      type: "string",
      valueHint: "path",
      description: "the sandpy that clients start; default: this one",
    },
    json: { type: "boolean", description: "print JSON" },
  },
  run: ({ args, data }) => install({ ...args, wanted: args._, isDryRun: args["dry-run"] === true }, data),
});

async function install(options: InstallOptions, { io }: CliContext): Promise<number> {
  const scope = readScope(options.scope);
  if (options.uninstall === true && options.move === true) {
    throw usage("--uninstall and --move exclude each other", "--uninstall moves servers back by itself.");
  }
  if (scope === "project" && options.move === true) {
    throw usage("the servers of a project's file are everybody's and stay there", "Leave out --move.");
  }
  const config = await loadSettings(io.env);
  if (scope === "project" && config.projectDir === config.homeDir) {
    throw usage("your home is no project", "Go to the folder of a project, or leave out --scope project.");
  }
  const { chooseTargets, findTargets } = await import("../../discovery/install/find-targets.ts");
  const found = await findTargets(config, scope);
  const chosen = chooseTargets(found, options.wanted);
  if (options.list === true) return listTargets(chosen.length > 0 ? chosen : found, options, config, io);
  const targets =
    chosen.length > 0
      ? chosen
      : found.filter(({ isPresent, fileExists }) => (options.uninstall === true ? fileExists : isPresent));
  if (targets.length === 0) {
    const ids = found.map(({ target }) => target.id).join(", ");
    throw usage("no MCP client was found here", `Name one of: ${ids}.`);
  }
  const prepare = await preparer(options, config, io);
  const { done, stopCode } = await workOnAll(targets, prepare, options, io);
  const code = await report(done, options, config, io);
  if (stopCode !== 0) return stopCode;
  if (!options.isDryRun && options.json !== true && options.uninstall !== true && options.move !== true) {
    return (await offerMove(done, { ...options, move: true }, config, io)) || code;
  }
  return code;
}

function readScope(scope = "user"): InstallScope {
  if (scope === "user" || scope === "project") return scope;
  throw usage(`--scope is ${JSON.stringify(scope)}: expected user or project`);
}

type Prepare = (found: FoundTarget) => Promise<Prepared>;

async function preparer(
  { uninstall, move, command }: InstallOptions,
  config: Config,
  io: CliIo,
): Promise<Prepare> {
  const { prepareInstall, prepareUninstall } = await import("../../discovery/install/prepare.ts");
  const context = { config, selfPath: io.selfPath, move: move === true };
  if (uninstall === true) return (found) => prepareUninstall(found, context);
  const { findOwnCommand } = await import("../../discovery/install/own-command.ts");
  const own = await findOwnCommand(io.selfPath, io.env["PATH"], command);
  return (found) => prepareInstall(found, own, context);
}

/** A signal waits until the client at hand is done, so that no file of it is left half way; it gives `stopCode` then, else 0. */
async function workOnAll(
  targets: readonly FoundTarget[],
  prepare: Prepare,
  options: InstallOptions,
  io: CliIo,
): Promise<{ readonly done: readonly Done[]; readonly stopCode: number }> {
  const done: Done[] = [];
  const stopCode = await stoppable(io, "the installation", async (signal) => {
    for (const target of targets) if (!signal.aborted) done.push(await work(target, prepare, options));
    return 0;
  });
  return { done, stopCode };
}

/** One client that fails stops no other. */
async function work(found: FoundTarget, prepare: Prepare, { isDryRun }: InstallOptions): Promise<Done> {
  try {
    const prepared = await prepare(found);
    if (isDryRun) return { found, prepared };
    const { applyChanges } = await import("../../discovery/install/apply.ts");
    await applyChanges(prepared.changes);
    return { found, prepared };
  } catch (error) {
    return { found, failure: toBridgeError(error) };
  }
}

/** What a client goes on starting by itself is there twice. Returns the exit code of the signal that came meanwhile, else 0. */
async function offerMove(
  done: readonly Done[],
  options: InstallOptions,
  config: Config,
  io: CliIo,
): Promise<number> {
  const able = done.flatMap(({ found, prepared }) => {
    const names = (prepared?.neighbours ?? [])
      .filter(({ reason }) => reason === undefined)
      .map(({ name }) => name);
    return names.length === 0 ? [] : [{ found, names }];
  });
  if (able.length === 0) return 0;
  for (const { found, names } of able) {
    io.stderr.write(
      `${printable(`${found.target.name} starts these itself, beside Sandpy: ${names.join(", ")}`)}\n`,
    );
  }
  if (!io.stdinIsTerminal) {
    const ids = able.map(({ found }) => found.target.id).join(" ");
    io.stderr.write(
      `Type "sandpy install --move ${ids}" to move them behind Sandpy, so that they are not loaded twice.\n`,
    );
    return 0;
  }
  const folder = shortenHome(config.stateDir, config.homeDir);
  if (!(await confirm(io, `Move them behind Sandpy, into ${folder}, so that they are not loaded twice?`)))
    return 0;
  const prepare = await preparer(options, config, io);
  const found = able.map((each) => each.found);
  const { done: again, stopCode } = await workOnAll(found, prepare, options, io);
  await report(again, options, config, io);
  return stopCode;
}
