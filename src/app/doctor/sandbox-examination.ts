import type { Config } from "../../config/config.ts";
import type { ContainerEngine, EngineInfo } from "../../container/engine.ts";
import type { ImageFacts } from "../../container/image-facts.ts";
import { BridgeError, toBridgeError } from "../../core/errors.ts";
import type { ProbeRun } from "../probe/run-probe.ts";
import { NOT_STARTED, type Viewing, viewSandbox } from "../probe/view-sandbox.ts";
import { describeEngine } from "./engine-findings.ts";
import { type Finding, findingOf } from "./finding.ts";
import { tryLimits } from "./limit-findings.ts";
import { judgeView } from "./sandbox-findings.ts";

const NOT_FOUND = 127;
const KILLED = 137;
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

/** Whether a container started, and what was seen in it. */
export interface SandboxExamination {
  readonly didStart: boolean;
  readonly findings: readonly Finding[];
}

/** Looks at the image, starts a container of it as the bridge would, and looks at that from the inside. */
export async function examineSandbox(
  first: ContainerEngine,
  config: Config,
  signal: AbortSignal,
): Promise<SandboxExamination> {
  const image = await describeOrRefuse(first, config, signal);
  if (image instanceof BridgeError) {
    const findings = [findingOf("image", image), ...(await describeEngine(first, signal))];
    return { didStart: false, findings };
  }
  if (image === undefined) {
    const findings = [missingImage(config), ...(await describeEngine(first, signal))];
    return { didStart: false, findings };
  }
  const shown = describeImage(config.image, image);
  const started = await viewOrFail(first, config, signal);
  if (started instanceof BridgeError) {
    const findings = [shown, ...(await describeEngine(first, signal)), findingOf("sandbox", started)];
    return { didStart: false, findings };
  }
  if ("failure" in started) {
    const findings = [
      shown,
      ...(await describeEngine(first, signal)),
      explainStart(started, image, first, config),
    ];
    return { didStart: false, findings };
  }
  const { engine, view } = started;
  const [described, limits] = await Promise.all([
    describeEngine(engine, signal),
    tryLimits(engine, config, signal),
  ]);
  return {
    didStart: true,
    findings: [
      shown,
      ...described,
      startFinding(first, engine),
      ...judgeView(view, engine.info.ociRuntime),
      ...limits,
    ],
  };
}

/** The image's facts, or why its name is none. */
async function describeOrRefuse(
  engine: ContainerEngine,
  { image }: Config,
  signal: AbortSignal,
): Promise<ImageFacts | BridgeError | undefined> {
  try {
    return await engine.images.describe(image, signal);
  } catch (error) {
    if (error instanceof BridgeError && error.code === "CONFIG_INVALID") return error;
    throw error;
  }
}

/** What was seen, how the start failed, or why it came to neither. */
async function viewOrFail(
  engine: ContainerEngine,
  config: Config,
  signal: AbortSignal,
): Promise<Viewing | BridgeError> {
  try {
    return await viewSandbox(engine, config, signal);
  } catch (error) {
    if (error instanceof BridgeError && error.code !== "CANCELLED") return error;
    throw error;
  }
}

function missingImage({ image }: Config): Finding {
  const facts = { name: image, present: false };
  const common = {
    check: "image",
    status: "problem",
    found: `${JSON.stringify(image)} is not here`,
    facts,
  } as const;
  const canPack = process.platform === "linux";
  // No registry has those.
  if (image.startsWith("localhost/")) {
    return {
      ...common,
      remedy:
        `It has to be built here. ${canPack ? "One of this machine's own Python needs no registry; set MCP_BRIDGE_IMAGE as it says." : ""}`.trim(),
      command: canPack ? "sandpy image build --from-host" : "sandpy image list",
    };
  }
  return {
    ...common,
    remedy: `Pull it.${canPack ? " Where no registry can be reached, pack this machine's own Python: sandpy image build --from-host" : ""}`,
    command: "sandpy image pull",
  };
}

