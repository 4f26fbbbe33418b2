type StreamName = "stdout" | "stderr";

/** What the runner of GitHub Actions makes of the text so far. */
interface LineState {
  /** Nothing but white space since the line began. */
  isBlank: boolean;
  /** How many `#` came last. */
  hashes: number;
}

const newLine = (): LineState => ({ isBlank: true, hashes: 0 });

/**
 * Takes from untrusted text what the runner of GitHub Actions would obey: `::command::` at the beginning of a line and
 * `##[command]` anywhere get a backslash. Both streams are watched by themselves and as one, since a step may join them.
 * `::stop-commands::` would not do: the runner reads two streams, and goes on with commands before it has read both.
 */
export class CommandGuard {
  readonly #joined = newLine();
  readonly #own: Readonly<Record<StreamName, LineState>> = { stdout: newLine(), stderr: newLine() };
  #isAtLineStart = true;

  /** Whether what comes next begins a line, where both streams are one. */
  get isAtLineStart(): boolean {
    return this.#isAtLineStart;
  }

  /** Returns the text as it may be written next to that stream. */
  pass(name: StreamName, text: string): string {
    const states = [this.#own[name], this.#joined];
    let passed = "";
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const character = text[at] ?? "";
      const isCommand = character === ":" && states.some(({ isBlank }) => isBlank);
      if (isCommand || (character === "[" && states.some(({ hashes }) => hashes > 1))) {
        passed += `${text.slice(from, at)}\\`;
        from = at;
      }
      for (const state of states) advance(state, character);
    }
    if (text !== "") this.#isAtLineStart = /[\r\n]$/.test(text);
    return passed + text.slice(from);
  }
}

function advance(state: LineState, character: string): void {
  if (character === "\n" || character === "\r") {
    state.isBlank = true;
    state.hashes = 0;
    return;
  }
  state.hashes = character === "#" ? state.hashes + 1 : 0;
  // White space, and what a runner may drop before it looks.
  if (state.isBlank && !/[\s\p{Cc}\p{Cf}]/u.test(character)) state.isBlank = false;
}
