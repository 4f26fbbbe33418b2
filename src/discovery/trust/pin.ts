import { createHash } from "node:crypto";
import type { RemoteServer, StdioServer } from "../server-definition.ts";

/**
 * Variables that make a program run other code than its command says, or send what it sends to somebody else: loaders,
 * start-up files, search paths, homes with settings in them, proxies, certificates. Their values belong to what is
 * trusted; those of others may hold a token that changes.
 */
const CODE_VARIABLES =
  /^(PATH|PATHEXT|COMSPEC|SHELL|ENV|BASH_ENV|ZDOTDIR|IFS|HOME|USERPROFILE|APPDATA|LOCALAPPDATA|XDG_.*|LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|NODE_REPL_EXTERNAL_MODULE|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|ELECTRON_RUN_AS_NODE|BUN_.*|DENO_.*|NPM_CONFIG_.*|COREPACK_.*|PYTHON.*|PIP_.*|PIPX_.*|UV_.*|VIRTUAL_ENV|CONDA_.*|RUBYOPT|RUBYLIB|GEM_.*|BUNDLE_.*|PERL5?.*|PHP.*|LUA_.*|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|CLASSPATH|DOTNET_.*|CORECLR_.*|COR_.*|GOFLAGS|GOPROXY|RUSTC_WRAPPER|CARGO_HOME|GIT_.*|SSH_.*|EDITOR|VISUAL|PAGER|BROWSER|DOCKER_.*|CONTAINERS?_.*|SSL_.*|OPENSSL_.*|CURL_.*|REQUESTS_.*|\w+_PROXY)$/i;
/** How an address begins, without the name and password that may stand before the host. */
const ADDRESS = /^\s*([a-z][a-z0-9+.-]*:)\/\/(?:[^/?#\s]*@)?([^/?#\s]*)/i;
const PATH_VALUE = /^\s*(?:\.{0,2}\/|~|\.{1,2}\\|[a-z]:[\\/]|\\\\)/i;

/** The names of the variables of an entry that decide which code runs. */
export function codeVariables(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(env)
    .filter((name) => CODE_VARIABLES.test(name))
    .sort();
}

/**
 * What the user trusts of a server, as SHA-256 in hex: what would be started or contacted; where its values come from;
 * the values of those variables that decide which code runs; and of others the host of an address, because that may be
 * where a program sends a token, and a path, because settings may lie there. All other values of variables and of
 * headers are left out. `written` has its variables not filled in: another environment is no change of the file.
 */
export function pinOf(
  fingerprint: string,
  written: StdioServer | RemoteServer,
  sources: readonly string[],
): string {
  const values = written.kind === "stdio" ? markVariables(written.env) : markSignIn(written);
  return createHash("sha256")
    .update(JSON.stringify([fingerprint, sources, values]))
    .digest("hex");
}

function markVariables(env: StdioServer["env"]): readonly unknown[] {
  const code = new Set(codeVariables(env));
  return Object.keys(env)
    .sort()
    .flatMap((name) => {
      const value = env[name] ?? "";
      if (code.has(name) || PATH_VALUE.test(value)) return [[name, value]];
      const [, protocol, host] = ADDRESS.exec(value) ?? [];
      return host === undefined ? [] : [[name, protocol, host]];
    });
}

/** What may be asked for in the user's name; the secret of the client is left out. */
function markSignIn({ oauth }: RemoteServer): readonly unknown[] {
  if (oauth === undefined || oauth === "off") return [];
  return [oauth.clientId ?? null, oauth.scopes ?? null];
}
