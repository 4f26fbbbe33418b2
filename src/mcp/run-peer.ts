import type { ClientPeer, LogSeverity, PeerMessage, PeerProgress } from "../upstream/client-peer.ts";
import type { ClientRun } from "./client-run.ts";

/** The ways to a client that do not depend on which of its runs is meant. */
export interface RunClient extends ClientPeer {
  requestFor(
    run: ClientRun | undefined,
    message: PeerMessage,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>>;
  notifyFor(run: ClientRun | undefined, message: PeerMessage): void;
  severityFor(run: ClientRun | undefined): LogSeverity | undefined;
}

/**
 * The client as one of its runs reaches it: several sessions of a client run at the same time, and what a server asks
 * during a call belongs to the run that made it.
 */
export class RunPeer implements ClientPeer {
  readonly #client: RunClient;
  readonly #run: ClientRun;

  constructor(client: RunClient, run: ClientRun) {
    this.#client = client;
    this.#run = run;
  }

  get client(): object {
    return this.#client.client;
  }

  capabilities(): Readonly<Record<string, unknown>> {
    return this.#client.capabilities();
  }

  revision(): string | undefined {
    return this.#client.revision();
  }

  request(message: PeerMessage, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    return this.#client.requestFor(this.#run, message, signal);
  }

  notify(message: PeerMessage): void {
    this.#client.notifyFor(this.#run, message);
  }

  wantsProgress(): boolean {
    return this.#run.progress !== undefined;
  }

  progress({ server, tool, progress, total, message }: PeerProgress): void {
    const far = total === undefined ? String(progress) : `${progress}/${total}`;
    const words = message === undefined ? "" : ` ${message}`;
    this.#run.progress?.append(`${server}.${tool}: ${far}${words}\n`);
  }

  onRootsChanged(listener: () => void): void {
    this.#client.onRootsChanged(listener);
  }

  logSeverity(): LogSeverity | undefined {
    return this.#client.severityFor(this.#run);
  }
}
