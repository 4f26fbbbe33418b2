import type { ServerName } from "../kernel/host-tools.ts";
import type { Cell } from "../kernel/kernel.ts";
import type { ExecuteRequest } from "./outcome.ts";

/** What the kernel is told of a request. */
export function toCell(
  { code, script, servers: wanted }: ExecuteRequest,
  rest: Pick<Cell, "id" | "servers" | "projects">,
): Cell {
  return {
    ...rest,
    code,
    loaded: namesOf(wanted, rest.servers),
    argv: script?.argv ?? null,
    filename: script?.filename ?? null,
    ...(script === undefined ? {} : { env: script.env }),
  };
}

/** The servers' names for what may be their aliases. */
function namesOf(wanted: readonly string[], servers: readonly ServerName[]): string[] {
  return wanted.map((name) => servers.find((server) => server.alias === name)?.name ?? name);
}
