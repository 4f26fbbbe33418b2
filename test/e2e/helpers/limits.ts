/** What a process may have, by the flag of `ulimit`: n descriptors, u processes. */
export type Limits = Readonly<Partial<Record<"n" | "u", number>>>;

/** The command that starts another under these limits. */
export function underLimits(
  limits: Limits,
  command: string,
  args: readonly string[],
): { command: string; args: string[] } {
  const entries = Object.entries(limits);
  if (entries.length === 0) return { command, args: [...args] };
  const set = entries.map(([flag, value]) => `ulimit -${flag} ${value}`).join(" && ");
  return { command: "bash", args: ["-c", `${set} && exec "$0" "$@"`, command, ...args] };
}
