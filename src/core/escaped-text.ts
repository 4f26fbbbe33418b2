/** What ends a line, moves a terminal's cursor, or turns or hides text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

/** Text on one line, in which nothing is hidden and nothing acts on a terminal; JSON stays the same JSON. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const json = JSON.stringify(character).slice(1, -1);
    return json === character ? escapeUnits(character) : json;
  });
}

/** Characters as JSON may write them, however they look. */
export function escapeUnits(text: string): string {
  return [...Array(text.length).keys()]
    .map((at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`)
    .join("");
}
