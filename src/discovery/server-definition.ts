/** One upstream server as some configuration file defines it, ready to be started. */
export interface ServerDefinition {
  /** The key in the file; unique among the definitions of one discovery. */
  readonly name: string;
  /** A Python identifier, unique; the sandbox calls the server `mcp_<alias>`. */
  readonly alias: string;
  readonly description: string;
  readonly transport: {
    readonly kind: "stdio";
    readonly command: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly cwd: string | undefined;
  };
  readonly origin: { readonly file: string; readonly key: string };
}

/** A configuration that could not be used: said to the user, and never in the way of the others. */
export interface DiscoveryProblem {
  /** The file, with `:line:column` where the fault has a place. */
  readonly where: string;
  readonly message: string;
}

export interface Discovery {
  readonly servers: readonly ServerDefinition[];
  readonly problems: readonly DiscoveryProblem[];
}
