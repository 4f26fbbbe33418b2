const MIN_SECRET_CHARS = 6;
const MAX_LOGGED_CHARS = 4096;

export type Mask = (text: string) => string;

/**
 * A function that replaces a server's own secrets (values of its environment, headers, parts of its URL) by `***`. What
 * a server prints goes to logs and, in error messages, into the sandbox, and a token must be in neither. Very short
 * values are no secrets and would make ordinary text unreadable.
 */
export function createMask(values: readonly string[]): Mask {
  const secrets = values
    .filter((value) => value.length >= MIN_SECRET_CHARS)
    .sort((one, other) => other.length - one.length); // a value may contain another
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
}

/**
 * The beginning of what a server said, for a log; the SDK's errors quote whole messages. It is masked first: a secret
 * that is cut in two is none that a mask would find.
 */
export function excerpt(text: string, mask: Mask, maxChars = MAX_LOGGED_CHARS): string {
  return mask(text).slice(0, maxChars).toWellFormed();
}
