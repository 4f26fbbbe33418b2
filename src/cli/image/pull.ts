import { defineCommand } from "citty";
import { loadSettings } from "../../config/load-file.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { withProgress } from "./progress.ts";

/** `sandpy image pull` */
export const pullCommand = defineCommand({
  meta: { name: "pull", description: "Pull an image, by default the one in use." },
  args: {
    image: { type: "positional", required: false, description: "the image, such as python:3.14-slim" },
    json: { type: "boolean", description: "print JSON" },
  },
  run: ({ args, data }) => pull(args.image, args.json === true, data),
});

async function pull(named: string | undefined, json: boolean, { io }: CliContext): Promise<number> {
  const config = await loadSettings(io.env);
  const image = named ?? config.image;
  const { pullImage } = await import("../../app/images/pull-image.ts");
  return withProgress(io, config.logLevel, `pulling ${printable(image)}`, async (work) => {
    const { engine, facts } = await pullImage(config, image, work);
    if (json) {
      const { id, digests, bytes } = facts;
      return printJson(io, { image, env: `MCP_BRIDGE_IMAGE=${image}`, engine, id, digests, bytes });
    }
    const size = `${Math.round(facts.bytes / 1e6)} MB`;
    const how = image === config.image ? "" : `\nTo have sandpy use it, set MCP_BRIDGE_IMAGE=${image}\n`;
    return print(io, `Pulled with ${engine}: ${image} (${size}), ${facts.digests[0] ?? facts.id}\n${how}`);
  });
}
