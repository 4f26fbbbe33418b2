import { basename, isAbsolute } from "node:path";
import type { Config } from "../../config/config.ts";
import { isObject } from "../formats/document.ts";
import { type BackupFate, type ClientFile, loadClientFile, refuse } from "./client-file.ts";
import { insertJson } from "./edit-json.ts";
import { addEntry, type Editable, parseEditable, removeEntry, setCommand } from "./editable.ts";
import { type FoundTarget, findOnPath } from "./find-targets.ts";
import { identify, type OwnCommand } from "./own-command.ts";
import { createRecogniser, readEntryOf } from "./recognise.ts";
import { createEntry, ENTRY_NAME } from "./targets.ts";

/** What the entry's program is started with. */
const ARGS: readonly string[] = ["serve"];

/** One file as it is and as it is to be. */
export interface FileChange {
  readonly file: ClientFile;
  /** `undefined`: there is to be no file. */
  readonly after: string | undefined;
  readonly fate: BackupFate;
}

/** What is to be done to one client's file. */
export interface Plan {
  readonly found: FoundTarget;
  readonly action: "add" | "update" | "remove" | "none";
  /** Completes "Cursor: …" where nothing is to be done, or where there is more to say. */
  readonly note: string | undefined;
  readonly change: FileChange | undefined;
  /** The file as it will be, for what is done to it beside. */
  readonly document: Editable;
  readonly file: ClientFile;
}

/** Who plans, and for which program. */
export interface PlanContext {
  readonly config: Config;
  readonly selfPath: string | undefined;
}

/** Plans our entry in a client's file. Throws `CONFIG_INVALID` where the file cannot be changed safely. */
export async function planInstall(found: FoundTarget, own: OwnCommand, context: PlanContext): Promise<Plan> {
  const { target, scope } = found;
  const { config } = context;
  const file = await loadClientFile(found.file);
  const document = await parseEditable(file.path, file.text, target.key);
  // Who shares a project has no path of this machine.
  const command = target.isGraphical && scope === "user" ? own.forDesktops : own.forTerminals;
  const none = (note: string): Plan => ({ found, action: "none", note, change: undefined, document, file });
  const finish = async (action: "add" | "update", text: string): Promise<Plan> => ({
    found,
    action,
    note:
      scope === "project" && isAbsolute(command)
        ? `names ${JSON.stringify(command)}, which others of the project do not have; a sandpy on the PATH is named alone`
        : undefined,
    change: { file, after: text, fate: action === "add" ? "make" : "keep" },
    document: await parseEditable(file.path, text, target.key),
    file,
  });
  const ours = await findOurs(found, document, context);
  if (Object.hasOwn(document.entries, ENTRY_NAME)) {
    const present = commandOf(document.entries[ENTRY_NAME]);
    if (!ours.includes(ENTRY_NAME) && present !== command) {
      const hint = "Give it another name there, then type the same again. Nothing was written.";
      throw refuse(file.path, `has a server "${ENTRY_NAME}" already, which starts something else`, hint);
    }
    if (present === command || (await isSameProgram(present, command, context))) {
      const off = switchOf(found, document, config);
      return none(off === undefined ? "is there already" : `is there already, but switched off: ${off}`);
    }
    if (present === undefined || programName(present) !== ENTRY_NAME)
      return none(`starts it by ${JSON.stringify(present)} already`);
    return finish("update", await setCommand(document, ENTRY_NAME, command));
  }
  const [other] = ours;
  if (other !== undefined) return none(`is there already, as ${JSON.stringify(other)}`);
  return finish("add", await createText(document, found, createEntry(target, command, ARGS)));
}

/** Plans to take our entry out. Throws as {@link planInstall}. */
export async function planUninstall(
  found: FoundTarget,
  context: PlanContext,
  moved: readonly string[],
): Promise<Plan> {
  const { target } = found;
  const file = await loadClientFile(found.file);
  const document = await parseEditable(file.path, file.text, target.key);
  const none = (note: string): Plan => ({ found, action: "none", note, change: undefined, document, file });
  const ours = await findOurs(found, document, context);
  if (!Object.hasOwn(document.entries, ENTRY_NAME)) {
    const [other] = ours;
    return none(
      other === undefined
        ? "is not there"
        : `is there as ${JSON.stringify(other)}, which we did not write; it stays`,
    );
  }
  if (!ours.includes(ENTRY_NAME))
    return none(`the server "${ENTRY_NAME}" there starts something else; it stays`);
  const original = await findOriginal(found, file, document, moved);
  if (original !== undefined) {
    const text = original.bytes === undefined ? undefined : decode(original.bytes);
    return await planRemoval(found, file, text, "remove");
  }
  return await planRemoval(found, file, await removeEntry(document, ENTRY_NAME), "keep");
}