function describeImage(name: string, facts: ImageFacts): Finding {
  const { id, digests, labels, bytes, created, platform } = facts;
  const own = `linux/${ARCHITECTURES[process.arch] ?? process.arch}`;
  const size = `${Math.round(bytes / 1e6)} MB`;
  const common = {
    check: "image",
    facts: { name, present: true, id, digests, labels, bytes, created: created ?? null, platform },
  } as const;
  if (platform !== own) {
    return {
      ...common,
      status: "warning",
      found: `${JSON.stringify(name)} is for ${platform}, and this machine is ${own}: it is emulated, if it runs at all`,
      remedy: "Name an image for this machine with MCP_BRIDGE_IMAGE.",
    };
  }
  const digest = (digests[0]?.split("@")[1] ?? id).slice(0, 19);
  return { ...common, status: "ok", found: `${JSON.stringify(name)}, ${size}, ${digest}…` };
}

function startFinding({ info: first }: ContainerEngine, { info: used }: ContainerEngine): Finding {
  const isFirst = first.engine === used.engine && first.ociRuntime === used.ociRuntime;
  const facts = { engine: used.engine, ociRuntime: used.ociRuntime ?? null };
  if (isFirst)
    return { check: "sandbox", status: "ok", found: "a container starts with the bridge's own flags", facts };
  const name = ({ engine, ociRuntime }: typeof first) =>
    `${engine}${ociRuntime === undefined ? "" : ` with ${ociRuntime}`}`;
  return {
    check: "sandbox",
    status: "warning",
    found: `${name(first)} starts no container here; ${name(used)} does, and is used`,
    remedy: "Nothing has to be done; to save the vain try, choose it in the settings.",
    command:
      first.engine === used.engine
        ? `export MCP_BRIDGE_OCI_RUNTIME=${used.ociRuntime}`
        : `export MCP_BRIDGE_RUNTIME=${used.engine}`,
    facts,
  };
}

/** Says why Python did not start in a container, and what mends it. */
export function explainStart(
  { failure: { code, stderr } }: { readonly failure: Pick<ProbeRun, "code" | "stderr"> },
  { platform }: Pick<ImageFacts, "platform">,
  { info: { engine } }: { readonly info: Pick<EngineInfo, "engine"> },
  { image, ociRuntime, memoryBytes }: Pick<Config, "image" | "ociRuntime" | "memoryBytes">,
): Finding {
  const words =
    stderr
      .split("\n")
      .findLast((line) => line.trim() !== "")
      ?.slice(0, 300) ?? "it said nothing";
  const facts = { exitCode: code, platform, stderr: stderr.slice(-2000) };
  const runtime = ociRuntime === undefined ? "" : `--runtime ${ociRuntime} `;
  const tryIt = (program: string) =>
    engine === "podman"
      ? `podman ${runtime}run --rm --network none ${program}`
      : `docker run ${runtime}--rm --network none ${program}`;
  const common = { check: "sandbox", status: "problem", facts } as const;
  if (code === KILLED) {
    return {
      ...common,
      found: `python3 of the image ${JSON.stringify(image)} was killed at its start, mostly for want of memory: it has ${Math.floor(memoryBytes / 1024 ** 2)} MiB`,
      remedy: "Give it more.",
      command: "export MCP_BRIDGE_MEMORY=512m",
    };
  }
  if (code === NOT_FOUND) {
    return {
      ...common,
      found: `the image ${JSON.stringify(image)} has no python3 on its PATH: ${words}`,
      remedy: "Name an image with Python 3.9 or newer with MCP_BRIDGE_IMAGE, such as python:3.14-slim.",
      command: tryIt(`--entrypoint python3 ${image} --version`),
    };
  }
  if (NOT_STARTED.includes(code)) {
    return {
      ...common,
      found: `${engine} starts no container of ${JSON.stringify(image)} (exit code ${code}): ${words}`,
      remedy:
        ociRuntime === undefined
          ? `See whether ${engine} starts a plain one.`
          : `MCP_BRIDGE_OCI_RUNTIME is ${JSON.stringify(ociRuntime)}: unset it, or see whether it starts a plain one.`,
      command: tryIt(`${image} true`),
    };
  }
  return {
    ...common,
    found: `python3 of the image ${JSON.stringify(image)} ended with ${code ?? "a signal"}: ${words}`,
    remedy: "It has to be CPython 3.9 or newer; name another image with MCP_BRIDGE_IMAGE.",
    command: tryIt(`--entrypoint python3 ${image} --version`),
  };
}

/** What a failure of the engine or of the settings says, as a finding. */
export function sandboxFailure(error: unknown): Finding {
  return findingOf("sandbox", toBridgeError(error));
}
