import type { ToolFilter } from "../discovery/server-definition.ts";

/** The rule of a filter that a tool breaks, as a clause; `undefined`: it may be used. */
export function refusingRule(filter: ToolFilter, tool: string): string | undefined {
  const denied = filter.deny.find((glob) => matchesGlob(glob, tool));
  if (denied !== undefined) return `its definition forbids ${JSON.stringify(denied)}`;
  if (filter.allow === undefined || filter.allow.some((glob) => matchesGlob(glob, tool))) return undefined;
  return "it is not among the tools that its definition allows";
}

/** Whether `text` fits a glob of `*` (any characters) and `?` (one character). */
export function matchesGlob(glob: string, text: string): boolean {
  let at = 0;
  let place = 0;
  let star = -1;
  let retry = 0;
  while (place < text.length) {
    if (glob[at] === "*") {
      star = at++;
      retry = place;
    } else if (at < glob.length && (glob[at] === "?" || glob[at] === text[place])) {
      at += 1;
      place += 1;
    } else if (star !== -1) {
      at = star + 1;
      place = ++retry;
    } else return false;
  }
  while (glob[at] === "*") at += 1;
  return at === glob.length;
}
