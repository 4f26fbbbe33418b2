import type { ServerHealth } from "./port.ts";
import { shownWord } from "./shown-text.ts";

const WORDS: Readonly<Record<ServerHealth["status"], string>> = {
  idle: "idle",
  connected: "connected",
  failed: "failed",
  disabled: "switched off",
  needs: "needs something",
  untrusted: "not trusted",
  forbidden: "forbidden",
  self: "is Sandpy itself",
};

/** Names may be anything and as long as they like: the place in the list is the key. */
export function serverKey(nth: number): string {
  return `server-${nth}`;
}

export function Server({ server, nth }: { readonly server: ServerHealth; readonly nth: number }) {
  const { name, status, reason, tools } = server;
  return (
    <li id={serverKey(nth)} class="row">
      <span class={`state ${status}`}>{WORDS[status]}</span>
      <strong>{shownWord(name, 100)}</strong>
      <span class="quiet">
        {tools === null ? "tools not known yet" : tools === 1 ? "1 tool" : `${tools} tools`}
      </span>
      {reason === null ? null : <span class="reason">{shownWord(reason, 500)}</span>}
    </li>
  );
}