async function planRemoval(
  found: FoundTarget,
  file: ClientFile,
  text: string | undefined,
  fate: BackupFate,
): Promise<Plan> {
  const document = await parseEditable(file.path, text ?? "", found.target.key);
  return { found, action: "remove", note: undefined, change: { file, after: text, fate }, document, file };
}

/** Whether a client's file starts us, under whatever name. Throws `CONFIG_INVALID` where it cannot be read. */
export async function hasEntry(found: FoundTarget, context: PlanContext): Promise<boolean> {
  if (!found.fileExists) return false;
  const file = await loadClientFile(found.file);
  const document = await parseEditable(file.path, file.text, found.target.key);
  return (await findOurs(found, document, context)).length > 0;
}

/** The names under which a file starts us. */
async function findOurs(
  { target, file }: FoundTarget,
  { entries }: Editable,
  { config, selfPath }: PlanContext,
): Promise<readonly string[]> {
  const names: string[] = [];
  const startsUs = createRecogniser(config, selfPath);
  for (const [key, value] of Object.entries(entries)) {
    if (await startsUs(readEntryOf(target.client, file, key, value, config))) names.push(key);
  }
  return names;
}

/**
 * What the file was before we changed it, if nobody has changed it since: our edits of what was put aside give what is
 * there now. `bytes` are undefined where there was no file.
 */
async function findOriginal(
  found: FoundTarget,
  { path, backup, text }: ClientFile,
  { entries }: Editable,
  moved: readonly string[],
): Promise<{ readonly bytes: Uint8Array | undefined } | undefined> {
  const entry = entries[ENTRY_NAME];
  if (!isObject(entry)) return undefined;
  try {
    const before = backup === undefined ? "" : decode(backup);
    let document = await parseEditable(path, before, found.target.key);
    if (backup === undefined && moved.length > 0) return undefined;
    document = await parseEditable(path, await createText(document, found, entry), found.target.key);
    for (const name of moved)
      document = await parseEditable(path, await removeEntry(document, name), found.target.key);
    return document.text === text ? { bytes: backup } : undefined;
  } catch {
    return undefined; // what was put aside is something else by now
  }
}

/** With an entry of ours; a file that does not exist begins as its client would begin it. */
async function createText(
  document: Editable,
  { target }: FoundTarget,
  entry: Readonly<Record<string, unknown>>,
): Promise<string> {
  if (document.text !== "" || target.preamble === undefined) return addEntry(document, ENTRY_NAME, entry);
  let start = "";
  for (const [key, value] of Object.entries(target.preamble)) {
    start = insertJson(start, [], { kind: "value", key, value });
  }
  return addEntry(await parseEditable(document.file, start, target.key), ENTRY_NAME, entry);
}

/** Why our entry is switched off; `undefined` where it is not. */
function switchOf({ target, file }: FoundTarget, { entries }: Editable, config: Config): string | undefined {
  const outcome = readEntryOf(target.client, file, ENTRY_NAME, entries[ENTRY_NAME], config);
  return outcome.kind === "server" ? outcome.off : undefined;
}

/** The program that an entry starts, as it is written. */
function commandOf(entry: unknown): string | undefined {
  const command = isObject(entry) ? entry["command"] : undefined;
  const word: unknown = Array.isArray(command) ? command[0] : command;
  return typeof word === "string" ? word : undefined;
}

async function isSameProgram(
  one: string | undefined,
  other: string,
  { config }: PlanContext,
): Promise<boolean> {
  if (one === undefined) return false;
  const locate = async (word: string) => {
    const path = isAbsolute(word) ? word : await findOnPath(word, config.env["PATH"]);
    return path === undefined ? undefined : identify(path);
  };
  const [mine, theirs] = await Promise.all([locate(one), locate(other)]);
  return mine !== undefined && mine === theirs;
}

function programName(command: string): string {
  return basename(command.replaceAll("\\", "/")).replace(/\.exe$/i, "");
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
