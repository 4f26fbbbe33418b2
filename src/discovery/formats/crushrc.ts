import { splitWords } from "../command-line.ts";
import type { ConfigDocument } from "./document.ts";

const FLAGS: Readonly<Record<string, string>> = {
  "--type": "type",
  "--command": "command",
  "--url": "url",
  "--cwd": "cwd",
  "--timeout": "timeout",
};
const LISTS: Readonly<Record<string, string>> = {
  "--args": "args",
  "--arg": "args",
  "--disabled-tools": "disabled_tools",
  "--enabled-tools": "enabled_tools",
};

/**
 * Crush's Bash script. It is never run: only lines that begin with `mcp add` are read, and of those that a shell would
 * have to work out, the server keeps what is written. What other lines do stays unknown.
 */
export function parseCrushrc(file: string, text: string): ConfigDocument {
  const servers = new Map<string, { readonly line: number; readonly entry: Record<string, unknown> }>();
  const again: string[] = [];
  const lines = text.split(/\r\n|\r|\n/);
  for (let index = 0; index < lines.length; index++) {
    const start = index;
    let line = lines[index] ?? "";
    while (line.endsWith("\\") && index + 1 < lines.length)
      line = `${line.slice(0, -1)} ${lines[++index] ?? ""}`;
    const server = readAdd(line);
    if (server === undefined) continue;
    if (servers.has(server.name)) again.push(server.name);
    servers.set(server.name, { line: start + 1, entry: server.entry });
  }
  const mcp = Object.fromEntries(Array.from(servers, ([name, { entry }]) => [name, entry]));
  return {
    file,
    value: { mcp },
    place: ([, name]) => {
      const line = servers.get(String(name))?.line;
      return line === undefined ? file : `${file}:${line}:1`;
    },
    duplicateKeys: () => again,
  };
}

function readAdd(
  line: string,
): { readonly name: string; readonly entry: Record<string, unknown> } | undefined {
  if (!/^(?:crush\s+)?mcp\s+add\s/.test(line)) return undefined;
  const split = splitWords(line);
  const words = split.kind === "words" ? split.words : line.split(/\s+/);
  const [name, ...rest] = words.slice(words.indexOf("add") + 1);
  if (name === undefined || name.startsWith("-")) return undefined;
  const entry: Record<string, unknown> = {};
  const lists: Record<string, string[]> = {};
  const pairs: Record<string, Record<string, string>> = { headers: {}, env: {} };
  for (let index = 0; index < rest.length; index++) {
    const [flag = "", inline] = splitOnce(rest[index] ?? "", "=");
    const take = () => inline ?? rest[++index] ?? "";
    if (flag in FLAGS) entry[FLAGS[flag] ?? ""] = flag === "--timeout" ? Number(take()) : take();
    else if (flag in LISTS) lists[LISTS[flag] ?? ""] = [...(lists[LISTS[flag] ?? ""] ?? []), take()];
    else if (flag === "--disabled") entry["disabled"] = inline !== "false";
    else if (flag === "--header") {
      const header = take();
      const [key, value = take()] = splitOnce(header, header.includes(": ") ? ": " : "=");
      (pairs["headers"] ?? {})[key] = value;
    } else if (flag === "--env") {
      const variable = take();
      const [key, value = take()] = splitOnce(variable, "=");
      (pairs["env"] ?? {})[key] = value;
    }
  }
  return { name, entry: { ...entry, ...lists, ...pairs } };
}

function splitOnce(text: string, sign: string): readonly [string, string?] {
  const index = text.indexOf(sign);
  return index === -1 ? [text] : [text.slice(0, index), text.slice(index + sign.length)];
}
