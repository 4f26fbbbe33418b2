import { createTwoFilesPatch } from "diff";
import { MASK, maskWord, SECRET_NAME } from "../../core/secrets.ts";
import { isObject } from "../formats/document.ts";
import { parseConfigText } from "../read.ts";
import type { FileChange } from "./plan.ts";

const CONTEXT_LINES = 3;
/** What is shorter is a word such as `info`. */
const MIN_SECRET_CHARS = 6;
const PRIVATE_KEYS = /^(env|envs|environment|headers|http_?headers|env_?http_?headers|movedFrom)$/i;

/** A change as `diff -u` has it, with `***` for what is or looks like a secret. `shown` is how people know the file. */
export async function renderPreview({ file, after = "" }: FileChange, shown: string): Promise<string> {
  const secrets = new Set<string>();
  for (const text of [file.text, after]) {
    const outcome = await parseConfigText(file.path, text);
    if (outcome.kind === "document") collect(outcome.document.value, "", secrets);
  }
  const [before, then] = [file.text, after].map((text) => hide(text, secrets));
  return createTwoFilesPatch(shown, shown, before ?? "", then ?? "", undefined, undefined, {
    context: CONTEXT_LINES,
  }).replace(/^(Index: .*\n)?=+\n/, "");
}

function collect(value: unknown, key: string, secrets: Set<string>, isPrivate = false): void {
  if (typeof value === "string") {
    if (isPrivate || SECRET_NAME.test(key) || maskWord(value) !== value) add(value, secrets);
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const before: unknown = value[index - 1];
      const isNamed = typeof before === "string" && /^--?[\w-]+$/.test(before) && SECRET_NAME.test(before);
      collect(item, key, secrets, isPrivate || isNamed);
    }
  } else if (isObject(value)) {
    for (const [name, inner] of Object.entries(value))
      collect(inner, name, secrets, isPrivate || PRIVATE_KEYS.test(name));
  }
}

function add(value: string, secrets: Set<string>): void {
  if (value.length >= MIN_SECRET_CHARS) secrets.add(value);
}

/** Also where a secret stands as a text within a text. */
function hide(text: string, secrets: ReadonlySet<string>): string {
  const once = (value: string) => JSON.stringify(value).slice(1, -1);
  const forms = [...secrets].flatMap((value) => [value, once(value), once(once(value))]);
  return [...new Set(forms)]
    .sort((one, other) => other.length - one.length)
    .reduce((hidden, form) => hidden.replaceAll(form, MASK), text);
}
