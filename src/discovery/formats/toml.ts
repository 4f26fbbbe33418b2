import { parse, TomlError } from "smol-toml";
import { type ConfigDocument, FormatError } from "./document.ts";

/** TOML 1.0. Its parser keeps no places, and refuses keys that come twice, as the format does. */
export function parseToml(file: string, text: string): ConfigDocument {
  try {
    return {
      file,
      value: parse(text, { integersAsBigInt: "asNeeded" }),
      place: () => file,
      duplicateKeys: () => [],
    };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The message goes on with a drawing of the line, which may hold a token.
    const [message = ""] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
    throw new FormatError(message, { line: error.line, column: error.column });
  }
}
