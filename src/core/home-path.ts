/** A path as people write it, `~` for their home: it reaches the sandbox, which need not know who the user is. */
export function shortenHome(path: string, home: string | undefined): string {
  return home !== undefined && home.length > 1 && path.startsWith(`${home}/`)
    ? `~${path.slice(home.length)}`
    : path;
}

/** The same for paths in a text. */
export function shortenHomes(text: string, home: string | undefined): string {
  return home !== undefined && home.length > 1 ? text.replaceAll(`${home}/`, "~/") : text;
}
