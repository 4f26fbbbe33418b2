import { join } from "node:path";
import { forbidAll, isObject, type LoadPolicy, type Policy, systemPath } from "./policy.ts";
import { findMatch, parseServerList, type ServerList } from "./server-lists.ts";

const COPILOT_CLIENTS = ["Copilot CLI", "JetBrains Copilot"];
const VSCODE_CLIENTS = ["VS Code"];
const COPILOT_FOLDER = {
  linux: "/etc/github-copilot",
  darwin: "/Library/Application Support/GitHubCopilot",
  win32: "C:\\Program Files\\GitHubCopilot",
} as const;
const VSCODE_POLICY = "/etc/vscode/policy.json";

/** GitHub Copilot: `managed-settings.json` (docs.github.com, "Enterprise managed settings"). It holds in VS Code too. */
export const loadCopilotPolicy: LoadPolicy = async ({ config, files }) => {
  const clients = [...COPILOT_CLIENTS, ...VSCODE_CLIENTS];
  const read = await files.read(join(systemPath(config, COPILOT_FOLDER), "managed-settings.json"));
  if (read.kind === "absent") return undefined;
  if (read.kind === "unreadable") return forbidAll(clients, read);
  const list = (key: string) =>
    parseServerList(isObject(read.value) ? read.value[key] : undefined, `"${key}" in ${read.file}`);
  return createListPolicy(clients, list("deniedMcpServers"), list("allowedMcpServers"));
};

/**
 * VS Code on Linux: `/etc/vscode/policy.json` (code.visualstudio.com/docs/enterprise/policies). On Windows and macOS its
 * policies lie in the registry and in profiles, which are not read.
 */
export const loadVsCodePolicy: LoadPolicy = async ({ config, files }) => {
  if (config.platform === "win32" || config.platform === "darwin") return undefined;
  const read = await files.read(systemPath(config, { linux: VSCODE_POLICY, darwin: "", win32: "" }));
  if (read.kind === "absent") return undefined;
  if (read.kind === "unreadable") return forbidAll(VSCODE_CLIENTS, read);
  const values = isObject(read.value) ? read.value : {};
  const access = values["ChatMCP"];
  if (access === "none" || access === false) {
    return { clients: VSCODE_CLIENTS, forbids: () => `"ChatMCP" in ${read.file}` };
  }
  if (access === "registry") {
    const rule = `"ChatMCP" in ${read.file}: it allows servers of a registry alone, and whether this is one cannot be told`;
    return { clients: VSCODE_CLIENTS, forbids: () => rule };
  }
  const list = (key: string) => parseServerList(values[key], `"${key}" in ${read.file}`);
  return createListPolicy(VSCODE_CLIENTS, list("ChatDeniedMcpServers"), list("ChatAllowedMcpServers"));
};

/** A server that is denied is forbidden, and one that is not allowed where there is such a list. */
function createListPolicy(
  clients: readonly string[],
  denied: ServerList | undefined,
  allowed: ServerList | undefined,
): Policy | undefined {
  if (denied === undefined && allowed === undefined) return undefined;
  // As these clients do: a list that is not understood might have named any server.
  const broken = [denied, allowed].find((list) => list !== undefined && list.faulty > 0);
  if (broken !== undefined) {
    const rule = `${broken.place}, which has ${broken.faulty} entries that nobody understands`;
    return { clients, forbids: () => rule };
  }
  return {
    clients,
    forbids(server) {
      if (denied !== undefined && findMatch([denied], server) !== undefined) return denied.place;
      return allowed === undefined || findMatch([allowed], server) !== undefined ? undefined : allowed.place;
    },
  };
}
