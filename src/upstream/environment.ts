type Environment = Readonly<Record<string, string>>;

/**
 * What a server inherits from the bridge's environment. It is a list of what is let through, since nobody can list
 * all names under which secrets are kept. Proxies and certificates belong in it: without them a server behind a
 * company's proxy reaches nothing.
 */
const INHERITED = new Set([
  "HOME",
  "LOGNAME",
  "PATH",
  "SHELL",
  "TERM",
  "USER",
  "LANG",
  "LANGUAGE",
  "TZ",
  "TMPDIR",
  "XDG_CACHE_HOME",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_RUNTIME_DIR",
  "XDG_STATE_HOME",
  "NODE_EXTRA_CA_CERTS",
  "REQUESTS_CA_BUNDLE",
  "SSL_CERT_DIR",
  "SSL_CERT_FILE",
]);
const INHERITED_ON_WINDOWS = new Set([
  "APPDATA",
  "COMSPEC",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATHEXT",
  "PROCESSOR_ARCHITECTURE",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "USERNAME",
  "USERPROFILE",
  "WINDIR",
]);
const INHERITED_PATTERN = /^(LC_[A-Z]+|(HTTPS?|NO|ALL|FTP)_PROXY)$/i;

/**
 * The environment of one server: the safe part of the bridge's, then its own entry's, then `fixed`, which nothing
 * overrides. `BUN_*` is left out wherever it comes from, as for every child: it can make a Bun program run other code.
 */
export function serverEnvironment(
  env: Environment,
  own: Environment,
  fixed: Environment,
): Record<string, string> {
  const inherited = Object.entries(env).filter(
    ([name, value]) => isInherited(name) && !value.startsWith("()"),
  );
  const all = { ...Object.fromEntries(inherited), ...own, ...fixed };
  return Object.fromEntries(Object.entries(all).filter(([name]) => !name.startsWith("BUN_")));
}

function isInherited(name: string): boolean {
  const onWindows = process.platform === "win32";
  return (
    INHERITED.has(onWindows ? name.toUpperCase() : name) ||
    INHERITED_PATTERN.test(name) ||
    (onWindows && INHERITED_ON_WINDOWS.has(name.toUpperCase()))
  );
}
