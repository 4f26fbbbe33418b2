import type { ClientPeer, PeerProgress } from "../../upstream/client-peer.ts";
import type { CliIo } from "../context.ts";
import { printable } from "../printable.ts";
import { terminalWidth } from "../table.ts";
import { askForm } from "./form.ts";

/** The last revision in which a client is asked by requests. */
const REVISION = "2025-11-25";
const PROGRESS_MS = 1000;

/**
 * Whoever typed the command, as servers reach them: forms are asked at the terminal where `canAsk`, and progress is shown
 * where stderr is a terminal. Nothing else is there to be asked for.
 */
export function createTerminalPeer(io: CliIo, canAsk: boolean): ClientPeer {
  let turn: Promise<unknown> = Promise.resolve();
  let shownAt = Number.NEGATIVE_INFINITY;
  const showsProgress = terminalWidth(io.stderr) !== undefined;
  return {
    client: io,
    capabilities: () => (canAsk ? { elicitation: { form: {} } } : {}),
    revision: () => REVISION,
    request({ params = {} }, signal) {
      // One question at a time: they share the terminal.
      const answer = turn.then(() => askForm(io, params, signal));
      turn = answer.catch(() => undefined);
      return answer;
    },
    notify: () => undefined,
    wantsProgress: () => showsProgress,
    progress(update) {
      const now = performance.now();
      if (!showsProgress || now - shownAt < PROGRESS_MS) return;
      shownAt = now;
      io.stderr.write(`${renderProgress(update)}\n`);
    },
    onRootsChanged: () => undefined,
    logSeverity: () => undefined,
  };
}

function renderProgress({ server, tool, progress, total, message }: PeerProgress): string {
  const count = total === undefined ? String(progress) : `${progress}/${total}`;
  return printable(`${server}.${tool}: ${count}${message === undefined ? "" : ` ${message}`}`);
}
