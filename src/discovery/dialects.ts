/** How a file may refer to what is not in it. */
export type VariableForm =
  /** `${NAME}` and `${NAME:-default}` */
  | "braces"
  /** `${env:NAME}` */
  | "env"
  /** `{env:NAME}` and `{file:path}` */
  | "curly"
  /** `$NAME`, anywhere */
  | "dollar"
  /** `$NAME`, alone or at the beginning of a path: nobody's password looks like that */
  | "leading-dollar"
  /** `%NAME%` */
  | "percent"
  /** `$env:NAME` */
  | "dollar-env"
  /** `${file:/path}` */
  | "file"
  /** `${workspaceFolder}`, `${userHome}`, `${pathSeparator}`, … */
  | "editor"
  /** `${input:id}`, `${command:id}`, `${config:id}`: answers of a person or an editor */
  | "inputs"
  /** `${{ secrets.NAME }}` */
  | "secrets";

/** What the same words mean in the files of different clients. */
export interface Dialect {
  readonly variables: ReadonlySet<VariableForm>;
  /** Milliseconds of one unit of `timeout`; `guess` takes less than 1000 for seconds and more for milliseconds. */
  readonly timeoutUnitMs: 1 | 1000 | "guess";
  /** What `timeout` limits. */
  readonly timeoutOf: "start" | "call";
  /** Smaller values of `timeout` are ignored. */
  readonly minTimeoutMs: number;
  /** What a URL without a type speaks. */
  readonly urlAlone: "auto" | "sse";
  /** What type `http` speaks: `auto` where the client falls back to SSE. */
  readonly typeHttp: "auto" | "http";
  /** The client runs values through a shell: backticks in them are commands. */
  readonly runsShell: boolean;
  /** An allow list of tools makes the client ignore its deny list. */
  readonly allowBeatsDeny: boolean;
  /** An empty allow list means no limit, instead of no tool. */
  readonly emptyAllowIsAll: boolean;
}

const PLAIN: Dialect = {
  variables: new Set(),
  timeoutUnitMs: 1000,
  timeoutOf: "call",
  minTimeoutMs: 0,
  urlAlone: "auto",
  typeHttp: "http",
  runsShell: false,
  allowBeatsDeny: false,
  emptyAllowIsAll: false,
};

function dialect(variables: readonly VariableForm[], rest: Partial<Dialect> = {}): Dialect {
  return { ...PLAIN, variables: new Set(variables), ...rest };
}

const MILLISECONDS = { timeoutUnitMs: 1 } as const;

/** Our own files, and those of clients that do not say what they know. */
export const GENERIC = dialect(
  ["braces", "env", "curly", "leading-dollar", "dollar-env", "editor", "inputs", "secrets"],
  { timeoutUnitMs: "guess" },
);
/** No variables at all: what looks like one is text. */
export const LITERAL = dialect([]);
export const LITERAL_MS = dialect([], MILLISECONDS);
export const CLAUDE_CODE = dialect(["braces"], { ...MILLISECONDS, minTimeoutMs: 1000 });
export const CURSOR = dialect(["env", "editor", "inputs"], MILLISECONDS);
export const VSCODE = dialect(["env", "editor", "inputs"], { ...MILLISECONDS, typeHttp: "auto" });
export const CLINE = dialect(["env", "editor"]);
export const WINDSURF = dialect(["env", "file"], MILLISECONDS);
export const BRACES = dialect(["braces", "env"], MILLISECONDS);
export const FACTORY = dialect(["braces"], { ...MILLISECONDS, allowBeatsDeny: true });
export const GEMINI = dialect(["braces", "dollar", "percent"], MILLISECONDS);
export const QWEN = dialect(["braces", "dollar"], { ...MILLISECONDS, urlAlone: "sse" });
export const OPENCODE = dialect(["curly"], { ...MILLISECONDS, timeoutOf: "start" });
export const CONTINUE = dialect(["secrets"], MILLISECONDS);
export const GOOSE = dialect(["braces"], { emptyAllowIsAll: true });
export const CRUSH = dialect(["braces", "dollar"], { runsShell: true });
export const MCPORTER = dialect(["braces", "dollar-env"], MILLISECONDS);
