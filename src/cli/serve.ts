import { defineCommand } from "citty";
import type { Config } from "../config/config.ts";
import { DEPTH_VARIABLE } from "../config/depth.ts";
import type { ConfigOverrides } from "../config/load.ts";
import { loadSettings } from "../config/load-file.ts";
import { BridgeError } from "../core/errors.ts";
import { withDeadline } from "../core/lifecycle.ts";
import { createLog } from "../core/log.ts";
import { VERSION } from "../core/version.ts";
import type { CliContext } from "./context.ts";
import { SETTING_FLAGS, settingOverrides } from "./setting-flags.ts";

/** With the 4 s at most that replies get, the process is gone before clients lose their patience. */
const CLOSE_MS = 5000;

/** `sandpy serve` */
export const serveCommand = defineCommand({
  meta: { name: "serve", description: "Serve MCP over stdin and stdout, as MCP clients start it." },
  args: SETTING_FLAGS,
  run: ({ args, data }) => serve(settingOverrides(args), data),
});

async function serve(overrides: ConfigOverrides, { io, createBridge }: CliContext): Promise<number> {
  const config = await loadSettings(io.env, overrides);
  refuseToServeItself(config);
  const log = createLog(config.logLevel, (line) => io.stderr.write(line));
  const bridge = await createBridge(config, { log });
  const service = bridge.serveStdio({ stdin: io.stdin, stdout: io.stdout });
  const forget = io.onStopSignal((signal) => {
    log.debug("stopping", { signal });
    void service.close();
  });
  log.info("serving MCP on stdio", { version: VERSION });
  try {
    await service.done;
    return 0;
  } finally {
    await withDeadline(bridge.close(), CLOSE_MS, "closing").catch((error: unknown) =>
      log.warning("could not clean up", { error: String(error) }),
    );
    forget();
  }
}

/** A wrapper can hide from discovery that a configured server is ourselves; each copy would start the next one. */
function refuseToServeItself({ env, depth, allowSelfServer }: Config): void {
  if (depth === 0 || allowSelfServer) return;
  const message = `this is a copy of sandpy that sandpy itself started (${DEPTH_VARIABLE}=${env[DEPTH_VARIABLE]})`;
  throw new BridgeError("CONFIG_INVALID", message, {
    hint: "Remove sandpy from the servers it is to call, or set MCP_BRIDGE_ALLOW_SELF_SERVER=1.",
  });
}
