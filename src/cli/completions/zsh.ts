import type { ArgumentWords, Candidates, CommandWords, FlagWords } from "./words.ts";

/** Renders the script for zsh: a file `_sandpy` in a folder of `fpath`, or to be sourced once compinit has run. */
export function renderZsh(commands: readonly CommandWords[]): string {
  return `#compdef sandpy
# Completion of sandpy for zsh, made by "sandpy completions zsh".

_sandpy_ask() {
  local -a names
  local expl
  names=(\${(f)"$(command sandpy __complete "$@" 2>/dev/null </dev/null)"})
  _wanted "$1" expl "\${1%s}" compadd -a names
}

${commands.map(renderFunction).join("\n")}
if [[ $funcstack[1] == _sandpy ]]; then
  _sandpy "$@"
else
  compdef _sandpy sandpy
fi
`;
}

function renderFunction({ path, flags, arguments: own, commands }: CommandWords): string {
  const specs = [
    ...flags.map(renderFlag),
    ...(commands.length > 0 ? ["'1: :->command'", "'*:: :->rest'"] : own.map(renderArgument)),
  ];
  const states = [
    ...(commands.length > 0 ? [renderCommands(path, commands)] : []),
    ...(own.some(({ candidates }) => isTools(candidates))
      ? ['    tools) _sandpy_ask tools "$line[1]" && ret=0 ;;\n']
      : []),
  ];
  const cases = states.length === 0 ? "" : `  case $state in\n${states.join("")}  esac\n`;
  return `${functionOf(path)}() {
  local curcontext=$curcontext state ret=1
  local -a line
  typeset -A opt_args
  _arguments -C \\
${specs.map((spec) => `    ${spec}`).join(" \\\n")} && ret=0
${cases}  return ret
}
`;
}

function renderCommands(path: string, commands: CommandWords["commands"]): string {
  const described = commands.map(({ name, description }) => `        ${quote(`${name}:${description}`)}\n`);
  const calls = commands.map(({ name }) => `        ${name}) ${functionOf(`${path} ${name}`)} && ret=0 ;;\n`);
  return `    command)
      local -a commands=(
${described.join("")}      )
      _describe command commands && ret=0
      ;;
    rest)
      case $line[1] in
${calls.join("")}      esac
      ;;
`;
}

function renderFlag({ names, description, value, isRepeated }: FlagWords): string {
  const about = `[${escapeSpec(description)}]`;
  const end = value === undefined ? "" : `:${names[0]?.replace(/^-+/, "")}:${action(value)}`;
  const [long = "", short] = names;
  const equals = value === undefined ? "" : "=";
  const many = isRepeated ? "*" : "";
  if (short === undefined) return quote(`${many}${long}${equals}${about}${end}`);
  const plus = value === undefined ? "" : "+";
  const prefix = isRepeated ? "'*'" : quote(`(${names.join(" ")})`);
  return `${prefix}{${long}${equals},${short}${plus}}${quote(`${about}${end}`)}`;
}

function renderArgument({ name, candidates, isRequired, isMany }: ArgumentWords, index: number): string {
  const place = isMany ? "*:" : isRequired ? `${index + 1}:` : `${index + 1}::`;
  return quote(`${place}${escapeSpec(name)}:${isTools(candidates) ? "->tools" : action(candidates)}`);
}

/** One that begins with a space is called as it is written. */
function action(candidates: Candidates): string {
  switch (candidates.kind) {
    case "files":
      return "_files";
    case "folders":
      return "_files -/";
    case "words":
      return `(${candidates.words.join(" ")})`;
    case "asked":
      return ` _sandpy_ask ${candidates.what}`;
    case "nothing":
      return "";
  }
}

function isTools(candidates: Candidates): boolean {
  return candidates.kind === "asked" && candidates.what === "tools";
}

function functionOf(path: string): string {
  return `_${path.replaceAll(/[ -]/g, "_")}`;
}

function escapeSpec(text: string): string {
  return text.replaceAll(/[\\[\]:]/g, (character) => `\\${character}`);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
