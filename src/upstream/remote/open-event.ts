import { Pieces } from "../../core/pieces.ts";

const COLON = 0x3a;
const SPACE = 0x20;
const FIELDS: ReadonlySet<string> = new Set(["data", "event", "id", "retry"]);
const MAX_NAME_BYTES = 8; // the longest, after a byte order mark
/** The id of an event goes back to the server in a header; one that no header can carry is of no use. */
const MAX_ID_BYTES = 8192;

/** The event of a stream of server-sent events whose lines are coming in: what is held of it. */
export class OpenEvent {
  readonly #decoder = new TextDecoder();
  readonly #data = new Pieces<string>((lines) => lines.join("\n"));
  /** Of each name the last one counts. */
  readonly #fields = new Map<string, string>();

  /** Takes a line that is not empty. */
  take(line: Uint8Array): void {
    const { name, value } = splitField(line, this.#decoder);
    if (name === "data") this.#data.add(value);
    else if (name === "event" || name === "retry" || (name === "id" && value.length <= MAX_ID_BYTES))
      this.#fields.set(name, value);
  }

  /** The event as it is passed on; another begins. `replace` is asked for what stands for the data of a message. */
  end(replace: (data: string) => readonly string[]): string {
    const data = this.#data.take();
    const type = this.#fields.get("event") ?? "";
    const isMessage = (type === "" || type === "message") && data !== "";
    const events = data === undefined ? [] : isMessage ? replace(data) : [data];
    const fields = [...this.#fields].map(([name, value]) => `${name}: ${value}`);
    this.#fields.clear();
    // What stays of an event without its data: the SDK takes an id only from one that has some.
    if (events.length === 0) return fields.length === 0 ? "" : renderEvent(fields, "");
    return events.map((event, index) => renderEvent(index === 0 ? fields : [], event)).join("");
  }
}

/** One event with these fields and this data, as a stream has it. */
export function renderEvent(fields: readonly string[], data: string): string {
  const lines = data.split("\n").map((line) => `data: ${line}`);
  return `${[...fields, ...lines].join("\n")}\n\n`;
}

/** The value is put into words by itself, so that a large one is there once. Nobody wants a field with another name. */
function splitField(
  line: Uint8Array,
  decoder: TextDecoder,
): { readonly name: string; readonly value: string } {
  const colon = line.subarray(0, MAX_NAME_BYTES + 1).indexOf(COLON);
  const isBare = colon === -1 && line.length <= MAX_NAME_BYTES;
  if (colon === -1) return { name: isBare ? decoder.decode(line) : "", value: "" };
  const start = line[colon + 1] === SPACE ? colon + 2 : colon + 1;
  const name = decoder.decode(line.subarray(0, colon));
  return { name, value: FIELDS.has(name) ? decoder.decode(line.subarray(start)) : "" };
}
