import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { defineCommand } from "citty";
import type { Config } from "../config/config.ts";
import { loadSettings } from "../config/load-file.ts";
import { hideVariables, variableNamesOf, wordsOf } from "../discovery/describe.ts";
import { discover } from "../discovery/discover.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import { codeVariables } from "../discovery/trust/pin.ts";
import { isSameSubject, realFolder, type TrustSubject, trustSubject } from "../discovery/trust/subject.ts";
import { type TrustEntry, TrustStore } from "../discovery/trust/trust-store.ts";
import { usage } from "./arguments.ts";
import { confirm } from "./confirm.ts";
import type { CliContext, CliIo } from "./context.ts";
import { print, printJson, reportProblems } from "./output.ts";
import { commandLine, printable } from "./printable.ts";

const EXIT_REFUSED = 1;

/** `sandpy trust` */
export const trustCommand = defineCommand({
  meta: { name: "trust", description: "Let the servers that a project's files define be started." },
  args: {
    dir: { type: "positional", required: false, description: "the project (default: this folder)" },
    yes: { type: "boolean", alias: "y", description: "do not ask" },
    list: { type: "boolean", description: "show everything that is trusted" },
    revoke: { type: "boolean", description: "trust the project no longer" },
    json: { type: "boolean", description: "print JSON" },
  },
  run: ({ args, data }) => trust({ ...args, dir: args.dir ?? "." }, data),
});

