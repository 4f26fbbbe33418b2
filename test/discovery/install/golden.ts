import { PROGRAM } from "./rig.ts";

/** What people have in the files of their clients, and what becomes of it: client, path, before, after. */
export const GOLDEN: readonly (readonly [string, string, string, string])[] = [
  [
    "claude-desktop",
    ".config/Claude/claude_desktop_config.json",
    '{\n  "globalShortcut": "",\n  "mcpServers": {\n    "a": {\n      "command": "x"\n    }\n  }\n}\n',
    `{\n  "globalShortcut": "",\n  "mcpServers": {\n    "a": {\n      "command": "x"\n    },\n    "sandpy": {\n      "command": "${PROGRAM}",\n      "args": ["serve"]\n    }\n  }\n}\n`,
  ],
  [
    "claude-code",
    ".claude.json",
    '{\n  "numStartups": 3,\n  "projects": {"/x": {"mcpServers": {}}}\n}',
    `{\n  "numStartups": 3,\n  "projects": {"/x": {"mcpServers": {}}},\n  "mcpServers": {\n    "sandpy": {\n      "type": "stdio",\n      "command": "${PROGRAM}",\n      "args": ["serve"],\n      "env": {}\n    }\n  }\n}`,
  ],
  [
    "cursor",
    ".cursor/mcp.json",
    '{"mcpServers":{}}',
    `{"mcpServers":{\n  "sandpy": {\n    "command": "${PROGRAM}",\n    "args": ["serve"]\n  }\n}}`,
  ],
  [
    "vscode",
    ".config/Code/User/mcp.json",
    '{\r\n\t// servers\r\n\t"servers": {\r\n\t\t"a": { "command": "x" }, // one\r\n\t},\r\n\t"inputs": [],\r\n}\r\n',
    `{\r\n\t// servers\r\n\t"servers": {\r\n\t\t"a": { "command": "x" }, // one\r\n\t\t"sandpy": {\r\n\t\t\t"type": "stdio",\r\n\t\t\t"command": "${PROGRAM}",\r\n\t\t\t"args": ["serve"]\r\n\t\t},\r\n\t},\r\n\t"inputs": [],\r\n}\r\n`,
  ],
  [
    "windsurf",
    ".codeium/windsurf/mcp_config.json",
    '\uFEFF{\n    "mcpServers": {\n    }\n}\n',
    `\uFEFF{\n    "mcpServers": {\n        "sandpy": {\n            "command": "${PROGRAM}",\n            "args": ["serve"]\n        }\n    }\n}\n`,
  ],
  [
    "codex",
    ".codex/config.toml",
    '# mine\nmodel = "x" # y\n\n[mcp_servers.a]\ncommand = "c"\n\n[tui]\nz = 1\n',
    `# mine\nmodel = "x" # y\n\n[mcp_servers.a]\ncommand = "c"\n\n[tui]\nz = 1\n\n[mcp_servers.sandpy]\ncommand = "${PROGRAM}"\nargs = ["serve"]\n`,
  ],
  [
    "gemini",
    ".gemini/settings.json",
    '{\n  "theme": "x" /* dark */\n  // no servers yet\n}\n',
    `{\n  "theme": "x", /* dark */\n  "mcpServers": {\n    "sandpy": {\n      "command": "${PROGRAM}",\n      "args": ["serve"]\n    }\n  }\n  // no servers yet\n}\n`,
  ],
  [
    "opencode",
    ".config/opencode/opencode.jsonc",
    '{\n  "mcp": { "servers": { "a": { "type": "local", "command": ["x"] } } } // 2\n}\n',
    `{\n  "mcp": { "servers": { "a": { "type": "local", "command": ["x"] }, "sandpy": { "type": "local", "command": ["${PROGRAM}", "serve"] } } } // 2\n}\n`,
  ],
  [
    "zed",
    ".config/zed/settings.json",
    '// Zed settings\n{\n  "theme": "One",\n  // servers\n  "context_servers": {\n    "a": { "command": "x", "args": [] }, // trailing\n  },\n}\n',
    `// Zed settings\n{\n  "theme": "One",\n  // servers\n  "context_servers": {\n    "a": { "command": "x", "args": [] }, // trailing\n    "sandpy": {\n      "command": "${PROGRAM}",\n      "args": ["serve"],\n      "env": {}\n    },\n  },\n}\n`,
  ],
];
