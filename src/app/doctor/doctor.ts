import type { Config } from "../../config/config.ts";
import { type BridgeError, toBridgeError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { examineEngines } from "./engine-findings.ts";
import { CHECKS, type CheckName, type Finding, findingOf } from "./finding.ts";
import { describeOwnLimits, describeVersions, examineHome, examineStateDir } from "./machine-findings.ts";
import { examineSandbox, sandboxFailure } from "./sandbox-examination.ts";
import { examineServers } from "./server-findings.ts";

/** What one part may take; all run at once. The longest is three containers, one after the other, at 30 s each. */
const PART_DEADLINE_MS = 120_000;

/** What is to be examined. */
export interface Patient {
  /** The settings, or those that hold without what is broken. */
  readonly config: Config;
  /** What the settings file and the variables say; `undefined`: nothing is wrong with them. */
  readonly settingsFault: BridgeError | undefined;
  readonly selfPath: string | undefined;
  readonly log: Log;
}

/**
 * Examines all that the bridge needs, each part with a deadline, and returns a finding for everything in the order of
 * {@link CHECKS}. Containers that it starts are gone when it settles. Rejects with `CANCELLED` alone.
 */
export async function examine(patient: Patient, signal: AbortSignal): Promise<readonly Finding[]> {
  const { config } = patient;
  const parts = await Promise.all([
    [describeVersions(config), describeOwnLimits(), settingsFinding(patient)],
    examinePart("home", async () => [await examineHome(config)], signal),
    examinePart("engine", (limit) => examineEngineAndSandbox(patient, limit), signal),
    examinePart("servers", () => examineServers(config, patient), signal),
    examinePart("state-directory", async () => [await examineStateDir(config)], signal),
  ]);
  signal.throwIfAborted();
  const findings = parts.flat();
  const missing = CHECKS.filter((check) => !findings.some((finding) => finding.check === check));
  const skipped = missing.map(
    (check): Finding => ({
      check,
      status: "skipped",
      found: "not looked at, because of the problem above",
    }),
  );
  return [...findings, ...skipped].sort(
    (one, other) => CHECKS.indexOf(one.check) - CHECKS.indexOf(other.check),
  );
}

/** A failure of one part is a finding, and no reason to leave out the others. */
async function examinePart(
  check: CheckName,
  act: (limit: AbortSignal) => Promise<readonly Finding[]>,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(PART_DEADLINE_MS)]);
  try {
    return await act(limit);
  } catch (error) {
    return [findingOf(check, toBridgeError(error))];
  }
}

async function examineEngineAndSandbox(
  { config, log }: Patient,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { engine, findings, troubles } = await examineEngines(config, log, signal);
  if (engine === undefined) return findings;
  try {
    const { didStart, findings: seen } = await examineSandbox(engine, config, signal);
    const inTheWay = troubles(didStart);
    return [...findings, ...inTheWay, ...(inTheWay.some(isProblem) ? seen.map(afterTrouble) : seen)];
  } catch (error) {
    return [...findings, ...troubles(false), sandboxFailure(error)];
  }
}

function isProblem({ status }: Finding): boolean {
  return status === "problem";
}

/** Where the cause is known, what fails for it needs no remedy of its own. */
function afterTrouble(finding: Finding): Finding {
  return finding.check === "sandbox" && isProblem(finding)
    ? { ...finding, remedy: "Mend first what is said of the engine above.", command: undefined }
    : finding;
}

function settingsFinding({ settingsFault, config }: Patient): Finding {
  if (settingsFault !== undefined) {
    const { message, hint, code } = settingsFault;
    return {
      check: "settings",
      status: "problem",
      found: `${message} (the other findings are about what is left without it)`,
      remedy: hint,
      facts: { code },
    };
  }
  return {
    check: "settings",
    status: "ok",
    found: `image ${config.image}, engine ${config.engine}`,
    facts: {
      engine: config.engine,
      ociRuntime: config.ociRuntime ?? null,
      image: config.image,
      memoryBytes: config.memoryBytes,
      pids: config.pids,
      configDir: config.configDir,
    },
  };
}
