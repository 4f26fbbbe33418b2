import { record } from "./facts.ts";

/** What an engine says about an image. */
export interface ImageFacts {
  /** `sha256:` and 64 hexadecimal digits: of what the image is made of here. */
  readonly id: string;
  readonly tags: readonly string[];
  /** `name@sha256:…`, as registries know it; empty for one that was built here with docker. */
  readonly digests: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly bytes: number;
  /** ISO 8601; `undefined` where the engine does not say. */
  readonly created: string | undefined;
  /** Such as `linux/amd64`. */
  readonly platform: string;
  readonly environment: readonly string[];
}

/** Reads one element of the answer of `image inspect`; `undefined` when it is none. */
export function parseImageFacts(answer: unknown): ImageFacts | undefined {
  const image = record(answer);
  const { Id: id, Size: bytes, Created: created } = image;
  if (typeof id !== "string" || id === "") return undefined;
  const config = record(image["Config"]);
  return {
    id: id.startsWith("sha256:") ? id : `sha256:${id}`,
    tags: texts(image["RepoTags"]),
    digests: texts(image["RepoDigests"]),
    labels: Object.fromEntries(
      Object.entries(record(config["Labels"])).filter(
        (pair): pair is [string, string] => typeof pair[1] === "string",
      ),
    ),
    bytes: typeof bytes === "number" ? bytes : 0,
    created: typeof created === "string" ? created : undefined,
    platform: `${String(image["Os"] ?? "?")}/${String(image["Architecture"] ?? "?")}`,
    environment: texts(config["Env"]),
  };
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
