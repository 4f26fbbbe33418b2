import { defineCommand } from "citty";
import { explainSettings } from "../../config/explain.ts";
import { loadSettings } from "../../config/load-file.ts";
import { withDeadline } from "../../core/lifecycle.ts";
import { createLog } from "../../core/log.ts";
import type { CliContext, CliIo } from "../context.ts";
import { openDesk } from "../memory/open.ts";
import { print } from "../output.ts";
import { printable } from "../printable.ts";

/** Whoever has pressed Tab waits. */
const ANSWER_MS = 1500;

/** `sandpy __complete`, which the shells' scripts call: names, one on a line, and no word of what fails. */
export const completeCommand = defineCommand({
  meta: { name: "__complete", description: "Print the names that can be typed." },
  args: {
    what: { type: "positional", required: true, valueHint: "servers|tools|memories|settings" },
    server: { type: "positional", required: false },
  },
  run: async ({ args, data }) => {
    const what = args.what as Asked;
    const names = await withDeadline(ANSWERS[what](data, args.server ?? ""), ANSWER_MS, "completion").catch(
      () => [],
    );
    // What a line cannot hold, or a terminal would act on, cannot be typed either.
    const fit = names.filter((name) => name !== "" && printable(name) === name);
    return print((data as CliContext).io, fit.map((name) => `${name}\n`).join(""));
  },
});

const ANSWERS = {
  servers: async ({ io }: CliContext) => (await inventory(io)).map(({ server }) => server.name),
  tools: async ({ io }: CliContext, server: string) => {
    const found = (await inventory(io)).find(
      ({ server: { name, alias } }) => name === server || alias === server,
    );
    return found?.tools ?? [];
  },
  memories: async (context: CliContext) => {
    const { memory, signal } = await openDesk(context);
    return (await memory.listMemories(signal)).memories.map(({ key }) => key);
  },
  settings: async ({ io }: CliContext) =>
    (await explainSettings(io.env, {})).settings.map(({ key, name }) => key ?? name),
} as const;

/** What the program can be asked for. */
export type Asked = keyof typeof ANSWERS;

async function inventory(io: CliIo) {
  const config = await loadSettings(io.env);
  const { takeInventory } = await import("../../app/inventory.ts");
  const log = createLog("ERROR", () => undefined);
  return (await takeInventory(config, { selfPath: io.selfPath, log })).entries;
}
