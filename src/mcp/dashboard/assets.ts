import { createHash } from "node:crypto";
import PAGE_SCRIPT from "./page.client.js" with { type: "text" };
import PAGE_STYLE from "./page.css" with { type: "text" };

export { PAGE_SCRIPT, PAGE_STYLE };

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Our own style and script and nothing else, and no other page around ours. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src ${hashOf(PAGE_STYLE)}`,
  `script-src ${hashOf(PAGE_SCRIPT)}`,
  "connect-src 'self'",
  "form-action 'self'",
  "img-src data:",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");
