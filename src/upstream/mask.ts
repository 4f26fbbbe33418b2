const MIN_SECRET_CHARS = 6;

/**
 * A function that replaces the values of a server's own environment by `***`. What a server prints goes to logs and,
 * in error messages, into the sandbox, and a token must be in neither. Very short values are no secrets and would
 * make ordinary text unreadable.
 */
export function createMask(env: Readonly<Record<string, string>>): (text: string) => string {
  const secrets = Object.values(env)
    .filter((value) => value.length >= MIN_SECRET_CHARS)
    .sort((one, other) => other.length - one.length); // a value may contain another
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, "***"), text);
}
