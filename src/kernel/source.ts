/** The only import of the sandbox's Python. It is embedded in the binary and travels over the container's stdin. */
import { createHash } from "node:crypto";
import advice from "../../sandbox/kernel/advice.py" with { type: "text" };
import args from "../../sandbox/kernel/arguments.py" with { type: "text" };
import cell from "../../sandbox/kernel/cell.py" with { type: "text" };
import codec from "../../sandbox/kernel/codec.py" with { type: "text" };
import console from "../../sandbox/kernel/console.py" with { type: "text" };
import courier from "../../sandbox/kernel/courier.py" with { type: "text" };
import directory from "../../sandbox/kernel/directory.py" with { type: "text" };
import display from "../../sandbox/kernel/display.py" with { type: "text" };
import docs from "../../sandbox/kernel/docs.py" with { type: "text" };
import endings from "../../sandbox/kernel/endings.py" with { type: "text" };
import ends from "../../sandbox/kernel/ends.py" with { type: "text" };
import figures from "../../sandbox/kernel/figures.py" with { type: "text" };
import filelist from "../../sandbox/kernel/filelist.py" with { type: "text" };
import folders from "../../sandbox/kernel/folders.py" with { type: "text" };
import foreign from "../../sandbox/kernel/foreign.py" with { type: "text" };
import gather from "../../sandbox/kernel/gather.py" with { type: "text" };
import hello from "../../sandbox/kernel/hello.py" with { type: "text" };
import hints from "../../sandbox/kernel/hints.py" with { type: "text" };
import history from "../../sandbox/kernel/history.py" with { type: "text" };
import images from "../../sandbox/kernel/images.py" with { type: "text" };
import importer from "../../sandbox/kernel/importer.py" with { type: "text" };
import inlet from "../../sandbox/kernel/inlet.py" with { type: "text" };
import interrupts from "../../sandbox/kernel/interrupts.py" with { type: "text" };
import judged from "../../sandbox/kernel/judged.py" with { type: "text" };
import keeping from "../../sandbox/kernel/keeping.py" with { type: "text" };
import lacking from "../../sandbox/kernel/lacking.py" with { type: "text" };
import late from "../../sandbox/kernel/late.py" with { type: "text" };
import listing from "../../sandbox/kernel/listing.py" with { type: "text" };
import loop from "../../sandbox/kernel/loop.py" with { type: "text" };
import manual from "../../sandbox/kernel/manual.py" with { type: "text" };
import meant from "../../sandbox/kernel/meant.py" with { type: "text" };
import measure from "../../sandbox/kernel/measure.py" with { type: "text" };
import memory from "../../sandbox/kernel/memory.py" with { type: "text" };
import mirror from "../../sandbox/kernel/mirror.py" with { type: "text" };
import names from "../../sandbox/kernel/names.py" with { type: "text" };
import notebook from "../../sandbox/kernel/notebook.py" with { type: "text" };
import origin from "../../sandbox/kernel/origin.py" with { type: "text" };
import outlet from "../../sandbox/kernel/outlet.py" with { type: "text" };
import parameters from "../../sandbox/kernel/parameters.py" with { type: "text" };
import parts from "../../sandbox/kernel/parts.py" with { type: "text" };
import picture from "../../sandbox/kernel/picture.py" with { type: "text" };
import pretty from "../../sandbox/kernel/pretty.py" with { type: "text" };
import processes from "../../sandbox/kernel/process.py" with { type: "text" };
import program from "../../sandbox/kernel/program.py" with { type: "text" };
import projects from "../../sandbox/kernel/projects.py" with { type: "text" };
import rehearsal from "../../sandbox/kernel/rehearsal.py" with { type: "text" };
import relay from "../../sandbox/kernel/relay.py" with { type: "text" };
import render from "../../sandbox/kernel/render.py" with { type: "text" };
import repair from "../../sandbox/kernel/repair.py" with { type: "text" };
import resources from "../../sandbox/kernel/resources.py" with { type: "text" };
import results from "../../sandbox/kernel/results.py" with { type: "text" };
import rpc from "../../sandbox/kernel/rpc.py" with { type: "text" };
import runner from "../../sandbox/kernel/runner.py" with { type: "text" };
import runtime from "../../sandbox/kernel/runtime.py" with { type: "text" };
import sandboxes from "../../sandbox/kernel/sandboxes.py" with { type: "text" };
import saved from "../../sandbox/kernel/saved.py" with { type: "text" };
import saving from "../../sandbox/kernel/saving.py" with { type: "text" };
import schema from "../../sandbox/kernel/schema.py" with { type: "text" };
import servers from "../../sandbox/kernel/servers.py" with { type: "text" };
import sessions from "../../sandbox/kernel/sessions.py" with { type: "text" };
import spill from "../../sandbox/kernel/spill.py" with { type: "text" };
import supervisor from "../../sandbox/kernel/supervisor.py" with { type: "text" };
import suppress from "../../sandbox/kernel/suppress.py" with { type: "text" };
import tidy from "../../sandbox/kernel/tidy.py" with { type: "text" };
import toolfile from "../../sandbox/kernel/toolfile.py" with { type: "text" };
import tools from "../../sandbox/kernel/tools.py" with { type: "text" };
import turns from "../../sandbox/kernel/turns.py" with { type: "text" };
import twofold from "../../sandbox/kernel/twofold.py" with { type: "text" };
import unawaited from "../../sandbox/kernel/unawaited.py" with { type: "text" };
import unlisted from "../../sandbox/kernel/unlisted.py" with { type: "text" };
import values from "../../sandbox/kernel/values.py" with { type: "text" };
import walk from "../../sandbox/kernel/walk.py" with { type: "text" };
import watcher from "../../sandbox/kernel/watcher.py" with { type: "text" };
import wire from "../../sandbox/kernel/wire.py" with { type: "text" };
import workspace from "../../sandbox/kernel/workspace.py" with { type: "text" };
import type { SandboxSettings } from "./protocol.ts";

