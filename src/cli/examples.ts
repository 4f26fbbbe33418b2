/** A command line, and what it does. */
export type Example = readonly [command: string, says: string];

/** What `--help`, the manual page and docs/cli.md show of each command, by the words that call it. */
export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  sandpy: [
    ["sandpy install", "write Sandpy into the configuration of your MCP clients"],
    ["sandpy doctor", "see whether everything is there that it needs"],
    ["sandpy servers", "see which MCP servers it found"],
    ["sandpy run -c 'print(sum(range(10)))'", "run a line of Python in a sandbox"],
  ],
  "sandpy serve": [
    ["sandpy serve", "serve one MCP client over stdin and stdout"],
    [
      "sandpy serve --http --token-file tokens.txt",
      "serve those who have a token, at http://127.0.0.1:8848/mcp",
    ],
    ["sandpy serve --http --dashboard --ask destructive", "show what runs in a browser, and ask before harm"],
  ],
  "sandpy run": [
    [
      "sandpy run report.py --timeout 60 -- --since 2026-01",
      "run a file with arguments, for a minute at most",
    ],
    ["echo 'print(6 * 7)' | sandpy run -", "run what comes from a pipe"],
    [
      "sandpy run job.py --servers github --allow 'github.get_*'",
      "let it read from one MCP server, and no more",
    ],
    ["sandpy run convert.py --in data.csv --out results", "copy a file in, and take what it leaves in out/"],
    ["sandpy run job.py --env TOKEN --json", "pass one variable on, and print the whole result"],
  ],
  "sandpy servers": [
    ["sandpy servers", "all that were found, and why one is not used"],
    ["sandpy servers github --json", "all that is known of one"],
  ],
  "sandpy tools": [
    ["sandpy tools", "what is known, without starting a server"],
    ["sandpy tools github --json", "the tools of one server, with their schemas"],
    ["sandpy tools --search 'open issues'", "those that fit best, of all servers"],
    ["sandpy tools --refresh", "ask all servers now"],
  ],
  "sandpy call": [
    ["sandpy call github search_issues query=bug limit=5", "arguments by name; their types are the tool's"],
    ['sandpy call github search_issues \'{"query": "bug"}\'', "arguments as JSON"],
    ["sandpy call github search_issues - --json <query.json", "arguments from stdin, and the whole result"],
    ["sandpy call charts draw @chart.json --save pictures", "arguments from a file; images go into a folder"],
  ],
  "sandpy auth": [
    ["sandpy auth", "how things stand with all servers that are reached by URL"],
    ["sandpy auth linear", "sign in to one in the browser"],
    ["sandpy auth linear --logout", "forget that"],
  ],
  "sandpy memory": [["sandpy memory list", "what Python keeps"]],
  "sandpy memory list": [["sandpy memory list --json", "all keys, with times and metadata, for a script"]],
  "sandpy memory show": [["sandpy memory show preferences", "one value, as JSON"]],
  "sandpy memory set": [
    ['sandpy memory set preferences \'{"units": "metric"}\'', "keep a value"],
    ["sandpy memory set notes - <notes.json", "keep what a file holds"],
  ],
  "sandpy memory delete": [["sandpy memory delete notes old-notes --yes", "delete two, without a question"]],
  "sandpy memory export": [["sandpy memory export backup.json", "write all to a file"]],
  "sandpy memory import": [["sandpy memory import backup.json", "take them back"]],
  "sandpy memory files": [["sandpy memory files", "what Python left in /projects"]],
  "sandpy memory path": [['ls "$(sandpy memory path)"', "look at the files themselves"]],
  "sandpy memory tools": [["sandpy memory tools list", "the functions that Python saved"]],
  "sandpy memory tools list": [
    ["sandpy memory tools list --json", "their names, signatures and descriptions"],
  ],
  "sandpy memory tools show": [["sandpy memory tools show weekly_report", "the source of one"]],
  "sandpy memory tools delete": [
    ["sandpy memory tools delete weekly_report", "delete one, once you said yes"],
  ],
  "sandpy memory tools path": [['cat "$(sandpy memory tools path)"', "the file itself"]],
  "sandpy image": [["sandpy image list", "the image in use, and those that were built here"]],
  "sandpy image build": [
    ["sandpy image build --with numpy,pandas,matplotlib", "the image in use and these packages"],
    ["sandpy image build --from-host", "this machine's own Python, where no registry can be reached"],
    ["sandpy image build --with scipy --lock image.lock", "the same versions each time, by their hashes"],
    ["sandpy image build --containerfile Containerfile", "whatever that says"],
  ],
  "sandpy image list": [["sandpy image list --json", "with digests and labels, for a script"]],
  "sandpy image pull": [
    ["sandpy image pull", "the image in use"],
    ["sandpy image pull python:3.13-slim", "another one"],
  ],
  "sandpy doctor": [
    ["sandpy doctor", "what works, what does not, and the command that mends it"],
    ["sandpy doctor --json", "the same for a script; exit code 1 where something is wrong"],
  ],
  "sandpy sessions": [["sandpy sessions", "what runs in the server on this machine"]],
  "sandpy sessions list": [["sandpy sessions list --json", "the same for a script"]],
  "sandpy sessions end": [["sandpy sessions end 9f2c51d07a3e", "end one: its variables are gone"]],
  "sandpy sessions interrupt": [
    ["sandpy sessions interrupt 9f2c51d07a3e", "stop what runs in it, and keep its variables"],
  ],
  "sandpy sessions reset": [["sandpy sessions reset 9f2c51d07a3e", "give it a fresh Python"]],
  "sandpy trust": [
    ["sandpy trust", "see what this folder's files would start, and agree to it"],
    ["sandpy trust --list", "everything that you agreed to"],
    ["sandpy trust ~/project --revoke", "take it back"],
  ],
  "sandpy install": [
    ["sandpy install", "write Sandpy into the clients that are found here"],
    ["sandpy install cursor --move --dry-run", "see what would change, other servers moved behind it"],
    ["sandpy install claude-code --scope project", "for everybody who works in this folder"],
    ["sandpy install --uninstall", "take it out again, and bring moved servers back"],
  ],
  "sandpy config": [
    ["sandpy config", "every setting, its value, and who set it"],
    ["sandpy config --json", "the same for a script"],
  ],
  "sandpy config get": [["sandpy config get timeout", "one value"]],
  "sandpy config path": [["sandpy config path", "where the settings file is, or would be"]],
  "sandpy config init": [["sandpy config init", "write one, with every setting as a comment"]],
  "sandpy config schema": [["sandpy config schema >config.schema.json", "let an editor check it"]],
  "sandpy completions": [
    ["source <(sandpy completions bash)", "in ~/.bashrc"],
    ["sandpy completions zsh >~/.zfunc/_sandpy", "where ~/.zfunc is a folder of fpath, before compinit"],
    ["sandpy completions fish >~/.config/fish/completions/sandpy.fish", "for every fish from then on"],
  ],
};
