import * as z from "zod";
import { LOG_LEVELS } from "../core/log.ts";

const MAX_TIMER_SECONDS = 2_147_483; // timers hold 32 bits of milliseconds
const MAX_ID = 4_294_967_294; // 2^32 - 1 is "no id" to the kernel
const MIN_MEMORY_BYTES = 6 * 1024 ** 2; // what the engines accept at least
const MEMORY_UNITS: Readonly<Record<string, number>> = { "": 0, b: 0, k: 1, m: 2, g: 3, t: 4 };

/** A schema from text; `expected` completes the sentence "… is "x": expected". */
function setting<T>(expected: string, parse: (text: string) => T | undefined) {
  return z
    .string()
    .transform((text, context) => {
      const value = parse(text);
      if (value === undefined) context.addIssue({ code: "custom", message: expected });
      return value as T;
    })
    .optional();
}

function choice<T extends string>(values: readonly T[], fold: (text: string) => string) {
  const last = values.at(-1);
  return setting(`${values.slice(0, -1).join(", ")} or ${last}`, (text) =>
    values.find((value) => value === fold(text)),
  );
}

function wholeNumber(unit: string, max: number) {
  return setting(`a whole ${unit} from 1 to ${max}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    return value >= 1 && value <= max ? value : undefined;
  });
}

const seconds = wholeNumber("number of seconds", MAX_TIMER_SECONDS);

const memory = setting(`a size of at least 6m, such as 512m or 2g (b, k, m, g, t)`, (text) => {
  const match = /^(\d{1,15}(?:\.\d{1,6})?) ?([kmgt]?)(?:i?b)?$/i.exec(text);
  if (match === null) return undefined;
  const bytes = Math.floor(Number(match[1]) * 1024 ** (MEMORY_UNITS[match[2]?.toLowerCase() ?? ""] ?? 0));
  return bytes >= MIN_MEMORY_BYTES && Number.isSafeInteger(bytes) ? bytes : undefined;
});

const cpus = setting("a number above 0, such as 2 or 0.5", (text) => {
  const value = /^\d{1,4}(\.\d{1,6})?$/.test(text) ? Number(text) : 0;
  return value > 0 ? value : undefined;
});

const containerUser = setting("uid:gid in numbers and not root, such as 65534:65534", (text) => {
  const [uid = 0, gid = 0] = /^(\d{1,10}):(\d{1,10})$/.exec(text)?.slice(1).map(Number) ?? [];
  return uid > 0 && uid <= MAX_ID && gid <= MAX_ID ? `${uid}:${gid}` : undefined;
});

/** These end up as arguments of the engine: one that starts with a dash would be an option there. */
const argument = (what: string) =>
  setting(`${what}, which cannot start with "-" or contain white space`, (text) =>
    /^[^-\s]\S*$/.test(text) ? text : undefined,
  );

const flag = setting("1, true, 0 or false", (text) => {
  const word = text.toLowerCase();
  if (word === "1" || word === "true") return true;
  return word === "0" || word === "false" ? false : undefined;
});

const path = setting("a path", (text) => (text.includes("\0") ? undefined : text));

const globs = setting("server names or globs with commas between, such as notes,git*", (text) => {
  const names = text.split(",").map((name) => name.trim());
  return names.every((name) => name !== "" && name.length <= 256) ? names : undefined;
});

/** One row for each variable that the bridge reads; absent stays `undefined`. Unknown variables are ignored. */
export const settingsSchema = z.object({
  MCP_BRIDGE_RUNTIME: choice(["auto", "podman", "docker"], (text) => text.toLowerCase()),
  MCP_BRIDGE_OCI_RUNTIME: argument("the name or path of an OCI runtime"),
  MCP_BRIDGE_IMAGE: argument("the name of a container image"),
  MCP_BRIDGE_TIMEOUT: seconds,
  MCP_BRIDGE_MAX_TIMEOUT: seconds,
  MCP_BRIDGE_MEMORY: memory,
  MCP_BRIDGE_PIDS: wholeNumber("number of processes", 4_194_304),
  MCP_BRIDGE_CPUS: cpus,
  MCP_BRIDGE_CONTAINER_USER: containerUser,
  MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: seconds,
  MCP_BRIDGE_UPSTREAM_IDLE_TIMEOUT: seconds,
  MCP_BRIDGE_STATE_DIR: path,
  MCP_BRIDGE_MAX_OUTPUT: wholeNumber("number of characters", 16_777_216),
  MCP_BRIDGE_OUTPUT_MODE: choice(["compact", "toon"], (text) => text.toLowerCase()),
  MCP_BRIDGE_STATELESS: flag,
  MCP_BRIDGE_LOG_LEVEL: choice(LOG_LEVELS, (text) => text.toUpperCase()),
  MCP_BRIDGE_ALLOW_SELF_SERVER: flag,
  MCP_BRIDGE_TRUST_PROJECT: flag,
  MCP_BRIDGE_ADD_SERVERS: globs,
  MCP_SERVERS_CONFIG: path,
});

/** The name of a variable that {@link settingsSchema} knows. */
export type SettingName = keyof typeof settingsSchema.shape;

/** All of them, in the order of the documentation. */
export const SETTING_NAMES = Object.keys(settingsSchema.shape) as readonly SettingName[];
