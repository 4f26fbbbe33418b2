import { defineCommand } from "citty";
import type { Config } from "../config/config.ts";
import { DEPTH_VARIABLE } from "../config/depth.ts";
import type { ConfigOverrides } from "../config/load.ts";
import { loadSettings } from "../config/load-file.ts";
import { BridgeError } from "../core/errors.ts";
import { withDeadline } from "../core/lifecycle.ts";
import { createLog, type Log } from "../core/log.ts";
import { VERSION } from "../core/version.ts";
import { usage } from "./arguments.ts";
import type { CliBridge, CliContext, CliIo, CliService } from "./context.ts";
import { HTTP_FLAGS, SETTING_FLAGS, settingOverrides } from "./setting-flags.ts";

/** With the 4 s at most that replies get, the process is gone before clients lose their patience. */
const CLOSE_MS = 5000;

/** `sandpy serve` */
export const serveCommand = defineCommand({
  meta: {
    name: "serve",
    description: "Serve MCP over stdin and stdout, as MCP clients start it, or by HTTP, for several of them.",
  },
  args: {
    http: {
      type: "boolean",
      description: "serve by streamable HTTP; the flags that follow are for it alone",
    },
    ...HTTP_FLAGS,
    ...SETTING_FLAGS,
  },
  run({ args, data }) {
    const lonely = Object.keys(HTTP_FLAGS).find((flag) => args.http !== true && flag in args);
    if (lonely !== undefined) throw usage(`--${lonely} is for serving by HTTP`, "Add --http.");
    return serve(settingOverrides(args), args.http === true, data);
  },
});

async function serve(
  overrides: ConfigOverrides,
  isHttp: boolean,
  { io, createBridge }: CliContext,
): Promise<number> {
  const config = await loadSettings(io.env, overrides);
  refuseToServeItself(config);
  const log = createLog(config.logLevel, (line) => io.stderr.write(line), config.logFormat);
  const bridge = await createBridge(config, { log });
  const stop = new AbortController();
  let service: CliService | undefined;
  const forget = io.onStopSignal((signal) => {
    log.debug("stopping", { signal });
    stop.abort();
    void service?.close();
  });
  try {
    service = await (isHttp ? serveHttp(bridge, io, config) : serveStdio(bridge, io, log));
    if (stop.signal.aborted) void service.close();
    await service.done;
    return 0;
  } finally {
    await withDeadline(bridge.close(), CLOSE_MS, "closing").catch((error: unknown) =>
      log.warning("could not clean up", { error: String(error) }),
    );
    forget();
  }
}

function serveStdio(bridge: CliBridge, { stdin, stdout }: CliIo, log: Log): CliService {
  const service = bridge.serveStdio({ stdin, stdout });
  log.info("serving MCP on stdio", { version: VERSION });
  return service;
}

/** Where it listens is said at every level of the log: with port 0 nobody else knows. */
async function serveHttp(bridge: CliBridge, { stderr }: CliIo, { logFormat }: Config): Promise<CliService> {
  const service = await bridge.serveHttp();
  const { url } = service;
  if (logFormat === "text") stderr.write(`sandpy: serving MCP at ${url}\n`);
  else createLog("INFO", (line) => stderr.write(line), logFormat).info("serving MCP by HTTP", { url });
  return service;
}

/** A wrapper can hide from discovery that a configured server is ourselves; each copy would start the next one. */
function refuseToServeItself({ env, depth, allowSelfServer }: Config): void {
  if (depth === 0 || allowSelfServer) return;
  const message = `this is a copy of sandpy that sandpy itself started (${DEPTH_VARIABLE}=${env[DEPTH_VARIABLE]})`;
  throw new BridgeError("CONFIG_INVALID", message, {
    hint: "Remove sandpy from the servers it is to call, or set MCP_BRIDGE_ALLOW_SELF_SERVER=1.",
  });
}
