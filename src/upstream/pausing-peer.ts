import type { WhileAsking } from "../kernel/host-tools.ts";
import type { ClientPeer } from "./client-peer.ts";

/** The same client, whose answers are waited for by `whileAsking`: a person who fills in a form costs a call no time. */
export function pausingPeer(peer: ClientPeer | undefined, whileAsking: WhileAsking): ClientPeer | undefined {
  return (
    peer && {
      client: peer.client,
      capabilities: () => peer.capabilities(),
      revision: () => peer.revision(),
      request: (message, signal) => whileAsking(() => peer.request(message, signal)),
      notify: (message) => peer.notify(message),
      wantsProgress: () => peer.wantsProgress(),
      progress: (update) => peer.progress(update),
      onRootsChanged: (listener) => peer.onRootsChanged(listener),
      logSeverity: () => peer.logSeverity(),
    }
  );
}
