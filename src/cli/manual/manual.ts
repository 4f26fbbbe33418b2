import { defineCommand } from "citty";
import { usage } from "../arguments.ts";
import { loadNode } from "../command-tree.ts";
import type { CliContext } from "../context.ts";
import { print } from "../output.ts";
import { renderMan } from "./man.ts";
import { renderMarkdown } from "./markdown.ts";

/** `sandpy __manual`, by which releases get the manual page and the repository docs/cli.md. */
export const manualCommand = defineCommand({
  meta: { name: "__manual", description: "Print what is written about the commands." },
  args: { format: { type: "positional", required: true, valueHint: "man|markdown" } },
  run: async ({ args, data }) => {
    const { io }: CliContext = data;
    const { root } = await import("../root.ts");
    const tree = await loadNode(root, "sandpy");
    return print(
      io,
      args.format === "man" ? renderMan(tree, { date: dateOf(io.env) }) : renderMarkdown(tree),
    );
  },
});

/** Today, unless a build that others are to repeat says when it is made. */
function dateOf({ SOURCE_DATE_EPOCH: seconds }: CliContext["io"]["env"]): Date {
  if (seconds === undefined || seconds === "") return new Date();
  if (!/^\d{1,11}$/.test(seconds)) {
    throw usage(`SOURCE_DATE_EPOCH is ${JSON.stringify(seconds)}: expected seconds since 1970`);
  }
  return new Date(Number(seconds) * 1000);
}
