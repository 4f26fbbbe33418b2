import { resolve } from "node:path";
import { defineCommand } from "citty";
import type { ImageRequest, ReadyImage } from "../../app/images/build-image.ts";
import { loadSettings } from "../../config/load-file.ts";
import { shellPath } from "../../core/shell-word.ts";
import { LIST, usage } from "../arguments.ts";
import type { CliContext } from "../context.ts";
import { print, printJson } from "../output.ts";
import { printable } from "../printable.ts";
import { withProgress } from "./progress.ts";

/** `sandpy image build` */
export const buildCommand = defineCommand({
  meta: {
    name: "build",
    description: "Build an image with packages, from this machine's own Python, or from a Containerfile.",
  },
  args: {
    with: { type: "string", valueHint: LIST, description: "Python packages, such as numpy,pandas==2.3.3" },
    "from-host": { type: "boolean", description: "of this machine's own Python: needs no registry" },
    base: {
      type: "string",
      valueHint: "image",
      description: "add the packages to this image; default: the one in use",
    },
    apt: {
      type: "string",
      valueHint: LIST,
      description: "packages of the base image's distribution (Debian, Ubuntu)",
    },
    containerfile: {
      type: "string",
      valueHint: "file",
      description: "build this instead; its folder can be copied from",
    },
    wheels: {
      type: "string",
      valueHint: "folder",
      description: "take the packages from there, not from an index",
    },
    lock: {
      type: "string",
      valueHint: "file",
      description: "take exact versions from it; write it if it is not there",
    },
    python: { type: "string", valueHint: "path", description: "with --from-host: the interpreter" },
    network: {
      type: "string",
      valueHint: "name",
      description: "the engine's network for pip and apt, such as host",
    },
    tag: { type: "string", valueHint: "name", description: "call the image so" },
    json: { type: "boolean", description: "print JSON" },
  },
  run: ({ args, data }) => build(args, data),
});

type Args = Readonly<Record<string, unknown>>;

async function build(args: Args, { io }: CliContext): Promise<number> {
  const config = await loadSettings(io.env);
  const request = readRequest(args, config.image);
  const { buildImage } = await import("../../app/images/build-image.ts");
  return withProgress(io, config.logLevel, "building", async (work) => {
    const image = await buildImage(config, request, work);
    return args["json"] === true ? printJson(io, describe(image)) : print(io, render(image));
  });
}

function readRequest(args: Args, image: string): ImageRequest {
  const text = (name: string) => (typeof args[name] === "string" ? (args[name] as string) : undefined);
  const path = (name: string) => {
    const value = text(name);
    return value === undefined ? undefined : resolve(value);
  };
  const fromHost = args["from-host"] === true;
  const containerfile = path("containerfile");
  const kind = fromHost ? "from-host" : containerfile === undefined ? "packages" : "containerfile";
  refuseTogether(kind, args);
  const request: ImageRequest = {
    kind,
    base: text("base") ?? image,
    requirements: names(text("with")),
    systemPackages: names(text("apt")),
    wheels: path("wheels"),
    lockFile: path("lock"),
    containerfile,
    python: text("python"),
    network: text("network"),
    tag: text("tag"),
  };
  const isEmpty =
    request.requirements.length + request.systemPackages.length === 0 && request.lockFile === undefined;
  if (kind === "packages" && isEmpty) {
    throw usage(
      "nothing says what to build",
      'Type "sandpy image build --with numpy,pandas", or --from-host, or --containerfile FILE.',
    );
  }
  if (request.network !== undefined && !/^[A-Za-z0-9][\w.:-]*$/.test(request.network)) {
    throw usage(
      `--network is ${JSON.stringify(request.network)}: expected the name of a network, such as host`,
    );
  }
  return request;
}

/** The flags that mean nothing for a kind of image. */
const USELESS: Readonly<Record<ImageRequest["kind"], readonly string[]>> = {
  "from-host": ["base", "apt", "containerfile", "network"],
  packages: ["python"],
  containerfile: ["with", "base", "apt", "wheels", "lock", "python"],
};

function refuseTogether(kind: ImageRequest["kind"], args: Args): void {
  const useless = USELESS[kind].find((name) => args[name] !== undefined);
  if (useless === undefined) return;
  throw kind === "packages"
    ? usage(`--${useless} goes with --from-host alone`)
    : usage(`--${kind} and --${useless} exclude each other`);
}

function names(list: string | undefined): readonly string[] {
  return list === undefined ? [] : list.split(",").map((name) => name.trim());
}

function render({ name, python, packages, facts, engine, wasThere }: ReadyImage): string {
  const size = `${Math.round(facts.bytes / 1e6)} MB`;
  const inside = [`Python ${python}`, ...packages].join(", ");
  return [
    `${wasThere ? "Up to date" : "Built"} in ${engine}: ${name} (${size}), ${printable(inside)}`,
    "",
    "To have sandpy use it, set in its entry of your MCP client, or where it is started:",
    "",
    `  MCP_BRIDGE_IMAGE=${shellPath(name)}`,
    "",
  ].join("\n");
}

function describe({ name, python, packages, lock, facts, engine, wasThere }: ReadyImage) {
  const { id, bytes, digests, labels } = facts;
  return {
    image: name,
    env: `MCP_BRIDGE_IMAGE=${name}`,
    engine,
    built: !wasThere,
    id,
    digests,
    bytes,
    python,
    packages,
    lock,
    labels,
  };
}
