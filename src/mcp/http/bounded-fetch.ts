import { Pieces } from "../../core/pieces.ts";

const TIMEOUT_MS = 5000;
const MAX_BYTES = 512 * 1024;

/** Fetches a small document within 5 s and 512 KiB; follows no redirect, since whom we trust said where it is. */
export async function fetchSmall(
  url: string | URL,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const response = await fetch(url, {
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers,
  });
  const chunks = new Pieces<Uint8Array>((parts) => Buffer.concat(parts));
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the answer is larger than ${MAX_BYTES} bytes`);
    chunks.add(chunk);
  }
  return new Response(chunks.take() ?? null, { status: response.status });
}
