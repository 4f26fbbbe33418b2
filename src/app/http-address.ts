const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** Whether it means every address of this machine. */
export function isWildcard(host: string): boolean {
  return WILDCARDS.has(host);
}

/** An address or name as it stands in a URL. */
export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