const FILES: Readonly<Record<string, string>> = {
  "advice.py": advice,
  "arguments.py": args,
  "cell.py": cell,
  "codec.py": codec,
  "console.py": console,
  "courier.py": courier,
  "directory.py": directory,
  "display.py": display,
  "docs.py": docs,
  "endings.py": endings,
  "ends.py": ends,
  "figures.py": figures,
  "filelist.py": filelist,
  "folders.py": folders,
  "foreign.py": foreign,
  "gather.py": gather,
  "hello.py": hello,
  "hints.py": hints,
  "history.py": history,
  "images.py": images,
  "importer.py": importer,
  "inlet.py": inlet,
  "interrupts.py": interrupts,
  "judged.py": judged,
  "keeping.py": keeping,
  "lacking.py": lacking,
  "late.py": late,
  "listing.py": listing,
  "loop.py": loop,
  "manual.py": manual,
  "meant.py": meant,
  "measure.py": measure,
  "memory.py": memory,
  "mirror.py": mirror,
  "names.py": names,
  "origin.py": origin,
  "parameters.py": parameters,
  "outlet.py": outlet,
  "parts.py": parts,
  "picture.py": picture,
  "pretty.py": pretty,
  "process.py": processes,
  "notebook.py": notebook,
  "program.py": program,
  "projects.py": projects,
  "rehearsal.py": rehearsal,
  "relay.py": relay,
  "render.py": render,
  "repair.py": repair,
  "resources.py": resources,
  "results.py": results,
  "rpc.py": rpc,
  "runner.py": runner,
  "runtime.py": runtime,
  "saved.py": saved,
  "sandboxes.py": sandboxes,
  "saving.py": saving,
  "schema.py": schema,
  "servers.py": servers,
  "sessions.py": sessions,
  "spill.py": spill,
  "supervisor.py": supervisor,
  "suppress.py": suppress,
  "tidy.py": tidy,
  "toolfile.py": toolfile,
  "tools.py": tools,
  "turns.py": turns,
  "twofold.py": twofold,
  "unawaited.py": unawaited,
  "unlisted.py": unlisted,
  "values.py": values,
  "walk.py": walk,
  "watcher.py": watcher,
  "wire.py": wire,
  "workspace.py": workspace,
};

/** SHA-256 in hex over names and sources; the supervisor's `hello` must name the same. */
export const BUNDLE_HASH: string = hashFiles(FILES);

/** What the container reads first: ten digits, the length in bytes, then the sources and settings as JSON. */
export function renderPayload(settings: SandboxSettings): Uint8Array {
  const body = Buffer.from(JSON.stringify({ files: FILES, settings }));
  return Buffer.concat([Buffer.from(String(body.length).padStart(10, "0")), body]);
}

function hashFiles(files: Readonly<Record<string, string>>): string {
  const hash = createHash("sha256");
  for (const name of Object.keys(files).sort()) hash.update(`${name}\0${files[name]}\0`);
  return hash.digest("hex");
}
