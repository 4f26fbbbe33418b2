import type { BridgeEvent } from "../../core/bridge-events.ts";

const MAX_CALLS = 1000;

type UpstreamCall = Extract<BridgeEvent, { kind: "upstream-called" }>;

/** One request that the program made of a server. */
export interface JobCall {
  readonly server: string;
  /** The method of the protocol. */
  readonly method: string;
  readonly tool: string | undefined;
  readonly outcome: UpstreamCall["outcome"];
  /** Why it failed: a code of our errors. */
  readonly code: string | undefined;
  readonly durationMs: number;
}

/** The first requests that a program made of servers, and how many there were in all. */
export class UpstreamCalls {
  readonly calls: JobCall[] = [];
  count = 0;

  /** To listen to the events of a bridge with. */
  readonly note = (event: BridgeEvent): void => {
    if (event.kind !== "upstream-called") return;
    this.count += 1;
    if (this.calls.length >= MAX_CALLS) return;
    const { server, method, tool, outcome, code, durationMs } = event;
    this.calls.push({ server, method, tool, outcome, code, durationMs: Math.round(durationMs) });
  };
}
