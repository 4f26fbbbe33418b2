import { createHash } from "node:crypto";
import type { ServerDefinition } from "../server-definition.ts";

/**
 * Variables that make a program run other code than its command says: loaders, start-up files, search paths. Their
 * values belong to what is trusted; those of all others may hold a token that changes.
 */
const CODE_VARIABLES =
  /^(PATH|PATHEXT|COMSPEC|SHELL|ENV|BASH_ENV|ZDOTDIR|IFS|LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|NODE_REPL_EXTERNAL_MODULE|ELECTRON_RUN_AS_NODE|BUN_.*|DENO_.*|NPM_CONFIG_.*|PYTHON.*|PIP_.*|UV_.*|VIRTUAL_ENV|CONDA_.*|RUBYOPT|RUBYLIB|GEM_.*|BUNDLE_.*|PERL5?.*|PHP.*|LUA_.*|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|CLASSPATH|DOTNET_.*|CORECLR_.*|COR_.*|GOFLAGS|RUSTC_WRAPPER|GIT_.*|SSH_.*|EDITOR|VISUAL|PAGER|BROWSER|DOCKER_.*|CONTAINERS?_.*)$/i;

/** The names of the variables of an entry that decide which code runs. */
export function codeVariables(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(env)
    .filter((name) => CODE_VARIABLES.test(name))
    .sort();
}

/**
 * What the user trusts of a server, as SHA-256 in hex: what would be started or contacted, and the values of those
 * variables that decide which code runs. The values of other variables and of headers are left out.
 */
export function pinOf({ transport, fingerprint }: ServerDefinition): string {
  const code =
    transport.kind === "stdio" ? codeVariables(transport.env).map((name) => [name, transport.env[name]]) : [];
  return createHash("sha256")
    .update(JSON.stringify([fingerprint, code]))
    .digest("hex");
}
