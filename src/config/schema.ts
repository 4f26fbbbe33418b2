import type * as z from "zod";
import { LOG_FORMATS, LOG_LEVELS } from "../core/log.ts";
import { parseTokenList } from "./http-tokens.ts";

const MAX_TIMER_SECONDS = 2_147_483; // timers hold 32 bits of milliseconds
const MAX_ID = 4_294_967_294; // 2^32 - 1 is "no id" to the kernel
const MAX_GLOB_CHARS = 256;
const MIN_MEMORY_BYTES = 6 * 1024 ** 2; // what the engines accept at least
const MIN_PIDS = 3; // the supervisor, Python and the thread that reads what the host says
const MIN_CPUS = 0.01; // what the engines accept at least
const SIZE_UNITS: Readonly<Record<string, number>> = { "": 0, b: 0, k: 1, m: 2, g: 3, t: 4 };

/** What of zod says how values are written. */
export type Writing = Pick<typeof z, "array" | "boolean" | "enum" | "int" | "number" | "string" | "union">;

/** How a value stands in the configuration file, for editors. Who wants to know it brings zod: a start needs none of it. */
type Written = (zod: Writing) => z.ZodType;

/** How a setting is understood. Wherever it stands, it comes as text. */
interface SettingForm<T> {
  /** Completes the sentence "… is "x": expected". */
  readonly expected: string;
  /** The value; `undefined` where the text is none. */
  readonly parse: (text: string) => T | undefined;
  /** A part of what `parse` accepts. */
  readonly written: Written;
}

function setting<T>(
  expected: string,
  parse: SettingForm<T>["parse"],
  written: Written = (zod) => zod.string().min(1),
): SettingForm<T> {
  return { expected, parse, written };
}

function choice<const T extends string>(values: readonly T[], fold: (text: string) => string) {
  const last = values.at(-1);
  const expected = `${values.slice(0, -1).join(", ")} or ${last}`;
  return setting(
    expected,
    (text) => values.find((value) => value === fold(text)),
    (zod) => zod.enum(values),
  );
}

function wholeNumber(unit: string, max: number, min = 1) {
  const parse = (text: string) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    return value >= min && value <= max ? value : undefined;
  };
  return setting(`a whole ${unit} from ${min} to ${max}`, parse, (zod) => zod.int().min(min).max(max));
}

const seconds = wholeNumber("number of seconds", MAX_TIMER_SECONDS);

function size(expected: string, minBytes: number) {
  const written: Written = (zod) =>
    zod.union([
      zod.string().regex(/^\d{1,15}(\.\d{1,6})? ?[kmgtKMGT]?([iI]?[bB])?$/),
      zod.int().min(minBytes),
    ]);
  const parse = (text: string) => {
    const match = /^(\d{1,15}(?:\.\d{1,6})?) ?([kmgt]?)(?:i?b)?$/i.exec(text);
    if (match === null) return undefined;
    const bytes = Math.floor(Number(match[1]) * 1024 ** (SIZE_UNITS[match[2]?.toLowerCase() ?? ""] ?? 0));
    return bytes >= minBytes && Number.isSafeInteger(bytes) ? bytes : undefined;
  };
  return setting(expected, parse, written);
}

const memory = size("a size of at least 6m, such as 512m or 2g (b, k, m, g, t)", MIN_MEMORY_BYTES);
const quota = size("a size of at least 1k, such as 64m or 1g (b, k, m, g, t)", 1024);

const cpus = setting(
  `a number of at least ${MIN_CPUS}, such as 2 or 0.5`,
  (text) => {
    // JSON has numbers such as 0.30000000000000004; no engine counts that far.
    const value = /^\d{1,4}(\.\d{1,20})?$/.test(text) ? Math.round(Number(text) * 1e6) / 1e6 : 0;
    return value >= MIN_CPUS ? value : undefined;
  },
  (zod) => zod.number().min(MIN_CPUS).max(9999),
);

