// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of paths, see `locate`
import type { PathPattern } from "../places.ts";

/** A client that can be told of us: where its files are, and how an entry looks there. */
export interface InstallTarget {
  /** What users type. */
  readonly id: string;
  /** Its name in the table of clients. */
  readonly client: string;
  /** What people call it. */
  readonly name: string;
  /** It is started by a desktop, whose PATH is not that of a shell. */
  readonly isGraphical: boolean;
  /** The user's file: of several the first that exists, else the first. */
  readonly user: PathPattern;
  /** Its file in a project, below the project's folder; `undefined` where it has none. */
  readonly project: string | undefined;
  /** Files and folders of which one is there where the client was ever used. */
  readonly signs: readonly PathPattern[];
  /** Programs of which one is on the PATH where the client is installed. */
  readonly programs: readonly string[];
  /** The way to the servers in a file. */
  readonly key: readonly string[];
  /** What an entry says beside the command. */
  readonly shape: "plain" | "typed" | "typed-with-env" | "with-env" | "opencode";
  /** What a file begins with that did not exist. */
  readonly preamble?: Readonly<Record<string, string>>;
}

/** The name of our entry in every client. */
export const ENTRY_NAME = "sandpy";

const CODES = [
  ["vscode", "VS Code", "Code", "code"],
  ["vscode-insiders", "VS Code Insiders", "Code - Insiders", "code-insiders"],
  ["vscodium", "VSCodium", "VSCodium", "codium"],
] as const;

/** In the order of lists. The files are those of the table of clients, which is what finds the entry again. */
export const TARGETS: readonly InstallTarget[] = [
  {
    id: "claude-desktop",
    client: "Claude Desktop",
    name: "Claude Desktop",
    isGraphical: true,
    user: {
      linux: "<config>/Claude/claude_desktop_config.json",
      darwin: "<config>/Claude/claude_desktop_config.json",
      win32: "{<local>/Packages/Claude_*/LocalCache/Roaming,<config>}/Claude/claude_desktop_config.json",
    },
    project: undefined,
    signs: [
      {
        linux: "<config>/Claude",
        darwin: "<config>/Claude",
        win32: "{<local>/Packages/Claude_*,<config>/Claude}",
      },
    ],
    programs: ["claude-desktop"],
    key: ["mcpServers"],
    shape: "plain",
  },
  {
    id: "claude-code",
    client: "Claude Code",
    name: "Claude Code",
    isGraphical: false,
    user: "${CLAUDE_CONFIG_DIR:-~}/.claude.json",
    project: ".mcp.json",
    signs: ["${CLAUDE_CONFIG_DIR:-~}/.claude.json", "${CLAUDE_CONFIG_DIR:-~/.claude}"],
    programs: ["claude"],
    key: ["mcpServers"],
    shape: "typed-with-env",
  },
  {
    id: "cursor",
    client: "Cursor",
    name: "Cursor",
    isGraphical: true,
    user: "~/.cursor/mcp.json",
    project: ".cursor/mcp.json",
    signs: ["~/.cursor", "<config>/Cursor"],
    programs: ["cursor"],
    key: ["mcpServers"],
    shape: "plain",
  },
  ...CODES.map(
    ([id, name, folder, program]): InstallTarget => ({
      id,
      client: "VS Code",
      name,
      isGraphical: true,
      user: `<config>/${folder}/User/mcp.json`,
      project: id === "vscode" ? ".vscode/mcp.json" : undefined,
      signs: [`<config>/${folder}/User`],
      programs: [program],
      key: ["servers"],
      shape: "typed",
    }),
  ),
  {
    id: "windsurf",
    client: "Windsurf",
    name: "Windsurf",
    isGraphical: true,
    user: "~/.codeium/{windsurf,windsurf-next}/mcp_config.json",
    project: undefined,
    signs: ["~/.codeium/{windsurf,windsurf-next}", "<config>/Windsurf"],
    programs: ["windsurf"],
    key: ["mcpServers"],
    shape: "plain",
  },
  {
    id: "codex",
    client: "Codex",
    name: "Codex",
    isGraphical: false,
    user: "${CODEX_HOME:-~/.codex}/config.toml",
    project: ".codex/config.toml",
    signs: ["${CODEX_HOME:-~/.codex}"],
    programs: ["codex"],
    key: ["mcp_servers"],
    shape: "plain",
  },
  {
    id: "gemini",
    client: "Gemini CLI",
    name: "Gemini CLI",
    isGraphical: false,
    user: "~/.gemini/settings.json",
    project: ".gemini/settings.json",
    signs: ["~/.gemini/settings.json"],
    programs: ["gemini"],
    key: ["mcpServers"],
    shape: "plain",
  },
  {
    id: "opencode",
    client: "opencode",
    name: "opencode",
    isGraphical: false,
    user: "<xdg>/opencode/{opencode.json,opencode.jsonc,config.json}",
    project: "{opencode.json,opencode.jsonc}",
    signs: ["<xdg>/opencode"],
    programs: ["opencode"],
    key: ["mcp"],
    shape: "opencode",
    preamble: { $schema: "https://opencode.ai/config.json" },
  },
  {
    id: "zed",
    client: "Zed",
    name: "Zed",
    isGraphical: true,
    user: {
      linux: "<xdg>/zed/settings.json",
      darwin: "<xdg>/zed/settings.json",
      win32: "<config>/Zed/settings.json",
    },
    project: ".zed/settings.json",
    signs: [{ linux: "<xdg>/zed", darwin: "<xdg>/zed", win32: "<config>/Zed" }],
    programs: ["zed", "zeditor"],
    key: ["context_servers"],
    shape: "with-env",
  },
];

/** What an entry that starts a program says in the files of a client, as its documentation has it. */
export function createEntry(
  { shape }: InstallTarget,
  command: string,
  args: readonly string[],
): Readonly<Record<string, unknown>> {
  switch (shape) {
    case "opencode":
      return { type: "local", command: [command, ...args] };
    case "typed":
      return { type: "stdio", command, args };
    case "typed-with-env":
      return { type: "stdio", command, args, env: {} };
    case "with-env":
      return { command, args, env: {} };
    default:
      return { command, args };
  }
}