interface TrustOptions {
  readonly dir: string;
  readonly yes?: boolean | undefined;
  readonly list?: boolean | undefined;
  readonly revoke?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** A server of the project, and whether it is trusted. */
interface Candidate {
  readonly server: ServerDefinition;
  readonly subject: TrustSubject;
  readonly state: "trusted" | "new" | "changed";
}

async function trust(options: TrustOptions, { io }: CliContext): Promise<number> {
  if (options.list === true && options.revoke === true) throw usage("--list and --revoke exclude each other");
  const config = await loadSettings(io.env);
  const store = new TrustStore(config.dataDir);
  if (options.list === true) return listTrusted(await store.read(), options, io);
  // Where a process runs has no symbolic links in its path: what it finds there must be what is trusted here.
  const folder = await realFolder(resolve(options.dir));
  if (options.revoke === true) return revoke(folder, store, config, options, io);
  const facts = await stat(folder).catch(() => undefined); // missing, or not ours to see
  if (facts?.isDirectory() !== true) {
    throw usage(
      `${JSON.stringify(options.dir)} is not a folder that can be read`,
      "Give the folder of a project.",
    );
  }
  return trustProject(folder, store, config, options, io);
}

async function trustProject(
  folder: string,
  store: TrustStore,
  config: Config,
  { yes, json }: TrustOptions,
  io: CliIo,
): Promise<number> {
  const entries = await store.read(); // first: a store that cannot be relied on is an error here
  const candidates = await findCandidates(folder, config, entries, io);
  const open = candidates.filter(({ state }) => state !== "trusted");
  const shown = renderCandidates(folder, candidates, config);
  if (json !== true) await print(io, shown);
  else if (yes !== true) io.stderr.write(shown); // nobody agrees to what was not shown
  if (open.length > 0 && yes !== true) {
    if (!io.stdinIsTerminal) {
      const hint = "Look at what they would start, then type sandpy trust --yes.";
      throw usage("nobody sits at a terminal to confirm what to trust", hint);
    }
    const what = open.length === 1 ? "this server" : `these ${open.length} servers`;
    if (!(await confirm(io, `Trust ${what}? What they start runs as you, outside of the sandbox.`))) {
      io.stderr.write("sandpy: nothing was trusted\n");
      return EXIT_REFUSED;
    }
  }
  if (open.length > 0) {
    // What was shown is what is trusted, whatever the files say by now.
    const at = new Date().toISOString();
    const added = open.map(({ subject: { folder: real, file, key, pin } }) => ({
      folder: real,
      file,
      key,
      pin,
      at,
    }));
    await store.update((known) => [
      ...known.filter((entry) => !added.some((one) => isSameSubject(one, entry))),
      ...added,
    ]);
  }
  if (json === true)
    return printJson(io, { folder, servers: candidates.map((one) => describe(one, config)) });
  return open.length === 0
    ? 0
    : print(io, `Trusted. A change of what they start asks again; "sandpy trust --revoke" takes it back.\n`);
}

/** The servers that only need trust, and those that have it. */
async function findCandidates(
  folder: string,
  config: Config,
  entries: readonly TrustEntry[],
  io: CliIo,
): Promise<readonly Candidate[]> {
  const { servers, problems } = await discover(
    { ...config, projectDir: folder, trustProject: false },
    { selfPath: io.selfPath },
  );
  const candidates: Candidate[] = [];
  for (const server of servers) {
    const subject = await trustSubject(server);
    if (subject === undefined || !isWorthTrusting(server)) continue;
    const known = entries.find((entry) => isSameSubject(entry, subject));
    const state = known === undefined ? "new" : known.pin === subject.pin ? "trusted" : "changed";
    candidates.push({ server, subject, state });
  }
  reportProblems(
    io,
    problems.filter(({ where }) => where.startsWith(folder)),
    { notes: false },
  );
  return candidates;
}

/** Whether nothing but trust, or what the user does otherwise, stands in its way. */
function isWorthTrusting({ availability }: ServerDefinition): boolean {
  const { kind } = (availability.kind === "disabled" ? availability.otherwise : availability) ?? availability;
  return kind !== "forbidden" && kind !== "self";
}

async function revoke(
  folder: string,
  store: TrustStore,
  config: Config,
  { json }: TrustOptions,
  io: CliIo,
): Promise<number> {
  const folders = new Set([await realFolder(folder)]);
  // A project's files may lie above the folder: what trusting it has added is what revoking takes away.
  for (const { subject } of await findCandidates(folder, config, [], io)) folders.add(subject.folder);
  let revoked: readonly TrustEntry[] = [];
  if ((await store.read()).some((entry) => folders.has(entry.folder))) {
    await store.update((known) => {
      revoked = known.filter((entry) => folders.has(entry.folder));
      return known.filter((entry) => !folders.has(entry.folder));
    });
  }
  if (json === true) return printJson(io, { folder, revoked });
  const names = revoked.map(({ key }) => printable(key)).join(", ");
  return print(
    io,
    revoked.length === 0 ? `Nothing is trusted in ${printable(folder)}.\n` : `No longer trusted: ${names}.\n`,
  );
}

function listTrusted(entries: readonly TrustEntry[], { json }: TrustOptions, io: CliIo): Promise<number> {
  if (json === true) return printJson(io, { trusted: entries });
  if (entries.length === 0) return print(io, "No project is trusted.\n");
  const folders = [...new Set(entries.map(({ folder }) => folder))].sort();
  const lines = folders.flatMap((folder) => [
    printable(folder),
    ...entries
      .filter((entry) => entry.folder === folder)
      .map(({ key, file, at }) => `  ${printable(key)}  ${printable(file)}  since ${printable(at)}`),
  ]);
  return print(io, `${lines.join("\n")}\n`);
}

function renderCandidates(folder: string, candidates: readonly Candidate[], config: Config): string {
  if (candidates.length === 0)
    return `No file of ${printable(folder)} defines a server that could be trusted.\n`;
  const open = candidates.filter(({ state }) => state !== "trusted");
  if (open.length === 0) return `Everything in ${printable(folder)} is trusted already.\n`;
  return `${open.map((candidate) => renderCandidate(candidate, config)).join("\n")}\n`;
}

function renderCandidate({ server, subject, state }: Candidate, { env }: Config): string {
  const { transport, name } = server;
  const words = wordsOf(transport).map((word) => hideVariables(word, env));
  const changed = state === "changed" ? ", changed since you trusted it" : "";
  const off = server.availability.kind === "disabled" ? ", switched off" : "";
  const lines = [
    `${printable(name)} (${printable(subject.file)} in ${printable(subject.folder)}${changed}${off})`,
    transport.kind === "stdio"
      ? `  starts    ${commandLine(words)}`
      : `  contacts  ${printable(words.join(" "))}`,
  ];
  if (transport.kind === "stdio" && transport.cwd !== undefined)
    lines.push(`  in        ${printable(transport.cwd)}`);
  const names = variableNamesOf(transport);
  if (names.length > 0) {
    lines.push(
      `  ${transport.kind === "stdio" ? "variables" : "headers  "} ${names.map(printable).join(", ")}`,
    );
  }
  for (const source of server.sources) lines.push(`  takes     ${printable(source)}`);
  const code = transport.kind === "stdio" ? codeVariables(transport.env) : [];
  if (code.length > 0)
    lines.push(`  beware    ${code.map(printable).join(", ")} can make it run other code, or talk to others`);
  return `${lines.join("\n")}\n`;
}

function describe({ server, subject, state }: Candidate, { env }: Config) {
  const { transport, name } = server;
  const words = wordsOf(transport).map((word) => hideVariables(word, env));
  return {
    name,
    folder: subject.folder,
    file: subject.file,
    key: subject.key,
    wasTrusted: state === "trusted",
    changed: state === "changed",
    ...(transport.kind === "stdio"
      ? { command: words, cwd: transport.cwd ?? null, variables: variableNamesOf(transport) }
      : { url: words[0], headers: variableNamesOf(transport) }),
    sources: server.sources,
  };
}
