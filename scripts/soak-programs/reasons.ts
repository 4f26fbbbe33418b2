/**
 * Whether the text of a call that failed says why, in the forms that all of ours have. By form and not by the words of each: a
 * reason that is new here must not pass for a fault, nor a fault for a reason because it has a word in it.
 */

/** What came out of the program, not of a message: a value that was never filled in, a place in our source, a bug's own code. */
const RAW =
  /\bundefined\b|\[object |\bNaN\b|\bINTERNAL\b|\/\$bunfs\/|\.ts:\d+|^\s*at .*\(|Cannot read propert|is not a function/m;
/** What the session says of the variables, whichever way they were lost or kept. */
const NOTE = /Variables(?:, imports and functions of this session)? are (?:gone|kept)/;
/** The last line of a traceback: an exception with a text. */
const EXCEPTION = /^(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Timeout): \S/m;

/** Why the text is no clear reason; `undefined` when it is one. */
export function findUnclear(text: string): string | undefined {
  const raw = RAW.exec(text);
  if (raw !== null) return `has ${JSON.stringify(raw[0])} in it`;
  if (NOTE.test(text) || EXCEPTION.test(text)) return undefined;
  // A failure of the bridge: what failed, and on a line of its own what to do.
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.length >= 2 ? undefined : "says what failed without what to do, or nothing";
}

/** The kind of a reason, for counting: its first sentence without what differs from case to case. */
export function kindOf(text: string): string {
  const at = EXCEPTION.exec(text)?.index ?? text.indexOf("[note]");
  return (text.slice(Math.max(0, at)).split("\n")[0] ?? "")
    .replace(/"[^"]*"/g, '"…"')
    .replace(/sandpy-[0-9a-f]+-\d+/g, "…")
    .replace(/\d[\d.]*/g, "#")
    .slice(0, 90);
}
