/** The value of a JSON text; `undefined` when it is none: what an engine prints is not in our hands. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller says what was expected
  }
}
