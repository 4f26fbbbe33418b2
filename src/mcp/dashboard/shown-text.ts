/** What a terminal acts on: colours, cursor, titles and links. A sequence that does not end is left as it is. */
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /\u001b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\u001b\][^\u0007\u001b]{0,2048}(?:\u0007|\u001b\\)|\u001b[()*+][ -~]/g;
/** Control characters, those that turn or hide text, and what is no text at all; not tab and line feed. */
const INVISIBLE = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;
const SPACE = 0x20;
const DELETE = 0x7f;

/** A stranger's text of several lines, for a page: without a terminal's colours, and what cannot be seen made visible. */
export function shownText(text: string): string {
  const lines = text.replace(SEQUENCE, "").split("\n");
  return lines.map(lastWriting).join("\n").replace(INVISIBLE, visible);
}

/** What a terminal shows of a line that was begun anew, as bars of progress are. */
function lastWriting(line: string): string {
  const ended = line.replace(/\r$/, "");
  return ended.slice(ended.lastIndexOf("\r") + 1);
}

/** A stranger's text within a line, cut to `maxChars`. */
export function shownWord(text: string, maxChars = 200): string {
  const cut = text.length > maxChars ? `${text.slice(0, maxChars).toWellFormed()}…` : text;
  return cut.replace(INVISIBLE, visible).replace(/\s+/g, " ");
}

function visible(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < SPACE) return String.fromCodePoint(0x2400 + code);
  return code === DELETE ? "\u2421" : `\\u{${code.toString(16)}}`;
}
