/** What the codes of a file system mean, where the user can do something about it: a clause, and a hint. */
const REASONS: Readonly<Record<string, readonly [what: string, hint?: string]>> = {
  ENOSPC: ["the disk is full", "Free some space on it, then try again."],
  EDQUOT: ["the user's share of the disk is used up", "Free some space on it, then try again."],
  EFBIG: ["the file would be larger than this process may write", "Raise its limit (ulimit -f)."],
  ENOENT: ["there is no such file or folder"],
  EISDIR: ["it is a folder"],
  EROFS: ["it is on a file system that is read-only"],
  EACCES: ["permission is denied"],
  EPERM: ["it is not permitted"],
  ENAMETOOLONG: ["the path is too long"],
  ENOTDIR: ["a part of the path is not a folder"],
  ELOOP: ["it is a symbolic link, which is not followed"],
  EMFILE: ["too many files are open", "Raise the limit (ulimit -n)."],
};

/** Why something could not be done with a file, as a clause; `hint` is there where it is the same whatever the file is. */
export function explainFileFault(error: unknown): {
  readonly what: string;
  readonly hint: string | undefined;
} {
  const { code = "", message = String(error) } = error as Partial<NodeJS.ErrnoException>;
  const [what, hint] = REASONS[code] ?? [message];
  return { what, hint };
}
