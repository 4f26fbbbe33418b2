import { z } from "zod";

const tokenObjectSchema = z.record(z.string(), z.string());

/** Tokens by name, of JSON; `undefined` where it is something else. */
export function parseTokenObject(text: string): Readonly<Record<string, string>> | undefined {
  try {
    return tokenObjectSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // the error would quote the text
  }
}