const containerUser = setting(
  "uid:gid in numbers and not root, such as 65534:65534",
  (text) => {
    const [uid = 0, gid = 0] = /^(\d{1,10}):(\d{1,10})$/.exec(text)?.slice(1).map(Number) ?? [];
    return uid > 0 && uid <= MAX_ID && gid <= MAX_ID ? `${uid}:${gid}` : undefined;
  },
  (zod) => zod.string().regex(/^[1-9]\d{0,9}:\d{1,10}$/),
);

const ARGUMENT = /^[^-\s]\S*$/;
/** These end up as arguments of the engine: one that starts with a dash would be an option there. */
const argument = (what: string) =>
  setting(
    `${what}, which cannot start with "-" or contain white space`,
    (text) => (ARGUMENT.test(text) ? text : undefined),
    (zod) => zod.string().regex(ARGUMENT),
  );

const flag = setting(
  "1, true, 0 or false",
  (text) => {
    const word = text.toLowerCase();
    if (word === "1" || word === "true") return true;
    return word === "0" || word === "false" ? false : undefined;
  },
  (zod) => zod.boolean(),
);

const path = setting("a path", (text) => (text.includes("\0") ? undefined : text));

/** What can stand in a list: something, and no comma. */
const LIST_ITEM = /^[^,]*[^,\s][^,]*$/;
const globs = (what: string, example: string) =>
  setting(
    `${what} with commas between, such as ${example}`,
    (text) => {
      const names = text === "" ? [] : text.split(",").map((name) => name.trim());
      return names.every((name) => name !== "" && name.length <= MAX_GLOB_CHARS) ? names : undefined;
    },
    (zod) => zod.array(zod.string().max(MAX_GLOB_CHARS).regex(LIST_ITEM)),
  );
const serverGlobs = globs("server names or globs", "notes,git*");
const toolGlobs = globs("tools or globs", "delete_*,notes/read_*");
const askGlobs = globs("tools, globs or the word destructive", "destructive,notes/write_*");

const switchOrPath = setting(
  "1, true, 0, false or a path",
  (text) => {
    const word = text.toLowerCase();
    if (word === "1" || word === "true") return true;
    if (word === "0" || word === "false") return false;
    return text.includes("\0") ? undefined : text;
  },
  (zod) => zod.union([zod.boolean(), zod.string().min(1)]),
);

const port = setting(
  "a port from 0 to 65535; 0 is any that is free",
  (text) => {
    const value = /^\d{1,5}$/.test(text) ? Number(text) : -1;
    return value >= 0 && value <= 65_535 ? value : undefined;
  },
  (zod) => zod.int().min(0).max(65_535),
);

const host = setting("an address or a name of this machine, such as 127.0.0.1 or 0.0.0.0", (text) =>
  /^[\w.:-]{1,253}$/.test(text.replace(/^\[(.*)\]$/, "$1")) ? text.replace(/^\[(.*)\]$/, "$1") : undefined,
);

const URL_PATH = /^(\/[\w.~-]+)+$/;
const urlPath = setting(
  "a path such as /mcp",
  (text) => (text.length <= 256 && URL_PATH.test(text) ? text : undefined),
  (zod) => zod.string().max(256).regex(URL_PATH),
);

const list = (expected: string, pattern: RegExp) =>
  setting(
    `${expected} with commas between`,
    (text) => {
      const names = text === "" ? [] : text.split(",").map((name) => name.trim());
      return names.every((name) => pattern.test(name)) ? names : undefined;
    },
    (zod) => zod.array(zod.string().regex(pattern.flags === "" ? pattern : LIST_ITEM)), // JSON Schema knows no flags
  );
const hostNames = list(
  "host names or addresses, such as tools.example.com or [fd00::1]:8848,",
  /^(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]{0,252}))(?::\d{1,5})?$/i,
);
const originList = list(
  "origins such as https://app.example.com",
  /^[a-z][a-z0-9+.-]*:\/\/[^\s/,"]{1,253}$/i,
);
const adminList = list(
  "names of tokens, or whole ids such as https://login.example.com|ada,",
  /^[^\s,]{1,1024}$/,
);
/** RFC 6749, section 3.3. */
const scopeList = list("scopes", /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,256}$/);

/** What is not on this machine is reached by HTTPS alone. */
const webAddress = setting("an https:// address; http:// only on this machine", (text) => {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, username, hash } = new URL(text);
  const isHere = hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
  const isSafe = protocol === "https:" || (protocol === "http:" && isHere);
  return isSafe && username === "" && hash === "" ? text : undefined;
});

