import { isAbsolute } from "node:path";
import { matchesStars } from "../../core/glob.ts";
import { forbidAll, isObject, type LoadPolicy, type SystemPath, systemPath } from "./policy.ts";

/** One client of the family: they share the format, and differ in names. */
interface Member {
  readonly client: string;
  readonly variable: string;
  readonly path: SystemPath;
  /** Names in its lists may hold `*`. */
  readonly hasGlobs: boolean;
}

const GEMINI: Member = {
  client: "Gemini CLI",
  variable: "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
  path: {
    linux: "/etc/gemini-cli/settings.json",
    darwin: "/Library/Application Support/GeminiCli/settings.json",
    win32: "C:\\ProgramData\\gemini-cli\\settings.json",
  },
  hasGlobs: false,
};
const QWEN: Member = {
  client: "Qwen Code",
  variable: "QWEN_CODE_SYSTEM_SETTINGS_PATH",
  path: {
    linux: "/etc/qwen-code/settings.json",
    darwin: "/Library/Application Support/QwenCode/settings.json",
    win32: "C:\\ProgramData\\qwen-code\\settings.json",
  },
  hasGlobs: true,
};

/** Gemini CLI: `mcp.allowed` and `mcp.excluded` of the system's settings (geminicli.com/docs/cli/enterprise). */
export const loadGeminiPolicy = createLoader(GEMINI);
/** Qwen Code: the same, with `*` in the names. */
export const loadQwenPolicy = createLoader(QWEN);

function createLoader({ client, variable, path, hasGlobs }: Member): LoadPolicy {
  return async ({ config, files }) => {
    const own = config.env[variable];
    const read = await files.read(own !== undefined && isAbsolute(own) ? own : systemPath(config, path));
    if (read.kind === "absent") return undefined;
    if (read.kind === "unreadable") return forbidAll([client], read);
    const { file, value } = read;
    const isOff = at(value, ["admin", "mcp", "enabled"]) === false;
    // The second way is how older versions say it.
    const allowed = namesAt(value, [["mcp", "allowed"], ["allowMCPServers"]]);
    const excluded = namesAt(value, [["mcp", "excluded"], ["excludeMCPServers"]]);
    if (!isOff && allowed === undefined && excluded === undefined) return undefined;
    const has = (names: readonly string[], key: string) =>
      names.some((name) => (hasGlobs ? matchesStars(name, key) : name === key));
    return {
      clients: [client],
      forbids({ origin: { key } }) {
        if (isOff) return `"admin.mcp.enabled" in ${file}`;
        if (excluded !== undefined && has(excluded.names, key)) return `"${excluded.label}" in ${file}`;
        return allowed === undefined || has(allowed.names, key) ? undefined : `"${allowed.label}" in ${file}`;
      },
    };
  };
}

/** The first list of names that there is. What is no list allows no name. */
function namesAt(value: unknown, paths: readonly (readonly string[])[]) {
  const path = paths.find((candidate) => at(value, candidate) !== undefined);
  if (path === undefined) return undefined;
  const list = at(value, path);
  const names = Array.isArray(list) ? list.filter((name) => typeof name === "string") : [];
  return { label: path.join("."), names };
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value);
}
