import { isInitializeRequest, isJSONRPCRequest, type RequestId } from "@modelcontextprotocol/server";

/** The JSON-RPC messages of a body, which may be one or, in the oldest revision, several. */
function messagesIn(body: unknown): readonly unknown[] {
  return Array.isArray(body) ? body : [body];
}

export function isInitialize(body: unknown): boolean {
  return messagesIn(body).some((message) => isInitializeRequest(message));
}

/** The ids of the requests in a body. */
export function requestIds(body: unknown): readonly RequestId[] {
  return messagesIn(body).flatMap((message) => (isJSONRPCRequest(message) ? [message.id] : []));
}

/** The JSON-RPC method of a body that is one message. */
export function methodOf(body: unknown): string | undefined {
  const method = (body as { readonly method?: unknown } | null | undefined)?.method;
  return typeof method === "string" ? method : undefined;
}

/** The ids of the requests that a body takes back. */
export function requestsCancelled(body: unknown): readonly RequestId[] {
  return messagesIn(body).flatMap((message) => {
    if (methodOf(message) !== "notifications/cancelled") return [];
    const { params } = message as { readonly params?: { readonly requestId?: unknown } | null };
    const id = params?.requestId;
    return typeof id === "string" || typeof id === "number" ? [id] : [];
  });
}
