import { defineCommand } from "citty";
import { loadNode } from "../command-tree.ts";
import { print } from "../output.ts";
import { renderBash } from "./bash.ts";
import { renderFish } from "./fish.ts";
import { collectWords } from "./words.ts";
import { renderZsh } from "./zsh.ts";

const RENDERERS = { bash: renderBash, zsh: renderZsh, fish: renderFish } as const;

/** `sandpy completions` */
export const completionsCommand = defineCommand({
  meta: { name: "completions", description: "Print the script that completes sandpy's words in a shell." },
  args: {
    shell: {
      type: "positional",
      required: true,
      valueHint: Object.keys(RENDERERS).join("|"),
      description: "bash, zsh or fish",
    },
  },
  run: async ({ args, data: { io } }) => {
    const { root } = await import("../root.ts");
    const words = collectWords(await loadNode(root, "sandpy"));
    return print(io, RENDERERS[args.shell as keyof typeof RENDERERS](words));
  },
});
