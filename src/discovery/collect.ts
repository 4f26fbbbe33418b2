import type { Config } from "../config/config.ts";
import type { ClientRow } from "./clients/row.ts";
import { CLIENTS } from "./clients/table.ts";
import { GENERIC } from "./dialects.ts";
import { type EntryContext, type NamedDefinition, readEntry } from "./entry/entry.ts";
import { type ConfigDocument, isObject, renderPath, type ValuePath, valueAt } from "./formats/document.ts";
import { ANY_SHAPE, type Reached } from "./layouts.ts";
import { loadPlaces, locate, type Place, type Places } from "./places.ts";
import { parseConfigText, type ReadOutcome, readConfigFile } from "./read.ts";
import type { DiscoveryProblem, Origin } from "./server-definition.ts";
import type { Switch } from "./switches.ts";
import type { FillBudget } from "./variables.ts";

/** Beyond this the files are no configuration of a person's. */
const MAX_SERVERS = 10_000;
/** A project that nobody trusts must not use that up. */
const MAX_PROJECT_SERVERS = 2000;
const MAX_PROBLEMS_PER_FILE = 100;
/** All files together: a project may have very many. */
const MAX_TOTAL_BYTES = 64 * 1024 ** 2;
/** What values of all servers may come to, and the files that they may be taken from. */
const MAX_FILLED_CHARS = 16 * 1024 ** 2;
const MAX_VALUE_READS = 2000;
/** Some systems let a program have no more than 256 files open. */
const MAX_OPEN_FILES = 32;

/** One server of one file. */
export interface Candidate {
  /** As if nothing outside its entry switched it off. */
  readonly definition: NamedDefinition;
  /** Why its own entry switches it off. */
  readonly off: string | undefined;
  /** Its file's place in the table: of one client's files, the lower counts. */
  readonly layer: number;
  readonly isBare: boolean;
}

/** An entry without a server, which switches one of another file. */
export interface Toggle {
  readonly origin: Origin;
  readonly layer: number;
  readonly isOn: boolean;
  readonly reason: string;
}

/** All that the files say, before anything of it is put together. */
export interface Collection {
  readonly candidates: readonly Candidate[];
  readonly toggles: readonly Toggle[];
  readonly switches: readonly { readonly client: string; readonly list: Switch }[];
  readonly problems: readonly DiscoveryProblem[];
  /** Files that values are taken from. */
  readonly valueFiles: readonly string[];
}

interface PlannedFile extends Place {
  readonly row: ClientRow;
  readonly layer: number;
}

type Sink = {
  readonly [Key in keyof Collection]: Collection[Key][number][];
};

/** The client of the file that the user names in a variable. */
export const EXPLICIT_CLIENT = "MCP_SERVERS_CONFIG";
const EXPLICIT_ROW: ClientRow = {
  client: EXPLICIT_CLIENT,
  paths: [],
  layout: ANY_SHAPE,
  dialect: GENERIC,
  isBare: true,
};

/** Reads every file of every client. Rejects for nothing that a file holds. */
export async function collect(config: Config): Promise<Collection> {
  const places = await loadPlaces(config);
  const sink: Sink = { candidates: [], toggles: [], switches: [], problems: [], valueFiles: [] };
  const planned = [...planExplicit(config), ...(await planFiles(places, sink.problems))];
  // What is the user's own first: it must not go short because of a project's files.
  const isOwn = ({ scope }: PlannedFile) => scope !== "project";
  const files = [...planned.filter(isOwn), ...planned.filter((file) => !isOwn(file))];
  const outcomes = await readAll(files, config);
  const budget = createBudget(sink.valueFiles);
  const finished = new Set<ClientRow>();
  for (const file of files) {
    const outcome = outcomes.get(file.file) ?? { kind: "missing" };
    if (finished.has(file.row)) continue;
    if (file.row.isFirstOnly && outcome.kind !== "missing") finished.add(file.row);
    if (outcome.kind === "problem") sink.problems.push(outcome.problem);
    else if (outcome.kind === "document") readDocument(outcome.document, file, places, sink, budget);
    else if (outcome.kind === "missing" && file.scope === "explicit") {
      const message = `does not exist: expected the file that ${EXPLICIT_CLIENT} names`;
      sink.problems.push({ where: file.file, message });
    }
  }
  return sink;
}

/** Every file that {@link collect} would read, whether it exists or not, and the folders that tell which there are. */
export async function listFiles(
  config: Config,
): Promise<{ readonly files: readonly string[]; readonly folders: readonly string[] }> {
  const places = await loadPlaces(config);
  const files = [...planExplicit(config), ...(await planFiles(places, []))];
  return { files: [...new Set(files.map(({ file }) => file))], folders: [...places.listed] };
}

function planExplicit({ serversConfig }: Config): PlannedFile[] {
  if (serversConfig === undefined) return [];
  const file = isInline(serversConfig) ? EXPLICIT_CLIENT : serversConfig;
  return [{ file, scope: "explicit", folder: undefined, row: EXPLICIT_ROW, layer: -1 }];
}

