/** A word as a POSIX shell has to be given it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The same for a path; `~` stays outside of the quotes, where it means the home. */
export function shellPath(path: string): string {
  if (!path.startsWith("~/")) return shellWord(path);
  return path === "~/" ? path : `~/${shellWord(path.slice(2))}`;
}
