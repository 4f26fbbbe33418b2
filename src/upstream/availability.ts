import { BridgeError } from "../core/errors.ts";
import { shortenHome, shortenHomes } from "../core/home-path.ts";
import { shellPath } from "../core/shell-word.ts";
import type { ServerDefinition } from "../discovery/server-definition.ts";

/** Why a server is not usable, and what would make it so. */
export interface Unusable {
  /** Completes `server "x" …`. */
  readonly reason: string;
  /** What the user has to do: a sentence. */
  readonly remedy: string;
}

/** Whose files say which servers there are for us alone. */
const OWN_CLIENTS = ["sandpy", "MCP_SERVERS_CONFIG"];

/** Explains a definition that is not usable; `undefined` for one that is. `home` is what `~` stands for. */
export function explainUnusable(
  { name, availability, origins: [origin] }: ServerDefinition,
  home: string | undefined,
): Unusable | undefined {
  if (availability.kind === "usable") return undefined;
  const file = shortenHome(origin.file, home);
  const isOwn = OWN_CLIENTS.includes(origin.client);
  switch (availability.kind) {
    case "disabled":
      return {
        reason: `is switched off: ${shortenHomes(availability.reason, home)}`,
        remedy: `The user can switch it on in ${file}.`,
      };
    case "needs":
      return {
        reason: `needs ${availability.what.join(" and ")}`,
        remedy:
          availability.isMoreThanVariables === true
            ? `The user can write it out in ${file}, or define the server anew in a file of ~/MCPs.`
            : `The user can set the variable where sandpy is started, such as in "env" of sandpy's entry, or write the value into ${file}.`,
      };
    case "untrusted": {
      const folder = shortenHome(availability.folder, home);
      return {
        reason: `comes from the project ${JSON.stringify(folder)}, which ${availability.changed ? "has changed since it was trusted" : "is not trusted"}`,
        remedy: `The user can look at ${file} and then run: sandpy trust ${shellPath(folder)}`,
      };
    }
    case "forbidden":
      return {
        reason: `is forbidden by ${shortenHomes(availability.rule, home)}`,
        remedy: availability.remedy ?? "Use another server.",
      };
    case "self":
      return {
        reason: "is this bridge itself, which would start itself without end",
        remedy: isOwn
          ? `The user can remove ${JSON.stringify(name)} from ${file}.`
          : `Nothing has to be done where ${origin.client} is to start it by ${file}.`,
      };
  }
}

/** The error for using a server that is not usable. */
export function notUsable({ name }: ServerDefinition, { reason, remedy }: Unusable): BridgeError {
  return new BridgeError("UPSTREAM_NOT_USABLE", `server ${JSON.stringify(name)} ${reason}`, {
    hint: remedy,
    data: { server: name },
  });
}
