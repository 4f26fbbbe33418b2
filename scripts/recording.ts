import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isolatedEnvironment } from "./isolated-environment.ts";

/**
 * Draws `docs/recording.svg`: what these commands really print, with the built binary, in a home of their own.
 *
 *     bun scripts/recording.ts
 *
 * Needs `dist/sandpy` and an engine with the image. Paths of the home are shown as `~`.
 */

const COMMANDS: readonly string[] = [
  "sandpy doctor",
  "sandpy install --move",
  "echo 'print(sum(range(10)))' | sandpy run -",
  "sandpy run lisbon.py --servers notes",
];
const PROGRAM = `import asyncio
found = (await mcp_notes.search_files(path="/notes", pattern="**/*.md")).text.splitlines()
notes = await asyncio.gather(*(mcp_notes.read_text_file(path=path) for path in found))
for path, note in zip(found, notes):
    if "Lisbon" in note.text:
        print(path.rsplit("/", 1)[-1], len(note.text))
`;
const COLUMNS = 120;
const INDENT = " ".repeat(26);
const FONT_PX = 13;
const CELL_PX = 7.83; // of a monospaced face of that size; textLength holds every face to it
const LINE_PX = 18;
const MARGIN_PX = 16;
/** Beginnings of lines and how they are drawn. */
const COLOURS: readonly (readonly [RegExp, string])[] = [
  [/^\$ /, "#7ee787"],
  [/^ok /, "#a5d6ff"],
  [/^warning /, "#e3b341"],
  [/^problem /, "#ff7b72"],
];

const root = resolve(import.meta.dir, "..");

async function main(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "sandpy-recording-"));
  try {
    const lines = await record(home);
    writeFileSync(join(root, "docs/recording.svg"), draw(lines));
    process.stdout.write(`docs/recording.svg: ${lines.length} lines\n`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Runs the commands in a home with one client and one server of it, and returns the lines of the screen. */
async function record(home: string): Promise<readonly string[]> {
  const notes = join(home, "notes");
  mkdirSync(notes);
  writeFileSync(join(notes, "trip.md"), "Three days in Lisbon: trams, tiles, custard tarts.\n");
  writeFileSync(join(notes, "plan.md"), "Write the report.\n");
  writeFileSync(join(home, "lisbon.py"), PROGRAM.replace('"/notes"', JSON.stringify(notes)));
  mkdirSync(join(home, "bin"));
  symlinkSync(join(root, "dist/sandpy"), join(home, "bin/sandpy"));
  // By a link in the home, so that what is shown names no folder of this machine.
  const server = join(home, "node_modules");
  symlinkSync(join(root, "node_modules"), server);
  const script = join(server, "@modelcontextprotocol/server-filesystem/dist/index.js");
  mkdirSync(join(home, ".cursor"));
  const entry = { command: "node", args: [script, notes] };
  writeFileSync(join(home, ".cursor/mcp.json"), JSON.stringify({ mcpServers: { notes: entry } }));
  const env = isolatedEnvironment(home);
  const path = `${join(home, "bin")}:${env["PATH"] ?? ""}`;
  const lines: string[] = [];
  for (const command of COMMANDS) {
    const child = Bun.spawn(["bash", "--norc", "-c", `{ ${command}; } 2>&1`], {
      cwd: home,
      env: { ...env, PATH: path },
      stdin: "ignore",
      stdout: "pipe",
    });
    const printed = (await new Response(child.stdout).text()).trimEnd();
    if ((await child.exited) !== 0) throw new Error(`"${command}" failed: ${printed}`);
    lines.push(`$ ${command}`, ...printed.replaceAll(home, "~").split("\n").flatMap(wrap), "");
  }
  return lines.slice(0, -1);
}

/** Breaks a line that is too long between two words; what goes on is indented as doctor does it. */
function wrap(line: string): string[] {
  if (line.length <= COLUMNS) return [line];
  const space = line.lastIndexOf(" ", COLUMNS);
  const at = space <= INDENT.length ? COLUMNS : space;
  return [line.slice(0, at), ...wrap(INDENT + line.slice(at).trimStart())];
}

function draw(lines: readonly string[]): string {
  const width = Math.ceil(COLUMNS * CELL_PX) + 2 * MARGIN_PX;
  const height = lines.length * LINE_PX + 2 * MARGIN_PX;
  const texts = lines.flatMap((line, index) => {
    if (line === "") return [];
    const colour = COLOURS.find(([start]) => start.test(line))?.[1] ?? "#e6edf3";
    const y = MARGIN_PX + (index + 0.75) * LINE_PX;
    const length = (line.length * CELL_PX).toFixed(1);
    return `<text x="${MARGIN_PX}" y="${y}" fill="${colour}" textLength="${length}">${escapeXml(line)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>A terminal in which sandpy doctor, install, servers and run are typed</title>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_PX}">
${texts.join("\n")}
</g>
</svg>
`;
}

function escapeXml(text: string): string {
  const visible = text.replaceAll(" ", "\u00a0"); // else several spaces are one
  return visible.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

await main();
