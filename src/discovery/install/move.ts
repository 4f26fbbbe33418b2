import { createHash } from "node:crypto";
import { join } from "node:path";
import * as z from "zod";
import type { Config } from "../../config/config.ts";
import { shortenHome } from "../../core/home-path.ts";
import { OWN_CLIENT } from "../clients/table.ts";
import { isObject, valueAt } from "../formats/document.ts";
import type { Discovery, ServerDefinition } from "../server-definition.ts";
import { type ClientFile, loadClientFile, refuse } from "./client-file.ts";
import { insertJson, removeJson } from "./edit-json.ts";
import {
  addEntry,
  addEntryText,
  type Editable,
  parseEditable,
  removeEntry,
  textOfEntry,
} from "./editable.ts";
import type { FoundTarget } from "./find-targets.ts";
import type { FileChange } from "./plan.ts";
import { readEntryOf } from "./recognise.ts";
import { ENTRY_NAME } from "./targets.ts";

/** Where servers stand in a file of our own. */
const SERVERS = ["mcpServers"];
/** Where such a file says what came from where: `{file: {name: {text, sha256}}}`. */
const RECORD = "movedFrom";

/** Each takes a parse of the whole file; nobody has so many by hand. */
const MAX_MOVED = 100;

/** `text` is the entry as it was written, `sha256` what we made of it: a change of that is the user's. */
const recordSchema = z.record(
  z.string(),
  z.record(z.string(), z.object({ text: z.string(), sha256: z.string() })),
);

/** A server beside us in a client's file. */
export interface Neighbour {
  readonly name: string;
  /** Why it has to stay there; `undefined`: it can be moved. */
  readonly reason: string | undefined;
  /** What it says in a file of our own. */
  readonly entry: Readonly<Record<string, unknown>>;
}

/** The file of our own that servers of a client are moved to. */
export function movedFile({ stateDir }: Config, { target }: FoundTarget): string {
  return join(stateDir, `${target.id}.json`);
}

/** Says of every other server in a client's file whether it can be moved behind us, and if not, why. */
export async function listNeighbours(
  found: FoundTarget,
  { entries, file }: Editable,
  { servers }: Discovery,
  config: Config,
): Promise<readonly Neighbour[]> {
  if (found.scope === "project") return []; // they are everybody's who works on it
  const { target } = found;
  const own = movedFile(config, found);
  const shown = shortenHome(own, config.homeDir);
  const { document } = await loadOwn(own);
  let count = 0;
  return Object.entries(entries).flatMap(([name, value]): Neighbour[] => {
    if (name === ENTRY_NAME || !isObject(value)) return [];
    const stay = (reason: string): Neighbour[] => [{ name, reason, entry: value }];
    const outcome = readEntryOf(target.client, file, name, value, config);
    if (outcome.kind === "toggle") return stay("it only switches a server of another file");
    if (outcome.kind === "faults") return stay(outcome.faults[0]?.message ?? "it is no server");
    if (outcome.off !== undefined) return stay("it is switched off there");
    const listed = servers.find(({ origins }) =>
      origins.some(
        (origin) => origin.client === target.client && origin.file === file && origin.key === name,
      ),
    );
    const obstacle = obstacleOf(listed, target.name);
    if (obstacle !== undefined) return obstacle === "" ? [] : stay(obstacle);
    const entry = translate(value, outcome.definition);
    if (!isJson(entry)) return stay("it has values that JSON does not know");
    const there = readEntryOf(OWN_CLIENT, own, name, entry, config);
    const same =
      there.kind === "server" &&
      there.off === undefined &&
      meansTheSame(there.definition, outcome.definition, listed);
    if (!same) return stay(`it would mean something else in ${shown}`);
    const present = document.entries[name];
    if (present !== undefined && !Bun.deepEquals(present, entry))
      return stay(`${shown} has another server of that name`);
    if (++count > MAX_MOVED)
      return stay(`only ${MAX_MOVED} are moved at a time; type the same again for more`);
    return [{ name, reason: undefined, entry }];
  });
}

/** What stands in the way outside of the entry itself; empty for a server that is us. */
function obstacleOf(server: ServerDefinition | undefined, client: string): string | undefined {
  const availability = server?.availability;
  switch (availability?.kind) {
    case "usable":
    case "untrusted":
      return undefined;
    case "needs":
      return availability.isMoreThanVariables === true
        ? `it needs ${availability.what.join(" and ")}, which only ${client} has`
        : undefined;
    case "disabled":
      return `it is switched off: ${availability.reason}`;
    case "forbidden":
      return `a rule forbids it: ${availability.rule}`;
    case "self":
      return "";
    default:
      return "Sandpy does not find it there";
  }
}

/** Times are the one thing that files of our own have in units of their own. */
function translate(
  value: Readonly<Record<string, unknown>>,
  { startMs, callMs }: Pick<ServerDefinition, "startMs" | "callMs">,
): Readonly<Record<string, unknown>> {
  if (startMs === undefined && callMs === undefined) return value;
  const times = ["timeout", "timeoutMs", "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec"];
  const rest = Object.entries(value).filter(([key]) => !times.includes(key));
  return {
    ...Object.fromEntries(rest),
    ...(startMs === undefined ? {} : { startup_timeout_ms: startMs }),
    ...(callMs === undefined ? {} : { timeoutMs: callMs }),
  };
}

type Meaning = Pick<
  ServerDefinition,
  "transport" | "availability" | "startMs" | "callMs" | "sources" | "tools"
>;

