/** What JSON-RPC has no code for: the server's own reasons. */
const SERVER_ERROR = -32000;

/** What a refusal says beside its status and message. */
export interface RefusalOptions {
  /** The code of JSON-RPC. */
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer to a request that is not served, in the form that MCP clients show to their users. */
export function refuse(status: number, message: string, options: RefusalOptions = {}): Response {
  const { code = SERVER_ERROR, headers = {} } = options;
  return Response.json(
    { jsonrpc: "2.0", error: { code, message }, id: null },
    { status, headers: { "cache-control": "no-store", ...headers } },
  );
}
