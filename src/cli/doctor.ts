import { defineCommand } from "citty";
import type { Finding, FindingStatus } from "../app/doctor/finding.ts";
import type { Config } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { loadSettings } from "../config/load-file.ts";
import { SETTING_NAMES } from "../config/schema.ts";
import { type BridgeError, toBridgeError } from "../core/errors.ts";
import { createLog } from "../core/log.ts";
import type { CliContext, CliIo } from "./context.ts";
import { print, printJson } from "./output.ts";
import { addressed, printable } from "./printable.ts";
import { stoppable } from "./stoppable.ts";
import { type Screen, screenOf, wrapText } from "./table.ts";

const EXIT_PROBLEM = 1;

/** `sandpy doctor` */
export const doctorCommand = defineCommand({
  meta: {
    name: "doctor",
    description: "Check the engine, the sandbox and the rest, and say what mends what is wrong.",
  },
  args: { json: { type: "boolean", description: "print JSON" } },
  run: ({ args, data }) => doctor(args.json === true, data),
});

async function doctor(json: boolean, { io }: CliContext): Promise<number> {
  const { config, settingsFault } = await loadWhatHolds(io.env);
  return stoppable(io, "the examination", async (signal) => {
    // What an engine logs on the way is in the findings, where it matters.
    const log = createLog("ERROR", (line) => io.stderr.write(line));
    const { examine } = await import("../app/doctor/doctor.ts");
    const findings = await examine({ config, settingsFault, selfPath: io.selfPath, log }, signal);
    const isWell = findings.every(({ status }) => status !== "problem");
    const written = json
      ? await printJson(io, describe(findings))
      : await print(io, render(findings, screenOf(io)));
    return isWell ? written : EXIT_PROBLEM;
  });
}

/** The settings; where they are broken, what is wrong and those that hold without the broken part. */
async function loadWhatHolds(
  env: CliIo["env"],
): Promise<{ readonly config: Config; readonly settingsFault: BridgeError | undefined }> {
  try {
    return { config: await loadSettings(env), settingsFault: undefined };
  } catch (error) {
    return { config: loadConfig(withoutFaults(env)), settingsFault: toBridgeError(error) };
  }
}

/** Without the settings that are refused for themselves; without all, where they only do not go together. */
function withoutFaults(env: CliIo["env"]): CliIo["env"] {
  const isSetting = (name: string) => (SETTING_NAMES as readonly string[]).includes(name);
  const others = Object.fromEntries(Object.entries(env).filter(([name]) => !isSetting(name)));
  const sound = Object.entries(env).filter(
    ([name, value]) => isSetting(name) && isAccepted({ ...others, [name]: value }),
  );
  const kept = { ...others, ...Object.fromEntries(sound) };
  return isAccepted(kept) ? kept : others;
}

function isAccepted(env: CliIo["env"]): boolean {
  try {
    loadConfig(env);
    return true;
  } catch {
    return false; // what is wrong is said already
  }
}

function describe(findings: readonly Finding[]) {
  const count = (status: FindingStatus) => findings.filter((finding) => finding.status === status).length;
  return {
    ok: count("problem") === 0,
    problems: count("problem"),
    warnings: count("warning"),
    findings: findings.map(({ check, status, found, remedy, command, facts }) => ({
      check,
      status,
      found,
      remedy: remedy === undefined ? null : addressed(remedy),
      command: command ?? null,
      facts: facts ?? {},
    })),
  };
}

function render(findings: readonly Finding[], { width, style }: Screen): string {
  const statusWidth = Math.max(...findings.map(({ status }) => status.length));
  const checkWidth = Math.max(...findings.map(({ check }) => check.length));
  const indent = statusWidth + checkWidth + 4;
  const pad = " ".repeat(indent);
  const paint = { ok: style.green, warning: style.yellow, problem: style.red, skipped: style.dim } as const;
  const lines = findings.flatMap(({ check, status, found, remedy, command }) => {
    const head = `${paint[status](status.padEnd(statusWidth))}  ${check.padEnd(checkWidth)}  `;
    const words = [...found.split("\n"), ...(remedy === undefined ? [] : [addressed(remedy)])];
    return [
      head + words.map((line) => wrapText(printable(line), indent, width)).join(`\n${pad}`),
      // Never broken: it is copied.
      ...(command === undefined ? [] : [`${pad}$ ${printable(command)}`]),
    ];
  });
  return `${lines.join("\n")}\n\n${summarize(findings)}\n`;
}

function summarize(findings: readonly Finding[]): string {
  const count = (status: FindingStatus, word: string) => {
    const number = findings.filter((finding) => finding.status === status).length;
    return number === 0 ? [] : [`${number} ${word}${number === 1 ? "" : "s"}`];
  };
  const parts = [...count("problem", "problem"), ...count("warning", "warning")];
  return parts.length === 0 ? "Everything is as it should be." : `${parts.join(", ")}.`;
}
