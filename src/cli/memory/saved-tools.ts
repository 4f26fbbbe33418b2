import { randomUUID } from "node:crypto";
import { loadSettings } from "../../config/load-file.ts";
import { BridgeError } from "../../core/errors.ts";
import { withDeadline } from "../../core/lifecycle.ts";
import { createLog } from "../../core/log.ts";
import type { CliContext } from "../context.ts";
import { describeDeath } from "../death.ts";

const CLOSE_MS = 5000;
/** The saved tools are one file of 4 MiB at most, and JSON makes more of it. */
const MAX_ANSWER_CHARS = 32 * 1024 * 1024;

/**
 * Evaluates an expression of Python on the saved tools in a fresh sandbox, since only Python knows its own grammar, and
 * returns what it says as JSON. Rejects with `MEMORY_REFUSED` and Python's words where that fails.
 */
export async function askPython(
  expression: string,
  { io, createBridge }: CliContext,
  signal: AbortSignal,
): Promise<unknown> {
  const config = await loadSettings(io.env);
  const log = createLog(config.logLevel, (line) => io.stderr.write(line), config.logFormat);
  // The saved tools run when Python starts, and may print what they like.
  const mark = randomUUID();
  const code = `import json as _json\nprint(${JSON.stringify(`\n${mark}`)} + _json.dumps(${expression}), flush=True)`;
  let output = "";
  const bridge = await createBridge(config, { log });
  try {
    const session = await bridge.openSession();
    const outcome = await session.execute(
      {
        code,
        servers: [],
        timeoutMs: config.timeoutMs,
        onOutput: (name, text) => {
          if (name === "stdout") output = (output + text).slice(-MAX_ANSWER_CHARS);
        },
      },
      signal,
    );
    signal.throwIfAborted();
    if (outcome.error !== null) throw new BridgeError("MEMORY_REFUSED", outcome.error.evalue);
    const line = output.split("\n").find((each) => each.startsWith(mark));
    if (line === undefined) {
      const isLate = outcome.status === "timeout";
      const late = `took longer than ${config.timeoutMs / 1000} s`;
      const why = isLate ? late : (describeDeath(outcome) ?? "gave no answer");
      throw new BridgeError("MEMORY_UNAVAILABLE", `the saved tools could not be asked: Python ${why}`, {
        hint: 'Look at the file: "sandpy memory tools show" prints it.',
      });
    }
    return JSON.parse(line.slice(mark.length));
  } finally {
    await withDeadline(bridge.close(), CLOSE_MS, "closing").catch((error: unknown) =>
      log.warning("could not clean up", { error: String(error) }),
    );
  }
}