/** The variable may hold the configuration itself, as JSON. */
function isInline(serversConfig: string): boolean {
  return /^[{[]/.test(serversConfig);
}

async function planFiles(places: Places, problems: DiscoveryProblem[]): Promise<readonly PlannedFile[]> {
  const report = (where: string, message: string) => {
    if (!problems.some((known) => known.where === where)) problems.push({ where, message });
  };
  const found = await Promise.all(
    CLIENTS.flatMap((row) => row.paths.map((pattern) => ({ row, pattern }))).map(async ({ row, pattern }) =>
      (await locate(pattern, places, report)).map((place) => ({ ...place, row })),
    ),
  );
  const files = found.flat();
  // Where the project is the home, its files are the user's own.
  const own = new Set(files.filter(({ scope }) => scope !== "project").map(({ file }) => file));
  return files
    .filter(({ scope, file }) => scope !== "project" || !own.has(file))
    .map((place, layer) => ({ ...place, layer }));
}

/** Every file once, however many rows it has. */
async function readAll(
  files: readonly PlannedFile[],
  { serversConfig }: Config,
): Promise<ReadonlyMap<string, ReadOutcome>> {
  const outcomes = new Map<string, ReadOutcome>();
  const waiting = [...new Set(files.map(({ file }) => file))].values();
  let roomBytes = MAX_TOTAL_BYTES;
  const takeBytes = (count: number) => {
    if (count > roomBytes) return false;
    roomBytes -= count;
    return true;
  };
  const work = async () => {
    for (const file of waiting) {
      const isText = file === EXPLICIT_CLIENT && serversConfig !== undefined;
      outcomes.set(
        file,
        await (isText ? parseConfigText(file, serversConfig) : readConfigFile(file, takeBytes)),
      );
    }
  };
  await Promise.all(Array.from({ length: MAX_OPEN_FILES }, work));
  return outcomes;
}

function createBudget(files: string[]): FillBudget {
  let chars = MAX_FILLED_CHARS;
  return {
    takeFile: (path) => {
      if (files.length === MAX_VALUE_READS) return false;
      files.push(path);
      return true;
    },
    takeChars: (length) => {
      if (length > chars) return false;
      chars -= length;
      return true;
    },
  };
}

function readDocument(
  document: ConfigDocument,
  file: PlannedFile,
  places: Places,
  sink: Sink,
  budget: FillBudget,
): void {
  const { row } = file;
  for (const list of row.switches?.(document, places.projectFolders) ?? []) {
    sink.switches.push({ client: row.client, list });
  }
  const reached = row.layout?.reach(document, places.projectFolders) ?? { kind: "nothing" };
  const report = createReport(document, sink.problems);
  if (reached.kind === "fault") {
    report(reached.path, reached.message);
  } else if (reached.kind === "entries") {
    for (const key of document.duplicateKeys(reached.path)) {
      report([...reached.path, key], "is defined more than once; the last definition is used");
    }
    readEntries(document, reached, file, { config: places.config, budget }, sink, report);
  }
}

function readEntries(
  document: ConfigDocument,
  reached: Extract<Reached, { readonly kind: "entries" }>,
  { row, scope, folder, layer, file }: PlannedFile,
  context: Pick<EntryContext, "config" | "budget">,
  sink: Sink,
  report: Report,
): void {
  const countBefore = sink.candidates.length;
  const [limit, used] =
    scope === "project"
      ? [MAX_PROJECT_SERVERS, sink.candidates.filter(isOfProject).length]
      : [MAX_SERVERS, countBefore];
  const room = limit - used;
  const inputs = readInputs(document.value, reached.path);
  const isBare = row.isBare === true;
  for (const { key, path, value } of reached.entries) {
    const origin: Origin = {
      client: row.client,
      scope,
      file,
      key,
      ...(folder === undefined ? {} : { folder }),
    };
    const dialect = reached.dialect ?? row.dialect;
    const outcome = readEntry(value, { ...context, origin, dialect, inputs, isBare });
    if (outcome.kind === "faults") {
      for (const fault of outcome.faults) report([...path, ...fault.path], fault.message, fault.isNote);
    } else if (outcome.kind === "toggle") {
      sink.toggles.push({ origin, layer, isOn: outcome.isOn, reason: outcome.reason });
    } else if (sink.candidates.length - countBefore < room) {
      sink.candidates.push({ definition: outcome.definition, off: outcome.off, layer, isBare });
    } else {
      report([], `has servers beyond the ${limit} that are read; they are left out`);
      return;
    }
  }
}

function isOfProject({ definition }: Candidate): boolean {
  return definition.origins[0].scope === "project";
}

/** What a file asks people for stands beside its servers. */
function readInputs(value: unknown, path: ValuePath): ReadonlyMap<string, string> {
  const inputs = valueAt(value, [...path.slice(0, -1), "inputs"]);
  const descriptions = new Map<string, string>();
  for (const input of Array.isArray(inputs) ? inputs : []) {
    if (!isObject(input) || typeof input["id"] !== "string") continue;
    if (typeof input["description"] === "string") descriptions.set(input["id"], input["description"]);
  }
  return descriptions;
}

type Report = (path: ValuePath, message: string, isNote?: true) => void;

function createReport(document: ConfigDocument, problems: DiscoveryProblem[]): Report {
  let count = 0;
  return (path, message, isNote) => {
    count++;
    const shown = renderPath(path);
    if (count <= MAX_PROBLEMS_PER_FILE) {
      const where = path.length === 0 ? document.file : document.place(path);
      const problem = { where, message: shown === "" ? message : `${shown}: ${message}` };
      problems.push(isNote === true ? { ...problem, isNote } : problem);
    } else if (count === MAX_PROBLEMS_PER_FILE + 1) {
      problems.push({ where: document.file, message: "has more faults, which are not listed" });
    }
  };
}
