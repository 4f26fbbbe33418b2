import type { Candidates, CommandWords } from "./words.ts";

/** Renders the script for bash from 3.2 on, which is what macOS has; it needs no bash-completion. */
export function renderBash(commands: readonly CommandWords[]): string {
  const valueFlags = commands.flatMap(({ path, flags }) =>
    flags
      .filter(({ value }) => value !== undefined)
      .flatMap(({ names }) => names.map((name) => `${path} ${name}`)),
  );
  const inner = commands.flatMap(({ path, commands: below }) => below.map(({ name }) => `${path} ${name}`));
  const values = commands.flatMap(({ path, flags }) =>
    flags.flatMap(({ names, value }) =>
      value === undefined || value.kind === "nothing"
        ? []
        : [`      ${names.map((name) => quote(`${path} ${name}`)).join(" | ")}) ${offer(value)} ;;`],
    ),
  );
  const flags = commands.map(
    ({ path, flags: own }) =>
      `      ${quote(path)}) _sandpy_words ${own.flatMap(({ names }) => names).join(" ")} ;;`,
  );
  const places = commands.flatMap(({ path, commands: below, arguments: own }) => [
    ...(below.length === 0
      ? []
      : [`      ${quote(`${path} 0`)}) _sandpy_words ${below.map(({ name }) => name).join(" ")} ;;`]),
    ...own.flatMap(({ candidates, isMany }, index) =>
      candidates.kind === "nothing"
        ? []
        : [`      ${isMany ? `${quote(`${path} `)}*` : quote(`${path} ${index}`)}) ${offer(candidates)} ;;`],
    ),
  ]);
  return `# Completion of sandpy for bash, made by "sandpy completions bash".

_sandpy_words() {
  local word
  for word in "$@"; do
    [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
  done
}

# Names are the words of strangers: nothing of them may be expanded.
_sandpy_ask() {
  local word
  while IFS= read -r word; do
    [[ $word == "$cur"* ]] && COMPREPLY+=("$(printf %q "$word")")
  done < <(command sandpy __complete "$@" 2>/dev/null </dev/null)
}

_sandpy_paths() {
  local word
  # Readline itself knows best how to complete and quote paths; older versions of bash cannot be told to.
  compopt -o "$2" 2>/dev/null && return
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(compgen "$1" -- "$cur")
}

_sandpy() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path=sandpy first="" flag="" word options=1 count=0 i
  COMPREPLY=()
  [[ $cur == "=" ]] && cur=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # bash takes --flag=value apart.
    if [[ -n $flag ]]; then
      [[ $word == "=" ]] || flag=
      continue
    fi
    if [[ -n $options ]]; then
      case "$path $word" in
${caseLines(valueFlags)})
          flag=$word
          continue
          ;;
      esac
      case $word in
        --) options= && continue ;;
        -?*) continue ;;
      esac
    fi
    if ((count == 0)); then
      case "$path $word" in
${caseLines(inner)})
          path="$path $word"
          continue
          ;;
      esac
      first=$word
    fi
    count=$((count + 1))
  done
  if [[ -n $flag ]]; then
    case "$path $flag" in
${values.join("\n")}
    esac
  elif [[ -n $options && $cur == -* ]]; then
    case $path in
${flags.join("\n")}
    esac
  else
    case "$path $count" in
${places.join("\n")}
    esac
  fi
}

complete -F _sandpy sandpy
`;
}

function offer(candidates: Candidates): string {
  switch (candidates.kind) {
    case "files":
      return "_sandpy_paths -f default";
    case "folders":
      return "_sandpy_paths -d dirnames";
    case "words":
      return `_sandpy_words ${candidates.words.join(" ")}`;
    case "asked":
      return candidates.what === "tools" ? '_sandpy_ask tools "$first"' : `_sandpy_ask ${candidates.what}`;
    case "nothing":
      return ":";
  }
}

function caseLines(words: readonly string[]): string {
  return words.map((word) => `        ${quote(word)}`).join(" | \\\n");
}

function quote(text: string): string {
  return `"${text}"`;
}
