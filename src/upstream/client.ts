import { Client, type VersionNegotiationOptions } from "@modelcontextprotocol/client";
import type { Log } from "../core/log.ts";
import { VERSION } from "../core/version.ts";
import { excerpt, type Mask } from "./mask.ts";

/** One MCP client, not yet connected, as every transport needs it. */
export interface NewClient {
  readonly client: Client;
  /** The server says that its tools changed, or lost its session and may have others now. */
  toolsChanged(): void;
  onToolsChanged(listener: () => void): void;
}

export interface ClientOptions {
  readonly mode: VersionNegotiationOptions["mode"];
  readonly server: string;
  readonly log: Log;
  readonly mask: Mask;
  /** Declares what the client can do and answers for it. */
  readonly prepare: (client: Client, mask: Mask) => void;
}

export function createClient({ mode, server, log, mask, prepare }: ClientOptions): NewClient {
  let onToolsChanged = () => {};
  const toolsChanged = () => onToolsChanged();
  const client = new Client(
    { name: "sandpy", version: VERSION },
    {
      versionNegotiation: mode === undefined ? {} : { mode },
      // In the newest revision this subscribes; a fetch is left to the next reader.
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: toolsChanged } },
    },
  );
  prepare(client, mask);
  client.onerror = ({ message }) =>
    log.debug("protocol fault of server", { server, detail: excerpt(message, mask) });
  return {
    client,
    toolsChanged,
    onToolsChanged: (listener) => {
      onToolsChanged = listener;
    },
  };
}
