import { defineCommand } from "citty";
import type { ListedImage } from "../../app/images/list-images.ts";
import { loadSettings } from "../../config/load-file.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { renderTable, type Screen, screenOf } from "../table.ts";
import { withProgress } from "./progress.ts";

/** `sandpy image list` */
export const listCommand = defineCommand({
  meta: { name: "list", description: "List the image in use and those that were built here." },
  args: { json: { type: "boolean", description: "print JSON" } },
  run: ({ args, data }) => list(args.json === true, data),
});

async function list(json: boolean, { io }: CliContext): Promise<number> {
  const config = await loadSettings(io.env);
  const { listImages } = await import("../../app/images/list-images.ts");
  return withProgress(io, config.logLevel, "asking the engine", async ({ log, signal }) => {
    const { engine, images } = await listImages(config, log, signal);
    if (json) return printJson(io, { engine, images: images.map(describe) });
    return print(io, render(images, screenOf(io)));
  });
}

const COLUMNS = [
  { title: "IMAGE", minWidth: 24 },
  { title: "USED", minWidth: undefined },
  { title: "PYTHON", minWidth: undefined },
  { title: "SIZE", minWidth: undefined },
  { title: "BUILT", minWidth: undefined },
  { title: "ID", minWidth: undefined },
] as const;

function render(images: readonly ListedImage[], screen: Screen): string {
  const rows = images.map(({ name, isConfigured, facts, python, recipe }) => [
    printable(name),
    isConfigured ? "yes" : "-",
    printable(python ?? "-"),
    facts === undefined ? "not here" : `${Math.round(facts.bytes / 1e6)} MB`,
    printable(recipe ?? "-"),
    facts?.id.slice("sha256:".length, "sha256:".length + 12) ?? "-",
  ]);
  const table = renderTable(COLUMNS, rows, screen).join("\n");
  const isMissing = images.some(({ isConfigured, facts }) => isConfigured && facts === undefined);
  return `${table}\n${isMissing ? "\nTo have the one in use here, type: sandpy image pull\n" : ""}`;
}

function describe({ name, isConfigured, facts, python, recipe }: ListedImage) {
  return {
    name,
    configured: isConfigured,
    present: facts !== undefined,
    python: python ?? null,
    recipe: recipe ?? null,
    id: facts?.id ?? null,
    tags: facts?.tags ?? [],
    digests: facts?.digests ?? [],
    bytes: facts?.bytes ?? null,
    platform: facts?.platform ?? null,
    labels: facts?.labels ?? {},
  };
}
