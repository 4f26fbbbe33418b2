import { Age, shownMs } from "./age.tsx";
import { shownWord } from "./shown-text.ts";
import type { CallView } from "./view.ts";

export function callKey({ nth }: CallView): string {
  return `call-${nth}`;
}

export interface CallProps {
  readonly call: CallView;
  readonly showsCaller: boolean;
  readonly now: number | undefined;
}

export function Call({ call, showsCaller, now }: CallProps) {
  const { at, server, tool, outcome, durationMs, sessionId, callerName } = call;
  return (
    <li id={callKey(call)} class="row">
      <span class={`outcome ${outcome}`}>{shownWord(outcome, 20)}</span>
      <strong>
        {shownWord(server, 100)} / {shownWord(tool, 100)}
      </strong>
      <span class="quiet">
        {shownMs(durationMs)}, <Age since={at} now={now} /> ago, {shownWord(sessionId, 40)}
        {showsCaller ? ` of ${shownWord(callerName, 80)}` : ""}
      </span>
    </li>
  );
}
