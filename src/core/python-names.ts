const MAX_LENGTH = 100;
/** Beside what is no part of identifiers, what newer Unicode allows and older Pythons do not, or nobody can see. */
const NEVER = /[^\p{XID_Continue}]|[\p{Cf}\p{Po}\p{Variation_Selector}]/gu;

/** Words that Python reserves (3.9 to 3.14), soft keywords left out: those may name things. */
const KEYWORDS = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except finally for from " +
    "global if import in is lambda nonlocal not or pass raise return try while with yield"
  ).split(" "),
);

/**
 * Turns any name into a Python identifier: what cannot stand in one becomes `_`, keywords get a `_` behind and
 * digits one before. Python reads identifiers in NFKC form, so the result is in that form. A name that starts with
 * `__` is Python's own and gets `x` before. Never empty, at most 100 characters.
 */
export function toPythonName(name: string): string {
  const folded = name.normalize("NFKC").replace(NEVER, "_");
  const cut = Array.from(folded).slice(0, MAX_LENGTH).join("").normalize("NFKC");
  if (/^_*$/.test(cut)) return "unnamed";
  if (KEYWORDS.has(cut)) return `${cut}_`;
  if (cut.startsWith("__")) return `x${cut}`;
  return /^[\p{XID_Start}_]/u.test(cut) ? cut : `_${cut}`;
}

/**
 * One identifier for each name, in order and all different: a name that is an identifier already keeps it, the others
 * get `_2`, `_3`, … where theirs is taken.
 */
export function assignPythonNames(names: readonly string[]): string[] {
  const wanted = names.map(toPythonName);
  const taken = new Set(names.filter((name, index) => wanted[index] === name));
  const kept = new Set<string>();
  return wanted.map((alias, index) => {
    if (alias === names[index] && !kept.has(alias)) {
      kept.add(alias);
      return alias;
    }
    let free = alias;
    for (let count = 2; taken.has(free); count++) free = `${alias}_${count}`;
    taken.add(free);
    return free;
  });
}
