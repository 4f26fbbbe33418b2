/** Whether `text` fits a glob of `*` (any characters) and `?` (one character). */
export function matchesGlob(glob: string, text: string): boolean {
  return matches(glob, text, "?");
}

/** The same for patterns in which `*` alone stands for something else, as in URLs. */
export function matchesStars(pattern: string, text: string): boolean {
  return matches(pattern, text, undefined);
}

/** Takes at most length times length steps. */
function matches(glob: string, text: string, one: string | undefined): boolean {
  let at = 0;
  let place = 0;
  let star = -1;
  let retry = 0;
  while (place < text.length) {
    if (glob[at] === "*") {
      star = at++;
      retry = place;
    } else if (at < glob.length && (glob[at] === one || glob[at] === text[place])) {
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
