import { defineCommand } from "citty";
import type { SignInDesk } from "../app/sign-ins.ts";
import type { Config } from "../config/config.ts";
import { loadSettings } from "../config/load-file.ts";
import { createLog } from "../core/log.ts";
import { safeWordsOf } from "../discovery/describe.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";
import type { SignInState } from "../upstream/oauth/sign-ins.ts";
import { usage } from "./arguments.ts";
import type { CliContext, CliIo } from "./context.ts";
import { findServer } from "./find-server.ts";
import { openBrowser } from "./open-browser.ts";
import { print, printJson } from "./output.ts";
import { commandLine, printable } from "./printable.ts";
import { stoppable } from "./stoppable.ts";
import type { Style } from "./style.ts";
import { renderTable, screenOf } from "./table.ts";

const TRY_MS = 30_000;

/** `sandpy auth` */
export const authCommand = defineCommand({
  meta: {
    name: "auth",
    description: "Sign in to an MCP server by OAuth, or show how things stand with all.",
  },
  args: {
    server: { type: "positional", required: false, description: "the server, by name or alias" },
    "no-browser": { type: "boolean", description: "open no browser, only print the address" },
    logout: { type: "boolean", description: "forget the sign-in to the server" },
    json: { type: "boolean", description: "print JSON" },
  },
  run: ({ args, data }) => authenticate({ ...args, noBrowser: args["no-browser"] }, data),
});

interface AuthOptions {
  readonly server?: string | undefined;
  readonly noBrowser?: boolean | undefined;
  readonly logout?: boolean | undefined;
  readonly json?: boolean | undefined;
}

async function authenticate(options: AuthOptions, { io }: CliContext): Promise<number> {
  const config = await loadSettings(io.env);
  const log = createLog(config.logLevel, (line) => io.stderr.write(line), config.logFormat);
  const { openSignIns } = await import("../app/sign-ins.ts");
  const desk = await openSignIns(config, { selfPath: io.selfPath, log });
  if (options.server !== undefined) {
    const server = findServer(desk.servers, options.server);
    return options.logout === true
      ? signOut(desk, server, options, io)
      : signIn(desk, server, options, config, io);
  }
  if (options.logout === true) throw usage("SERVER is missing", 'Type "sandpy auth SERVER --logout".');
  return listStates(desk, options, config, io);
}

async function signIn(
  desk: SignInDesk,
  server: ServerDefinition,
  options: AuthOptions,
  config: Config,
  io: CliIo,
): Promise<number> {
  desk.requireUsable(server);
  const name = printable(JSON.stringify(server.name));
  return stoppable(io, "the sign-in", async (signal) => {
    const state = await desk.signIn(server, {
      signal,
      present: async (url) => {
        io.stderr.write(`Sign in to ${name} on this page:\n\n  ${printable(url)}\n\n`);
        const isOpen = options.noBrowser !== true && (await openBrowser(url, config.env));
        io.stderr.write(
          isOpen ? "It is open in your browser. Waiting …\n" : "Open it in a browser. Waiting …\n",
        );
      },
    });
    const tools = await desk.tryOut(server, AbortSignal.any([signal, AbortSignal.timeout(TRY_MS)]));
    if (options.json === true) return await printJson(io, { ...describe(server, state), tools });
    const count = tools === 1 ? "1 tool" : `${tools} tools`;
    return await print(io, `Signed in to ${name}, which has ${count}.\n`);
  });
}

async function signOut(
  desk: SignInDesk,
  server: ServerDefinition,
  { json }: AuthOptions,
  io: CliIo,
): Promise<number> {
  const wasSignedIn = await desk.signOut(server);
  if (json === true) return printJson(io, describe(server, { kind: "none" }));
  const name = printable(JSON.stringify(server.name));
  return print(io, wasSignedIn ? `Signed out of ${name}.\n` : `Nobody was signed in to ${name}.\n`);
}

const COLUMNS = [
  { title: "NAME", minWidth: undefined },
  { title: "STATE", minWidth: undefined },
  { title: "SERVER", minWidth: 16 },
] as const;

async function listStates(
  desk: SignInDesk,
  { json }: AuthOptions,
  config: Config,
  io: CliIo,
): Promise<number> {
  const remote = desk.servers.filter(({ transport }) => transport.kind === "remote");
  const states = await Promise.all(
    remote.map(async (server) => ({ server, state: await desk.state(server) })),
  );
  if (json === true)
    return printJson(io, { servers: states.map(({ server, state }) => describe(server, state)) });
  if (states.length === 0)
    return print(
      io,
      "No server is reached by URL, so there is none to sign in to. For all servers, type: sandpy servers\n",
    );
  const screen = screenOf(io);
  const rows = states.map(({ server, state }) => [
    printable(server.name),
    renderState(state, screen.style),
    commandLine(safeWordsOf(server, config.env)),
  ]);
  const table = renderTable(COLUMNS, rows, screen).join("\n");
  const isDone = states.every(({ state }) => state.kind === "signed-in");
  return print(
    io,
    `${table}\n${isDone ? "" : "\nTo sign in to one that asks for it, type: sandpy auth SERVER\n"}`,
  );
}

function renderState(state: SignInState, { green, red, yellow }: Style): string {
  switch (state.kind) {
    case "signed-in": {
      if (state.canRenew || state.expiresAt === undefined) return green("signed in");
      const until = new Date(state.expiresAt).toISOString().slice(0, 16).replace("T", " ");
      return state.expiresAt < Date.now() ? red("ended") : green(`signed in until ${until} UTC`);
    }
    case "needed":
      return yellow("sign-in needed");
    case "none":
      return "-";
  }
}

function describe({ name }: ServerDefinition, state: SignInState) {
  const { kind } = state;
  if (kind !== "signed-in") return { name, state: kind };
  const expiresAt = state.expiresAt === undefined ? null : new Date(state.expiresAt).toISOString();
  return { name, state: kind, expiresAt, renews: state.canRenew };
}
