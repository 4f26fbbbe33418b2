import type { OwnLimits } from "../../core/own-limits.ts";
import type { EngineInfo } from "../engine.ts";
import { runtimeArgs } from "../gvisor.ts";
import { checkImage, processLimits } from "../run-args.ts";
import type { InstallOptions } from "./installer.ts";
import { PROGRAMS } from "./programs.ts";

/** What pip listens to, and what gets it through a proxy. Values never stand on a command line. */
const FORWARDED =
  /^(PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|DEFAULT_TIMEOUT|RETRIES)|(HTTPS?|ALL|NO)_PROXY)$/i;

/** All that decides how a container for pip is started. */
export interface InstallPlan {
  readonly info: EngineInfo;
  readonly image: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly seccompProfile: string;
  readonly hardLimits: OwnLimits;
  /** The engine's network; `undefined` for its own choice. */
  readonly network: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly options: InstallOptions;
}

/**
 * Arguments that start the installer in a container: with a network, which pip needs, and with a file system that can be
 * written and goes with it; else as confined as a sandbox.
 */
export function buildInstallArgs(plan: InstallPlan): string[] {
  const { info, image, name, labels, seccompProfile, hardLimits, network, env, options } = plan;
  checkImage(image);
  const { engine } = info;
  const runtime = runtimeArgs(engine, info.ociRuntime, options.wheels === null);
  const forwarded = Object.keys(env).filter((key) => FORWARDED.test(key));
  return [
    ...(engine === "podman" ? [...runtime, "run"] : ["run", ...runtime]),
    ...["--rm", "--interactive", "--name", name, "--pull", "never", "--log-driver", "none"],
    // So that "rm --force" kills at once; the default waits longer for a polite end than closing does.
    ...["--stop-timeout", "0"],
    ...(options.wheels === null
      ? network === undefined
        ? []
        : ["--network", network]
      : ["--network", "none"]),
    ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "65534:65534"],
    ...["--security-opt", `seccomp=${seccompProfile}`],
    ...processLimits({ engine, hardLimits }),
    ...Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
    ...["HOME=/tmp", "PYTHONHASHSEED=0", ...forwarded].flatMap((each) => ["--env", each]),
    ...["--workdir", "/tmp", "--no-healthcheck", "--entrypoint", "python3", image],
    ...["-B", "-c", PROGRAMS.install, JSON.stringify(options)],
  ];
}
