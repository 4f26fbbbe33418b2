import type { Candidates, CommandWords } from "./words.ts";

/** Renders the script for fish from 3.0 on. */
export function renderFish(commands: readonly CommandWords[]): string {
  const valueFlags = commands.flatMap(({ path, flags }) =>
    flags
      .filter(({ value }) => value !== undefined)
      .flatMap(({ names }) => names.map((name) => `${path} ${name}`)),
  );
  const inner = commands.flatMap(({ path, commands: below }) => below.map(({ name }) => `${path} ${name}`));
  return `# Completion of sandpy for fish, made by "sandpy completions fish".

# Prints the command that is typed, how many arguments it has by now, whether flags can still come, and the first argument.
function __sandpy_here
    set -l path sandpy
    set -l count 0
    set -l flags 1
    set -l first
    set -l skip 0
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        if test $flags = 1
            switch "$path $word"
                case ${valueFlags.map(quote).join(" ")}
                    set skip 1
                    continue
            end
            switch "$word"
                case --
                    set flags 0
                    continue
                case -
                case '-*'
                    continue
            end
        end
        if test $count = 0
            switch "$path $word"
                case ${inner.map(quote).join(" ")}
                    set path "$path $word"
                    continue
            end
            set first "$word"
        end
        set count (math $count + 1)
    end
    printf '%s\\n' $path $count $flags "$first"
end

# Whether the command is this one, and it has as many arguments, or more with "many", or can have flags.
function __sandpy_at
    set -l here (__sandpy_here)
    test "$here[1]" = "$argv[1]"; or return 1
    switch "$argv[2]"
        case flags
            test $here[3] = 1
        case many
            test $here[2] -ge $argv[3]
        case '*'
            test $here[2] = "$argv[2]"
    end
end

function __sandpy_ask
    command sandpy __complete $argv 2>/dev/null </dev/null
end

function __sandpy_tools
    set -l here (__sandpy_here)
    __sandpy_ask tools $here[4]
end

complete -c sandpy -e
complete -c sandpy -f
${commands.flatMap(renderCommand).join("\n")}
`;
}

function renderCommand({ path, flags, arguments: own, commands }: CommandWords): readonly string[] {
  const line = (condition: string, rest: string, description: string) =>
    `complete -c sandpy -n ${quote(`__sandpy_at "${path}" ${condition}`)} ${rest}${
      description === "" ? "" : ` -d ${quote(description)}`
    }`;
  return [
    ...commands.map(({ name, description }) => line("0", `-a ${name}`, description)),
    ...flags.map(({ names, description, value }) => {
      const words = names.map((name) =>
        name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
      );
      return line("flags", `${words.join(" ")}${valueWords(value)}`, description);
    }),
    ...own.flatMap(({ name, candidates, isMany }, index) =>
      candidates.kind === "nothing"
        ? []
        : [line(isMany ? `many ${index}` : String(index), offer(candidates), name)],
    ),
  ];
}

function valueWords(value: Candidates | undefined): string {
  if (value === undefined) return "";
  if (value.kind === "nothing") return " -x";
  return value.kind === "files" ? " -r -F" : ` -x ${offer(value)}`;
}

function offer(candidates: Candidates): string {
  switch (candidates.kind) {
    case "files":
      return "-F";
    case "folders":
      return "-a '(__fish_complete_directories)'";
    case "words":
      return `-a ${quote(candidates.words.join(" "))}`;
    case "asked":
      return candidates.what === "tools" ? "-a '(__sandpy_tools)'" : `-a '(__sandpy_ask ${candidates.what})'`;
    case "nothing":
      return "";
  }
}

function quote(text: string): string {
  return `'${text.replaceAll(/[\\']/g, (character) => `\\${character}`)}'`;
}
