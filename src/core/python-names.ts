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

/** What copies, notebooks and mocks look for in any object: Python must not find a tool there. */
const PROBES = /^(__|_repr_|_ipython_|_sandpy_)/;

/**
 * Turns any name into a Python identifier: what cannot stand in one becomes `_`, keywords get a `_` behind and
 * digits one before. Python reads identifiers in NFKC form, so the result is in that form. A name that starts as Python's
 * own do, such as `__`, gets `x` before. Never empty, at most 100 characters.
 */
export function toPythonName(name: string): string {
  const folded = name.normalize("NFKC").replace(NEVER, "_");
  const cut = Array.from(folded).slice(0, MAX_LENGTH).join("").normalize("NFKC");
  if (/^_*$/.test(cut)) return "unnamed";
  if (KEYWORDS.has(cut)) return `${cut}_`;
  if (PROBES.test(cut)) return `x${cut}`;
  return /^[\p{XID_Start}_]/u.test(cut) ? cut : `_${cut}`;
}

/**
 * One identifier for each name, all different: a name that is an identifier already keeps it, the others get `_2`, `_3`,
 * … where theirs is taken. Which gets which does not depend on the order of the names.
 */
export function assignPythonNames(names: readonly string[]): string[] {
  const wanted = names.map(toPythonName);
  const taken = new Set(names.filter((name, index) => wanted[index] === name));
  const kept = new Set<string>();
  const aliases = [...wanted];
  const others: number[] = [];
  for (const [index, alias] of wanted.entries()) {
    if (alias === names[index] && !kept.has(alias)) kept.add(alias);
    else others.push(index);
  }
  const counts = new Map<string, number>();
  others.sort((one, other) => compare(names[one], names[other]) || one - other);
  for (const index of others) {
    const alias = wanted[index] ?? "";
    let free = alias;
    let count = counts.get(alias) ?? 1;
    while (taken.has(free)) {
      count += 1;
      free = `${alias}_${count}`;
    }
    counts.set(alias, count);
    taken.add(free);
    aliases[index] = free;
  }
  return aliases;
}

function compare(one = "", other = ""): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
