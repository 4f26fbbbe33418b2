// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of paths, see `locate`
import {
  BRACES,
  CLAUDE_CODE,
  CRUSH,
  CURSOR,
  FACTORY,
  GEMINI,
  GENERIC,
  GOOSE,
  LITERAL,
  LITERAL_MS,
  MCPORTER,
  OPENCODE,
  QWEN,
} from "../dialects.ts";
import { at, CLAUDE_PROJECTS, OPENCODE_LAYOUT, servers } from "../layouts.ts";
import {
  readAllowedAndExcluded,
  readAmpSwitches,
  readClaudeProjectSwitches,
  readClaudeSettingsSwitches,
  readToolSwitches,
} from "../switches.ts";
import type { ClientRow } from "./row.ts";

/** Clients that are programs of their own. */
export const AGENTS: readonly ClientRow[] = [
  {
    client: "Claude Code",
    paths: [
      {
        linux: "/etc/claude-code/managed-mcp.json",
        darwin: "/Library/Application Support/ClaudeCode/managed-mcp.json",
        win32: "C:/Program Files/ClaudeCode/managed-mcp.json",
      },
    ],
    layout: at(["mcpServers"]),
    dialect: CLAUDE_CODE,
  },
  {
    client: "Claude Code",
    paths: ["${CLAUDE_CONFIG_DIR:-~}/.claude.json"],
    layout: CLAUDE_PROJECTS,
    dialect: CLAUDE_CODE,
    switches: readClaudeProjectSwitches,
  },
  { client: "Claude Code", paths: ["./.mcp.json"], layout: servers("mcpServers"), dialect: CLAUDE_CODE },
  {
    client: "Claude Code",
    paths: ["${CLAUDE_CONFIG_DIR:-~}/.claude.json"],
    layout: at(["mcpServers"]),
    dialect: CLAUDE_CODE,
  },
  {
    client: "Claude Code",
    paths: [
      "./.claude/settings.local.json",
      "./.claude/settings.json",
      "${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json",
    ],
    dialect: CLAUDE_CODE,
    switches: readClaudeSettingsSwitches,
  },
  {
    client: "Claude Desktop",
    paths: [
      "<local>/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
      "<config>/Claude/claude_desktop_config.json",
    ],
    layout: at(["mcpServers"]),
    dialect: LITERAL_MS,
  },
  {
    client: "Copilot CLI",
    paths: ["./.github/mcp.json", "${COPILOT_HOME:-~/.copilot}/mcp-config.json"],
    layout: servers("mcpServers"),
    dialect: BRACES,
  },
  {
    client: "Codex",
    paths: ["./.codex/config.toml", "${CODEX_HOME:-~/.codex}/config.toml"],
    layout: at(["mcp_servers"]),
    dialect: LITERAL,
  },
  {
    client: "Gemini CLI",
    paths: [
      {
        linux: "${GEMINI_CLI_SYSTEM_SETTINGS_PATH:-/etc/gemini-cli/settings.json}",
        darwin: "${GEMINI_CLI_SYSTEM_SETTINGS_PATH:-/Library/Application Support/GeminiCli/settings.json}",
        win32: "${GEMINI_CLI_SYSTEM_SETTINGS_PATH:-C:/ProgramData/gemini-cli/settings.json}",
      },
      "./.gemini/settings.json",
      "~/.gemini/settings.json",
    ],
    layout: at(["mcpServers"]),
    dialect: GEMINI,
    switches: readAllowedAndExcluded,
  },
  {
    client: "Antigravity",
    paths: [
      "./.agents/mcp_config.json",
      "~/.gemini/config/mcp_config.json",
      "~/.gemini/antigravity*/mcp_config.json",
    ],
    layout: servers("mcpServers"),
    dialect: LITERAL_MS,
  },
  {
    client: "Qwen Code",
    paths: ["./.qwen/settings.json", "~/.qwen/settings.json"],
    layout: at(["mcpServers"]),
    dialect: QWEN,
    switches: readAllowedAndExcluded,
  },
  {
    client: "opencode",
    paths: [
      "${OPENCODE_CONFIG}",
      "./opencode.{jsonc,json}",
      "./.opencode/opencode.{jsonc,json}",
      "${OPENCODE_CONFIG_DIR}/opencode.{jsonc,json}",
      "<xdg>/opencode/{opencode.jsonc,opencode.json,config.json}",
    ],
    layout: OPENCODE_LAYOUT,
    dialect: OPENCODE,
    switches: readToolSwitches,
  },
  {
    client: "Kilo Code",
    paths: [
      "./{kilo.jsonc,kilo.json}",
      "./.kilo/{kilo.jsonc,kilo.json,opencode.jsonc,opencode.json,config.json}",
      "<xdg>/kilo/{kilo.jsonc,kilo.json,opencode.jsonc,opencode.json,config.json}",
    ],
    layout: OPENCODE_LAYOUT,
    dialect: OPENCODE,
    switches: readToolSwitches,
  },
  {
    client: "Goose",
    paths: [
      {
        linux: "<xdg>/goose/config.yaml",
        darwin: "<xdg>/goose/config.yaml",
        win32: "<config>/Block/goose/config/config.yaml",
      },
    ],
    layout: at(["extensions"]),
    dialect: GOOSE,
  },
  {
    client: "Amazon Q",
    paths: [
      "./.amazonq/cli-agents/*.json",
      "./.amazonq/{default,mcp}.json",
      "~/.aws/amazonq/{cli-agents,agents}/*.json",
      "~/.aws/amazonq/mcp.json",
    ],
    layout: at(["mcpServers"]),
    dialect: BRACES,
  },
  {
    client: "Kiro",
    paths: [
      "./.kiro/agents/*.json",
      "~/.kiro/agents/*.json",
      "./.kiro/settings/mcp.json",
      "~/.kiro/settings/mcp.json",
    ],
    layout: at(["mcpServers"]),
    dialect: BRACES,
  },
  {
    client: "Amp",
    paths: [
      {
        linux: "/etc/ampcode/managed-settings.json",
        darwin: "/Library/Application Support/ampcode/managed-settings.json",
        win32: "${ProgramData:-C:/ProgramData}/ampcode/managed-settings.json",
      },
      "./.amp/settings.{json,jsonc}",
      "<xdg>/amp/settings.{json,jsonc}",
      "<config>/{Code,Code - Insiders}/User/settings.json",
    ],
    layout: at(["amp.mcpServers"]),
    dialect: BRACES,
    switches: readAmpSwitches,
  },
  {
    client: "Warp",
    paths: ["./.warp/.mcp.json", "~/.warp/.mcp.json"],
    layout: servers("mcpServers"),
    dialect: BRACES,
  },
  {
    client: "LM Studio",
    paths: ["~/.lmstudio/mcp.json", "~/.cache/lm-studio/mcp.json"],
    layout: servers("mcpServers"),
    dialect: CURSOR,
    isFirstOnly: true,
  },
  {
    client: "Jan",
    paths: ["${JAN_DATA_FOLDER:-<data>/Jan/data}/mcp_config.json"],
    layout: servers("mcpServers"),
    dialect: LITERAL,
  },
  {
    client: "Factory Droid",
    paths: [
      "~/.factory/mcp.json",
      "./.factory/mcp.json",
      { darwin: "<config>/Factory Bridge/mcp.json", win32: "<config>/Factory Bridge/mcp.json" },
    ],
    layout: servers("mcpServers"),
    dialect: FACTORY,
  },
  {
    client: "Crush",
    paths: [
      "./{.crushrc,crushrc}",
      "./{.crush.json,crush.json}",
      "<xdg>/crush/crushrc",
      "${CRUSH_GLOBAL_CONFIG:-<xdg>/crush}/crush.json",
    ],
    layout: at(["mcp"]),
    dialect: CRUSH,
  },
  {
    client: "mcporter",
    paths: ["${MCPORTER_CONFIG}", "./config/mcporter.{json,jsonc}", "~/.mcporter/mcporter.{json,jsonc}"],
    layout: servers("mcpServers"),
    dialect: MCPORTER,
  },
  { client: "Rovo Dev", paths: ["~/.rovodev/mcp.json"], layout: servers("mcpServers"), dialect: GENERIC },
  {
    client: "Grok Build",
    paths: ["./.grok/config.toml", "~/.grok/config.toml"],
    layout: at(["mcp_servers"]),
    dialect: LITERAL,
  },
  {
    client: "Mistral Vibe",
    paths: ["./.vibe/config.toml", "~/.vibe/config.toml"],
    layout: at(["mcp_servers"]),
    dialect: LITERAL,
  },
  { client: "Muse", paths: ["<xdg>/muse/settings.json"], layout: at(["mcp_servers"]), dialect: GENERIC },
  { client: "Hermes", paths: ["~/.hermes/config.yaml"], layout: at(["mcp_servers"]), dialect: GENERIC },
  {
    client: "Kimi",
    paths: ["./.kimi-code/mcp.json", "~/{.kimi-code,.kimi}/mcp.json"],
    layout: servers("mcpServers"),
    dialect: GENERIC,
  },
  { client: "Pi", paths: ["~/.pi/agent/mcp.json"], layout: servers("mcpServers"), dialect: GENERIC },
  {
    client: "deepagents",
    paths: ["./.deepagents/.mcp.json", "~/.deepagents/.mcp.json"],
    layout: servers("mcpServers"),
    dialect: GENERIC,
  },
  {
    client: "nanocoder",
    paths: ["<xdg>/nanocoder/.mcp.json"],
    layout: servers("mcpServers"),
    dialect: GENERIC,
  },
  {
    client: "mux",
    paths: ["./.mux/mcp.jsonc", "~/.mux/mcp.jsonc"],
    layout: servers("servers"),
    dialect: GENERIC,
  },
  {
    client: "CodeArts",
    paths: ["./.codeartsdoer/codearts_cli.{jsonc,json}", "~/.codeartsdoer/codearts_cli.{jsonc,json}"],
    layout: OPENCODE_LAYOUT,
    dialect: OPENCODE,
  },
];
