// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of paths, see `locate`
import { BRACES, CLINE, CONTINUE, CURSOR, GENERIC, LITERAL, VSCODE, WINDSURF } from "../dialects.ts";
import { at, servers } from "../layouts.ts";
import type { ClientRow } from "./row.ts";

const CODE = "{Code,Code - Insiders,VSCodium,VSCodium - Insiders}";
/** Where extensions keep their files in VS Code and its relatives. */
const STORAGE = "<config>/{Code,Code - Insiders,VSCodium,Cursor,Windsurf}/User/globalStorage";

/** Clients that are editors or live in one. */
export const EDITORS: readonly ClientRow[] = [
  {
    client: "Cursor",
    paths: ["./.cursor/mcp.json", "~/.cursor/mcp.json"],
    layout: servers("mcpServers"),
    dialect: CURSOR,
  },
  {
    client: "VS Code",
    paths: [
      "./.vscode/mcp.json",
      `<config>/${CODE}/User/mcp.json`,
      `<config>/${CODE}/User/profiles/*/mcp.json`,
    ],
    layout: servers("servers"),
    dialect: VSCODE,
  },
  {
    client: "VS Code",
    paths: ["./.vscode/settings.json", `<config>/${CODE}/User/settings.json`],
    layout: at(["mcp", "servers"], ["mcp.servers"]),
    dialect: VSCODE,
  },
  {
    client: "VS Code",
    paths: ["./.devcontainer/devcontainer.json", "./.devcontainer.json"],
    layout: at(["customizations", "vscode", "mcp", "servers"]),
    dialect: VSCODE,
  },
  {
    client: "VS Code",
    paths: ["./*.code-workspace"],
    layout: at(["settings", "mcp", "servers"], ["settings", "mcp.servers"]),
    dialect: VSCODE,
  },
  {
    client: "Windsurf",
    paths: ["~/.codeium/{windsurf,windsurf-next}/mcp_config.json", "~/.codeium/mcp_config.json"],
    layout: servers("mcpServers"),
    dialect: WINDSURF,
  },
  {
    client: "Devin",
    paths: ["./.devin/mcp_config.local.json", "./.devin/mcp_config.json", "<xdg>/devin/mcp_config.json"],
    layout: servers("mcpServers"),
    dialect: GENERIC,
  },
  {
    client: "Zed",
    paths: [
      "./.zed/settings.json",
      {
        linux: "<xdg>/zed/settings.json",
        darwin: "<xdg>/zed/settings.json",
        win32: "<config>/Zed/settings.json",
      },
    ],
    layout: at(["context_servers"]),
    dialect: LITERAL,
  },
  {
    client: "JetBrains Copilot",
    paths: [
      {
        linux: "<xdg>/github-copilot/intellij/mcp.json",
        darwin: "<xdg>/github-copilot/intellij/mcp.json",
        win32: "<local>/github-copilot/intellij/mcp.json",
      },
    ],
    layout: servers("servers"),
    dialect: GENERIC,
  },
  {
    client: "Junie",
    paths: ["./.junie/mcp/mcp.json", "~/.junie/mcp/mcp.json"],
    layout: servers("mcpServers"),
    dialect: GENERIC,
  },
  {
    client: "JetBrains AI Assistant",
    paths: ["./.ai/mcp/mcp.json", "~/.ai/mcp/mcp.json"],
    layout: servers("mcpServers"),
    dialect: GENERIC,
  },
  {
    client: "Cline",
    paths: [
      "${CLINE_MCP_SETTINGS_PATH}",
      "${CLINE_DATA_DIR}/settings/cline_mcp_settings.json",
      "${CLINE_DIR:-~/.cline}/data/settings/cline_mcp_settings.json",
      "~/.cline/mcp.json",
      `${STORAGE}/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`,
    ],
    layout: servers("mcpServers"),
    dialect: CLINE,
    isFirstOnly: true,
  },
  {
    client: "Roo Code",
    paths: ["./.roo/mcp.json", `${STORAGE}/rooveterinaryinc.roo-cline/settings/mcp_settings.json`],
    layout: servers("mcpServers"),
    dialect: CLINE,
  },
  {
    client: "Kilo Code (legacy)",
    paths: [
      "./.kilocode/mcp.json",
      `${STORAGE}/kilocode.kilo-code/settings/mcp_settings.json`,
      "~/.kilocode/cli/global/settings/mcp_settings.json",
    ],
    layout: servers("mcpServers"),
    dialect: CLINE,
  },
  {
    client: "Continue",
    paths: ["./.continue/mcpServers/*.{yaml,yml,json}", "~/.continue/mcpServers/*.{yaml,yml,json}"],
    layout: servers("mcpServers"),
    dialect: CONTINUE,
  },
  {
    client: "Continue",
    paths: ["./.continue/config.{yaml,yml}", "~/.continue/config.{yaml,yml}"],
    layout: at(["mcpServers"]),
    dialect: CONTINUE,
  },
  {
    client: "Augment",
    paths: ["./.augment/settings.local.json", "./.augment/settings.json", "~/.augment/settings.json"],
    layout: at(["mcpServers"]),
    dialect: GENERIC,
  },
  { client: "CodeGeeX", paths: ["./.codegeex/mcp.json"], layout: servers("mcpServers"), dialect: GENERIC },
  {
    client: "Abacus",
    paths: ["./.abacusai/mcp.json", "~/.abacusai/mcp.json"],
    layout: servers("mcpServers"),
    dialect: BRACES,
  },
];
