import { lastLine } from "./engine-call.ts";
import { listing, removal } from "./engine-commands.ts";
import { record } from "./facts.ts";
import { INSTANCE_LABEL, isOwnerGone } from "./owner.ts";
import { parseJson } from "./parse-json.ts";
import type { RunCommand } from "./sandbox.ts";

const COMMAND_TIMEOUT_MS = 10_000;

/**
 * Removes the containers whose bridge was killed before it could, and returns their names. Those of a bridge that runs
 * are left alone, and so are those that another machine or another PID namespace owns: it cannot be seen from here.
 */
export async function removeOrphans(run: RunCommand, signal: AbortSignal): Promise<readonly string[]> {
  const ask = (args: readonly string[]) => run(args, COMMAND_TIMEOUT_MS, signal);
  const listed = await ask(listing(`label=${INSTANCE_LABEL}`));
  if (listed.code !== 0) throw new Error(lastLine(listed.stderr));
  const removed: string[] = [];
  for (const id of listed.stdout.split("\n").filter((line) => line !== "")) {
    const format = "{{.Name}} {{json .Config.Labels}}";
    const { stdout } = await ask(["container", "inspect", "--format", format, id]);
    // Docker's names begin with a slash. One that is gone by now has no answer, and so no labels.
    const [, name = id, labels = ""] = /^\/?(\S+) (.*)/.exec(stdout) ?? [];
    if (!isOwnerGone(record(parseJson(labels)))) continue;
    const remove = () => ask(removal(id));
    // Podman fails the first time where its monitor was killed too, and only then knows that the container has ended.
    const { code } = await remove();
    if (code === 0 || (await remove()).code === 0) removed.push(name);
  }
  return removed;
}
