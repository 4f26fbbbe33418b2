/** Words that other tools have for a command, by the command they were typed after, and what to type here. */
const GUESSES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sandpy: {
    exec: "sandpy run",
    http: "sandpy serve --http",
    init: "sandpy install",
    list: "sandpy servers",
    login: "sandpy auth SERVER",
    logout: "sandpy auth SERVER --logout",
    ls: "sandpy servers",
    ps: "sandpy sessions",
    pull: "sandpy image pull",
    python: "sandpy run",
    search: "sandpy tools --search WORDS",
    setup: "sandpy install",
    start: "sandpy serve",
    uninstall: "sandpy install CLIENT --uninstall",
    version: "sandpy --version",
  },
  "sandpy config": {
    edit: "sandpy config path",
    list: "sandpy config",
    set: "sandpy config path",
    show: "sandpy config",
  },
  "sandpy image": { ls: "sandpy image list" },
  "sandpy memory": {
    cat: "sandpy memory show",
    get: "sandpy memory show",
    ls: "sandpy memory list",
    rm: "sandpy memory delete",
  },
  "sandpy memory tools": {
    get: "sandpy memory tools show",
    ls: "sandpy memory tools list",
    rm: "sandpy memory tools delete",
  },
  "sandpy sessions": {
    delete: "sandpy sessions end",
    kill: "sandpy sessions end",
    ls: "sandpy sessions list",
  },
};

/** What to type in place of `word` after `path`, where another tool's word was guessed. */
export function hintForGuess(path: string, word: string): string | undefined {
  const known = GUESSES[path] ?? {};
  return Object.hasOwn(known, word) ? `Type "${known[word]}".` : undefined;
}
