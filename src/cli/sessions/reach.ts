import type { ArgsDef } from "citty";
import { loadSettings } from "../../config/load-file.ts";
import { loadOwnToken } from "../../config/own-token.ts";
import type { CliContext } from "../context.ts";
import { settingOverrides } from "../setting-flags.ts";

/** Which server is meant, and who asks. */
export const SERVER_FLAGS = {
  url: {
    type: "string",
    valueHint: "url",
    description: "address of the server; default http://127.0.0.1:8848, or as the settings say",
  },
  "token-file": {
    type: "string",
    valueHint: "file",
    description: 'your token, in a file of lines of "name token"; or set MCP_BRIDGE_HTTP_TOKEN',
  },
  as: { type: "string", valueHint: "name", description: "whose token to use, where there are several" },
  config: { type: "string", valueHint: "file", description: "read settings from this file" },
} as const satisfies ArgsDef;

/** The sessions of the server that the flags, or else the settings, name. */
export async function reachSessions(args: Readonly<Record<string, unknown>>, { io }: CliContext) {
  const flag = (name: keyof typeof SERVER_FLAGS) => {
    const value = args[name];
    return typeof value === "string" ? value : undefined;
  };
  const { http } = await loadSettings(io.env, settingOverrides(args));
  // A file that was typed is meant, whatever is set.
  const list = flag("token-file") === undefined ? io.env["MCP_BRIDGE_HTTP_TOKEN"]?.trim() : undefined;
  const token = await loadOwnToken({ list: list || undefined, file: http.tokenFile, name: flag("as") });
  const { reachServer } = await import("../../app/running-server.ts");
  return reachServer(http, { url: flag("url"), token });
}
