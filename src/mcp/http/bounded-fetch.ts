import { readBounded } from "../../core/read-bounded.ts";

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
  const body = response.body === null ? null : await readBounded(response.body, MAX_BYTES);
  if (body === undefined) throw new Error(`the answer is larger than ${MAX_BYTES} bytes`);
  return new Response(body, { status: response.status });
}
