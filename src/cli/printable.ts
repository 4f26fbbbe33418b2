/** What a terminal would act on or not show: control characters, and those that turn or hide text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

/** Text of a stranger for a terminal: each character that it would act on stands there as an escape. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code === 0x09 ? "\\t" : code === 0x0a ? "\\n" : `\\u{${code.toString(16)}}`;
  });
}

/** What a message says that the user can do, said to the user. */
export function addressed(remedy: string): string {
  return remedy.replace(/\bThe user can (.)/g, (_, first: string) => first.toUpperCase());
}

/** Words as a POSIX shell would have to be given them, fit for a terminal. */
export function commandLine(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./*${}-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .map(printable)
    .join(" ");
}