const identifier = setting("a text without white space", (text) =>
  /^\S{1,1024}$/.test(text) ? text : undefined,
);

const tokens = setting(
  "a token of 16 characters or more, or name:token with commas between; `openssl rand -hex 32` makes one",
  parseTokenList,
);

/** What is said of one setting beside its form. */
interface Traits {
  /** Where it is in the configuration file: keys with dots between. */
  readonly key: string | undefined;
  /** The flag of the command line that sets it, without its dashes. */
  readonly flag: string | undefined;
  /** A list that makes something stricter: what stands in one place does not undo what stands in another. */
  readonly addsUp: boolean;
  /** The configuration file has an array for it. */
  readonly isList: boolean;
  /** Its value must not be shown. */
  readonly isSecret: boolean;
}

const NO_TRAITS = { flag: undefined, addsUp: false, isList: false, isSecret: false } as const;

function row<F extends SettingForm<unknown>>(
  key: string | undefined,
  form: F,
  traits: Partial<Traits> = {},
): Traits & { readonly form: F } {
  return { ...NO_TRAITS, ...traits, key, form };
}

/** One row for each variable that the bridge reads. Unknown variables are ignored. */
export const SETTINGS = {
  MCP_BRIDGE_RUNTIME: row(
    "runtime",
    choice(["auto", "podman", "docker"], (text) => text.toLowerCase()),
  ),
  MCP_BRIDGE_OCI_RUNTIME: row("ociRuntime", argument("the name or path of an OCI runtime")),
  MCP_BRIDGE_IMAGE: row("image", argument("the name of a container image"), { flag: "image" }),
  MCP_BRIDGE_TIMEOUT: row("timeout", seconds),
  MCP_BRIDGE_MAX_TIMEOUT: row("maxTimeout", seconds),
  MCP_BRIDGE_MEMORY: row("memory", memory, { flag: "memory" }),
  MCP_BRIDGE_PIDS: row("pids", wholeNumber("number of processes", 4_194_304, MIN_PIDS), { flag: "pids" }),
  MCP_BRIDGE_CPUS: row("cpus", cpus, { flag: "cpus" }),
  MCP_BRIDGE_CONTAINER_USER: row("containerUser", containerUser),
  MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: row("runtimeIdleTimeout", seconds),
  MCP_BRIDGE_UPSTREAM_IDLE_TIMEOUT: row("upstreamIdleTimeout", seconds),
  MCP_BRIDGE_MAX_SESSIONS: row("sessions.max", wholeNumber("number of sessions", 10_000)),
  MCP_BRIDGE_MAX_SESSIONS_PER_CALLER: row("sessions.maxPerCaller", wholeNumber("number of sessions", 10_000)),
  MCP_BRIDGE_SESSION_TTL: row("sessions.ttl", seconds),
  MCP_BRIDGE_STATE_DIR: row("stateDir", path),
  MCP_BRIDGE_PROJECTS_QUOTA: row("projectsQuota", quota),
  MCP_BRIDGE_MAX_OUTPUT: row("maxOutput", wholeNumber("number of characters", 16_777_216)),
  MCP_BRIDGE_OUTPUT_MODE: row(
    "outputMode",
    choice(["compact", "toon"], (text) => text.toLowerCase()),
  ),
  MCP_BRIDGE_STATELESS: row("stateless", flag),
  MCP_BRIDGE_LOG_LEVEL: row(
    "logLevel",
    choice(LOG_LEVELS, (text) => text.toUpperCase()),
  ),
  MCP_BRIDGE_LOG_FORMAT: row(
    "logFormat",
    choice(LOG_FORMATS, (text) => text.toLowerCase()),
  ),
  MCP_BRIDGE_ALLOW_SELF_SERVER: row("allowSelfServer", flag),
  MCP_BRIDGE_TRUST_PROJECT: row("trustProject", flag, { flag: "trust-project" }),
  MCP_BRIDGE_ADD_SERVERS: row("addServers", serverGlobs, { isList: true }),
  MCP_BRIDGE_ALLOW_SERVERS: row("policy.servers.allow", serverGlobs, { flag: "allow-server", isList: true }),
  MCP_BRIDGE_DENY_SERVERS: row("policy.servers.deny", serverGlobs, {
    flag: "deny-server",
    isList: true,
    addsUp: true,
  }),
  MCP_BRIDGE_ALLOW_TOOLS: row("policy.tools.allow", toolGlobs, { flag: "allow-tool", isList: true }),
  MCP_BRIDGE_DENY_TOOLS: row("policy.tools.deny", toolGlobs, {
    flag: "deny-tool",
    isList: true,
    addsUp: true,
  }),
  MCP_BRIDGE_ASK: row("policy.tools.ask", askGlobs, { flag: "ask", isList: true, addsUp: true }),
  MCP_BRIDGE_APPROVAL_TIMEOUT: row("policy.approvalTimeout", seconds),
  MCP_BRIDGE_READ_ONLY: row("policy.readOnly", flag, { flag: "read-only" }),
  MCP_BRIDGE_MAX_CALLS_PER_RUN: row("policy.maxCallsPerRun", wholeNumber("number of calls", 1_000_000_000), {
    flag: "max-calls",
  }),
  MCP_BRIDGE_AUDIT: row("audit.file", switchOrPath, { flag: "no-audit" }),
  MCP_BRIDGE_AUDIT_ARGUMENTS: row(
    "audit.arguments",
    choice(["hash", "masked"], (text) => text.toLowerCase()),
  ),
  MCP_BRIDGE_HTTP_HOST: row("http.host", host, { flag: "host" }),
  MCP_BRIDGE_HTTP_PORT: row("http.port", port, { flag: "port" }),
  MCP_BRIDGE_HTTP_PATH: row("http.path", urlPath, { flag: "path" }),
  MCP_BRIDGE_HTTP_ALLOW_HOSTS: row("http.allowHosts", hostNames, { flag: "allow-host", isList: true }),
  MCP_BRIDGE_HTTP_ALLOW_ORIGINS: row("http.allowOrigins", originList, { flag: "allow-origin", isList: true }),
  MCP_BRIDGE_HTTP_TOKEN: row(undefined, tokens, { isSecret: true }),
  MCP_BRIDGE_HTTP_TOKEN_FILE: row("http.tokenFile", path, { flag: "token-file" }),
  MCP_BRIDGE_HTTP_ISSUER: row("http.issuer", webAddress, { flag: "issuer" }),
  MCP_BRIDGE_HTTP_AUDIENCE: row("http.audience", identifier, { flag: "audience" }),
  MCP_BRIDGE_HTTP_JWKS: row("http.jwks", webAddress, { flag: "jwks" }),
  MCP_BRIDGE_HTTP_SCOPES: row("http.scopes", scopeList, { flag: "scope", isList: true }),
  MCP_BRIDGE_HTTP_PUBLIC_URL: row("http.publicUrl", webAddress, { flag: "public-url" }),
  MCP_BRIDGE_HTTP_GRACE: row("http.grace", wholeNumber("number of seconds", 3600), { flag: "grace" }),
  MCP_BRIDGE_HTTP_DASHBOARD: row("http.dashboard", flag, { flag: "dashboard" }),
  MCP_BRIDGE_HTTP_ADMINS: row("http.admins", adminList, { flag: "admin", isList: true }),
  MCP_BRIDGE_HTTP_METRICS_OPEN: row("http.metricsOpen", flag, { flag: "metrics-open" }),
  MCP_BRIDGE_HTTP_INSECURE_NO_AUTH: row(undefined, flag, { flag: "insecure-no-auth" }),
  MCP_BRIDGE_CONFIG: row(undefined, path, { flag: "config" }),
  MCP_SERVERS_CONFIG: row("serversConfig", path),
} as const;

/** The name of a variable that the bridge reads. */
export type SettingName = keyof typeof SETTINGS;

/** What a setting is once its text is understood. */
export type SettingValue<N extends SettingName> =
  (typeof SETTINGS)[N]["form"] extends SettingForm<infer T> ? T : never;

/** All of them, in the order of the documentation. */
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];
