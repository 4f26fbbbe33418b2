import { defineCommand } from "citty";
import { type EffectiveSetting, explainSettings } from "../../config/explain.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { HTTP_FLAGS, SETTING_FLAGS, settingOverrides } from "../setting-flags.ts";
import { renderTable, screenOf } from "../table.ts";

/** `sandpy config` */
export const configCommand = defineCommand({
  meta: { name: "config", description: "Show the settings that count, and where each of them comes from." },
  args: {
    json: { type: "boolean", description: "print JSON" },
    ...SETTING_FLAGS,
    ...HTTP_FLAGS,
  },
  subCommands: {
    get: () => import("./get.ts").then((module) => module.getCommand),
    path: () => import("./path.ts").then((module) => module.pathCommand),
    init: () => import("./init.ts").then((module) => module.initCommand),
    schema: () => import("./schema.ts").then((module) => module.schemaCommand),
  },
  run: ({ args, data }) => showSettings(args, data),
});

const COLUMNS = [
  { title: "SETTING", minWidth: undefined },
  { title: "VALUE", minWidth: 12 },
  { title: "FROM", minWidth: 16 },
] as const;

async function showSettings(args: Readonly<Record<string, unknown>>, { io }: CliContext): Promise<number> {
  const explanation = await explainSettings(io.env, settingOverrides(args));
  if (args["json"] === true) return printJson(io, explanation);
  const rows = explanation.settings.map((setting) => [
    setting.key ?? setting.name,
    printable(renderValue(setting.value)),
    printable(renderSource(setting)),
  ]);
  const code = await print(io, `${renderTable(COLUMNS, rows, screenOf(io)).join("\n")}\n`);
  for (const { name, meant } of explanation.unknown) {
    const guess = meant === null ? "" : `; did you mean ${meant}?`;
    io.stderr.write(`sandpy: ${name} is no setting and is ignored${guess}\n`);
  }
  return code;
}

function renderValue(value: EffectiveSetting["value"]): string {
  if (value === null) return "-";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function renderSource({ source, where }: EffectiveSetting): string {
  return source === "default" ? "default" : where.join(", ");
}
