/** A process that speaks MCP on its stdin and stdout. */
export interface StdioServer {
  readonly kind: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** What a file says about signing in to a server by OAuth; every part of it may be left to the server's metadata. */
export interface OAuthSettings {
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scopes?: readonly string[];
  /** The port of the loopback callback, where the client is registered with one. */
  readonly callbackPort?: number;
}

/** A server that is reached by URL. */
export interface RemoteServer {
  readonly kind: "remote";
  /** `auto` where the file does not say: streamable HTTP, and the older SSE where that is refused. */
  readonly protocol: "http" | "sse" | "auto";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined`: nothing is said, so it is tried when the server asks for it. `off`: the file forbids it. */
  readonly oauth: OAuthSettings | "off" | undefined;
}

/** Where a definition was found. */
export interface Origin {
  /** Whose file it is, such as `Cursor`. */
  readonly client: string;
  /**
   * `explicit`: the user named the file to us. `user`: it lies in a folder of the user's own. `project`: it lies in a
   * project, where a stranger may have put it. `system`: an administrator's.
   */
  readonly scope: "explicit" | "user" | "project" | "system";
  readonly file: string;
  /** The server's name in that file. */
  readonly key: string;
  /** For scope `project`: the folder that is trusted or not. */
  readonly folder?: string;
}

/** Whether a server may be started, and why not. The texts complete "server "x" …" and name no secret. */
export type Availability =
  | { readonly kind: "usable" }
  /** Switched off, in its own entry or elsewhere in its client's files. */
  | {
      readonly kind: "disabled";
      readonly reason: string;
      /** What it would be if it were switched on; absent: usable. */
      readonly otherwise?: Availability;
    }
  /** Something only the user can give: `environment variable TOKEN`, `an answer to the prompt "Key"`, … */
  | {
      readonly kind: "needs";
      readonly what: readonly string[];
      /** Environment variables alone are not enough. */
      readonly isMoreThanVariables?: true;
    }
  /** It comes from a project that the user has not trusted, or that has `changed` since. */
  | { readonly kind: "untrusted"; readonly folder: string; readonly changed: boolean }
  /** A policy forbids it; `rule` names the file and key, `remedy` what the user can do about it where that is little. */
  | { readonly kind: "forbidden"; readonly rule: string; readonly remedy?: string }
  /** It would start the bridge itself. */
  | { readonly kind: "self" };

/** Which tools of a server may be used: names or globs (`*`, `?`). `deny` wins. */
export interface ToolFilter {
  /** `undefined`: all. */
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
  /** What our own settings say beside; absent: nothing. */
  readonly policy?: ToolPolicy;
}

/** One pattern; `rule` is it as it was written, with its setting. */
export interface ToolRule {
  readonly glob: string;
  readonly rule: string;
  readonly where: string;
}

/** What the user's settings for us say about the tools of one server. `where` and `readOnly` name the setting. */
export interface ToolPolicy {
  /** `undefined`: all. */
  readonly allow: { readonly globs: readonly string[]; readonly where: string } | undefined;
  readonly deny: readonly ToolRule[];
  /** Calls that the user is asked about first; the word `destructive` as a glob stands for what may change things. */
  readonly ask: readonly ToolRule[];
  /** `undefined`: tools may change things. */
  readonly readOnly: string | undefined;
}

/** One upstream server as configuration files define it. */
export interface ServerDefinition {
  /** Unique among the definitions of one discovery: the key in the file, made distinct where it has to be. */
  readonly name: string;
  /** A Python identifier, unique; the sandbox calls the server `mcp_<alias>`. */
  readonly alias: string;
  readonly description: string;
  /** With all variables filled in, if it is usable. */
  readonly transport: StdioServer | RemoteServer;
  readonly availability: Availability;
  readonly tools: ToolFilter;
  /** What the file allows the server's start and one call to take; `undefined`: our own limits. */
  readonly startMs: number | undefined;
  readonly callMs: number | undefined;
  /** Every place that defines this same server; the first one counts. */
  readonly origins: readonly [Origin, ...Origin[]];
  /**
   * SHA-256 in hex of what would be started or contacted: command, arguments, folder, names of variables, URL, names of
   * headers. It holds no secret value in a form that could be read back, and does not change when only a token does.
   */
  readonly fingerprint: string;
  /** What of the environment and of files its values refer to, such as `header authorization: variable TOKEN`; sorted. */
  readonly sources: readonly string[];
  /** SHA-256 in hex of all that the user trusts, where a project defines it. `pinOf` makes it. */
  readonly pin: string;
}

/** A configuration that could not be used: said to the user, and never in the way of the others. */
export interface DiscoveryProblem {
  /** The file, with `:line:column` where the fault has a place. */
  readonly where: string;
  readonly message: string;
  /** Nothing is wrong: it only says what was left out. */
  readonly isNote?: true;
}

/** All that the files say: usable servers and those that are not, in order of precedence. */
export interface Discovery {
  readonly servers: readonly ServerDefinition[];
  readonly problems: readonly DiscoveryProblem[];
  /** Other files that values of servers were taken from, or would have been: a change of them is one of the servers. */
  readonly valueFiles?: readonly string[];
}