function meansTheSame(there: Meaning, here: Meaning, listed: ServerDefinition | undefined): boolean {
  const pick = ({ transport, availability, startMs, callMs, sources }: Meaning) => ({
    transport,
    availability,
    startMs,
    callMs,
    sources,
  });
  // Lists of the client may take tools away, which would be back.
  const { policy: _, ...tools } = listed?.tools ?? here.tools;
  return Bun.deepEquals(pick(there), pick(here)) && Bun.deepEquals(there.tools, tools);
}

/** Plans to move servers: first into our own file, then out of the client's. */
export async function planMove(
  found: FoundTarget,
  client: { readonly file: ClientFile; readonly document: Editable },
  neighbours: readonly Neighbour[],
  config: Config,
): Promise<readonly FileChange[]> {
  const own = await loadOwn(movedFile(config, found));
  let { document } = own;
  let rest = client.document;
  for (const { name, entry } of neighbours) {
    const text = textOfEntry(rest, name);
    if (text === undefined) continue;
    if (!Object.hasOwn(document.entries, name))
      document = await reparse(document, await addEntry(document, name, entry));
    const note = { text, sha256: hashOf(entry) };
    const path = [RECORD, client.file.path];
    const cleared =
      valueAt(document.value, [...path, name]) === undefined
        ? document.text
        : removeJson(document.text, path, name);
    document = await reparse(document, insertJson(cleared, path, { kind: "value", key: name, value: note }));
    rest = await parseEditable(rest.file, await removeEntry(rest, name), found.target.key);
  }
  return [
    { file: own.file, after: document.text, fate: "keep" },
    { file: client.file, after: rest.text, fate: "keep" },
  ];
}

/** What was moved from a client's file, in the order in which it was. */
export async function listMoved(found: FoundTarget, config: Config): Promise<readonly string[]> {
  const { record } = await loadOwn(movedFile(config, found));
  return Object.keys(record[found.file] ?? {});
}

/** What comes back to a client's file, and what does not and why. */
export interface MoveBack {
  readonly changes: readonly FileChange[];
  readonly back: readonly string[];
  readonly stays: readonly { readonly name: string; readonly reason: string }[];
}

/**
 * Plans to move servers back: first into the client's file, then out of ours. `client` is the file as it will be without our
 * entry; where what was there before could be restored, they are in it already.
 */
export async function planMoveBack(
  found: FoundTarget,
  client: { readonly file: ClientFile; readonly document: Editable | undefined },
  config: Config,
): Promise<MoveBack> {
  const own = await loadOwn(movedFile(config, found));
  let { document } = own;
  let target = client.document ?? (await parseEditable(client.file.path, "", found.target.key));
  const shown = shortenHome(own.file.path, config.homeDir);
  const back: string[] = [];
  const stays: { name: string; reason: string }[] = [];
  for (const [name, { text, sha256 }] of Object.entries(own.record[client.file.path] ?? {})) {
    const present = document.entries[name];
    const isThere = Object.hasOwn(target.entries, name);
    const isOurs = present !== undefined && hashOf(present) === sha256;
    if (!isThere && !isOurs) {
      const reason =
        present === undefined ? `it is no longer in ${shown}` : `it was changed in ${shown} since`;
      stays.push({ name, reason });
    } else {
      if (!isThere) {
        const alone = await parseEditable(target.file, wrapAlone(target, text), found.target.key);
        target = await parseEditable(
          target.file,
          await addEntryText(target, name, text, alone.entries[name]),
          found.target.key,
        );
      }
      if (isOurs) document = await reparse(document, await removeEntry(document, name));
      back.push(name);
    }
    document = await reparse(document, removeJson(document.text, [RECORD, client.file.path], name));
  }
  document = await reparse(document, dropEmpty(document, client.file.path));
  const after =
    Object.keys(document.value ?? {}).every((key) => SERVERS.includes(key)) &&
    Object.keys(document.entries).length === 0;
  return {
    changes: [
      { file: client.file, after: target.text, fate: "keep" },
      { file: own.file, after: after ? undefined : document.text, fate: "keep" },
    ],
    back,
    stays,
  };
}

/** A document that has one entry alone, to learn what its text means. */
function wrapAlone({ file, path }: Editable, text: string): string {
  return file.endsWith(".toml") ? text : insertJson("", path, { kind: "text", text });
}

function dropEmpty({ text, value }: Editable, file: string): string {
  const isEmpty = (found: unknown) => isObject(found) && Object.keys(found).length === 0;
  let so = text;
  if (isEmpty(valueAt(value, [RECORD, file]))) so = removeJson(so, [RECORD], file);
  const record = valueAt(value, [RECORD]);
  const others = isObject(record) ? Object.keys(record).filter((key) => key !== file) : [];
  return others.length === 0 && record !== undefined && so !== text ? removeJson(so, [], RECORD) : so;
}

async function loadOwn(path: string) {
  const file = await loadClientFile(path);
  const document = await parseEditable(path, file.text, SERVERS);
  if (document.value !== undefined && !Object.hasOwn(document.value as object, SERVERS[0] ?? "")) {
    throw refuse(
      path,
      `has no "mcpServers", so that nothing can be moved there`,
      "Move the file away, or leave out --move.",
    );
  }
  const parsed = recordSchema.safeParse(valueAt(document.value, [RECORD]) ?? {});
  if (!parsed.success) throw refuse(path, `has something under "${RECORD}" that we did not write`);
  return { file, document, record: parsed.data };
}

function reparse({ file }: Editable, text: string): Promise<Editable> {
  return parseEditable(file, text, SERVERS);
}

/** TOML has dates and longer numbers. */
function isJson(value: unknown): boolean {
  try {
    return Bun.deepEquals(JSON.parse(JSON.stringify(value)), value);
  } catch {
    return false;
  }
}

function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}
