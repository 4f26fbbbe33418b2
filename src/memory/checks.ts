import { isJson } from "../core/is-json.ts";
import { costOfJson } from "../core/json-cost.ts";
import { refuse, shown } from "./faults.ts";
import {
  MAX_ESCAPED_BYTES,
  MAX_KEY_BYTES,
  MAX_METADATA_BYTES,
  MAX_VALUE_BYTES,
  MAX_VALUE_COST,
} from "./limits.ts";

/** Throws `MEMORY_REFUSED` where something cannot be a key. */
export function checkKey(key: string): void {
  if (key === "") throw refuse('the key is "": expected text that is not empty');
  if (!key.isWellFormed()) {
    throw refuse(`the key ${shown(key)} has half a surrogate pair: expected text that UTF-8 can hold`);
  }
  const bytes = Buffer.byteLength(key);
  if (bytes > MAX_KEY_BYTES) {
    throw refuse(
      `the key ${shown(key)} has ${bytes} bytes: expected at most ${MAX_KEY_BYTES}`,
      "Keep long text in the value, under a short key.",
    );
  }
}

/** Throws `MEMORY_REFUSED` where text is not JSON, or takes more than a value may. */
export function checkValue(key: string, value: string): void {
  const bytes = Buffer.byteLength(value);
  if (bytes > MAX_VALUE_BYTES) {
    throw refuse(
      `the value of ${shown(key)} takes ${bytes} bytes of JSON: expected at most ${MAX_VALUE_BYTES}`,
      "Split it over several keys, or write a file in /projects.",
    );
  }
  if (costOfJson(value) > MAX_VALUE_COST) {
    throw refuse(
      `the value of ${shown(key)} has more parts than one memory may have`,
      "Split it over several keys, or write a file in /projects.",
    );
  }
  if (!value.isWellFormed() || !isJson(value)) throw refuse(`the value of ${shown(key)} is not JSON`);
  // It travels as text inside of JSON, and what it takes there must fit in a frame, or nobody could load it.
  if (bytes > MAX_ESCAPED_BYTES / 2 && Buffer.byteLength(JSON.stringify(value)) > MAX_ESCAPED_BYTES) {
    throw refuse(
      `the value of ${shown(key)} takes too much once its quotes and backslashes are escaped`,
      "Split it over several keys.",
    );
  }
}

/** Throws `MEMORY_REFUSED` where text is not a JSON object, or takes more than metadata may. */
export function checkMetadata(key: string, metadata: string): void {
  const bytes = Buffer.byteLength(metadata);
  if (bytes > MAX_METADATA_BYTES) {
    throw refuse(
      `the metadata of ${shown(key)} takes ${bytes} bytes of JSON: expected at most ${MAX_METADATA_BYTES}`,
    );
  }
  if (!metadata.isWellFormed() || !metadata.trimStart().startsWith("{") || !isJson(metadata)) {
    throw refuse(`the metadata of ${shown(key)} is not a JSON object`);
  }
}
