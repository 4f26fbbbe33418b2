/** What one file of tests did. */
export interface FileTally {
  readonly skipped: number;
  /** The titles of those that passed, as they stand in the report: XML escaped, with those of the groups around them. */
  readonly passed: readonly string[];
  /** The same of those that failed. */
  readonly failed: readonly string[];
}

/** What stands in a report for no test: a `beforeAll` or `afterAll` that failed, and a process that ended in the middle. */
const NO_TEST = / > \((?:unnamed|worker crashed)\)$/;

/**
 * Reads the JUnit report of `bun test`: the files by their paths. Throws where the text is none, was cut, or its sums are
 * not those of its tests. A file that did not load is not in a report.
 */
export function readJunit(text: string): ReadonlyMap<string, FileTally> {
  const all = /<testsuites\b([^>]*)>/.exec(text)?.[1];
  if (all === undefined || !text.trimEnd().endsWith("</testsuites>"))
    throw new Error("report is not JUnit of bun test");
  const files = new Map<string, { passed: string[]; skipped: number; failed: string[] }>();
  for (const [, attributes = "", content = ""] of text.matchAll(
    /<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g,
  )) {
    const path = attributeOf(attributes, "file");
    const file = files.get(path) ?? { passed: [], skipped: 0, failed: [] };
    files.set(path, file);
    const title = `${attributeOf(attributes, "classname")} > ${attributeOf(attributes, "name")}`;
    if (/^\s*<failure\b/.test(content)) file.failed.push(title);
    else if (/^\s*<skipped\b/.test(content)) file.skipped += 1;
    else file.passed.push(title);
  }
  const { passed, failed, skipped } = sumOf(files.values());
  for (const [name, count] of Object.entries({
    tests: passed + failed + skipped,
    failures: failed,
    skipped,
  })) {
    const said = attributeOf(all, name);
    if (said !== String(count)) throw new Error(`report says ${name}="${said}" and has ${count}`);
  }
  return files;
}

/** How many tests of all these files passed, failed and were skipped. */
export function sumOf(files: Iterable<FileTally>): { passed: number; failed: number; skipped: number } {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const { passed, failed, skipped } of files) {
    sum.passed += passed.length;
    sum.failed += failed.length;
    sum.skipped += skipped;
  }
  return sum;
}

/** The titles of tests that failed in `first` and neither passed nor failed in `again`: they were skipped, or not there. */
export function notRunAgain(first: FileTally, again: FileTally): readonly string[] {
  const titles = new Set([...again.passed, ...again.failed]);
  return first.failed.filter((title) => !titles.has(title) && !NO_TEST.test(title));
}

function attributeOf(attributes: string, name: string): string {
  return new RegExp(` ${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";
}
