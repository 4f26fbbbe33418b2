const MIN_SECRET_CHARS = 6;

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
