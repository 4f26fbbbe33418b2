import type { ConfigOverrides } from "../../config/load.ts";
import { usage, valuesOf } from "../arguments.ts";

/** What the words after `sandpy run` ask for. Of `file` and `code`, one is there. */
export interface JobOptions {
  readonly file: string | undefined;
  readonly code: string | undefined;
  /** `sys.argv[1:]` */
  readonly argv: readonly string[];
  /** Absent: as the settings say. */
  readonly timeoutMs: number | undefined;
  /** Names or aliases of the servers that it may use. */
  readonly servers: readonly string[];
  /** Patterns of the tools that it may call; absent: all of those servers that the settings allow. */
  readonly allow: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** Folders of the host to see: `HOST:PATH[:ro]`. */
  readonly mounts: readonly string[];
  /** Files and folders to copy in. */
  readonly inputs: readonly string[];
  /** Where to put what the job leaves in its `out`; absent: it does not come back. */
  readonly out: string | undefined;
  readonly json: boolean;
  readonly verbose: boolean;
  readonly overrides: ConfigOverrides;
}

/** The variables that `--env` names: `NAME=VALUE`, or `NAME` for what it is in `own`. Throws `USAGE`; no value is in its words. */
export function parseEnv(
  given: unknown,
  own: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const pairs = valuesOf(given).map((text) => {
    const equals = text.indexOf("=");
    const name = equals === -1 ? text : text.slice(0, equals);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw usage(
        `--env has ${JSON.stringify(name)} for a name: expected letters, digits and _, such as TOKEN`,
      );
    }
    const value = equals === -1 ? own[name] : text.slice(equals + 1);
    if (value === undefined) {
      throw usage(
        `--env ${name}: ${name} is not set here`,
        `Set it before, or give its value: --env ${name}=VALUE`,
      );
    }
    return [name, value] as const;
  });
  return Object.fromEntries(pairs);
}
