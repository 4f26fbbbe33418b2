/** Where traces go; `OTEL_*` as the specification of OpenTelemetry has them. What is not here its SDK reads itself. */
export interface TracingSettings {
  /** Of traces, with the path; may have a password in it. `undefined`: what is set cannot be used. */
  readonly url: string | undefined;
  /** What of the settings is not as it has to be, and what is done instead. */
  readonly faults: readonly string[];
  readonly sampler: SamplerSettings;
}

export interface SamplerSettings {
  /** Whether who asked us decides, where that is known. */
  readonly isParentBased: boolean;
  /** From 0 to 1. */
  readonly ratio: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const SAMPLERS: readonly string[] = ["always_on", "always_off", "traceidratio"];
const PARENT_BASED = "parentbased_";

/** Names of variables whose values are tokens. */
export const TRACING_SECRETS = /^OTEL_EXPORTER_OTLP_(\w+_)?HEADERS$/;

/** `undefined` where nobody wants traces. The variables are others' too: a fault in them stops nothing. */
export function resolveTracing(env: Environment): TracingSettings | undefined {
  const textOf = (name: string) => env[name]?.trim() ?? "";
  const own = textOf("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  const shared = textOf("OTEL_EXPORTER_OTLP_ENDPOINT");
  const exporters = textOf("OTEL_TRACES_EXPORTER") || "otlp";
  const isOff = textOf("OTEL_SDK_DISABLED").toLowerCase() === "true";
  if ((own === "" && shared === "") || isOff || !exporters.split(",").includes("otlp")) return undefined;
  const faults: string[] = [];
  const name = own === "" ? "OTEL_EXPORTER_OTLP_ENDPOINT" : "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  const given = own === "" ? `${shared.replace(/\/$/, "")}/v1/traces` : own;
  const isUrl = URL.canParse(given) && /^https?:$/.test(new URL(given).protocol);
  if (!isUrl) faults.push(`${name} is no address with http:// or https://; no traces are sent`);
  const protocol =
    textOf("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") || textOf("OTEL_EXPORTER_OTLP_PROTOCOL") || "http/json";
  const isSpoken = protocol.startsWith("http/");
  if (!isSpoken) {
    faults.push(
      `OTEL_EXPORTER_OTLP_PROTOCOL is "${protocol}", and only http/json is spoken; no traces are sent`,
    );
  }
  return { url: isUrl && isSpoken ? given : undefined, faults, sampler: resolveSampler(textOf, faults) };
}

function resolveSampler(textOf: (name: string) => string, faults: string[]): SamplerSettings {
  const name = textOf("OTEL_TRACES_SAMPLER") || "parentbased_always_on";
  const isParentBased = name.startsWith(PARENT_BASED);
  const root = isParentBased ? name.slice(PARENT_BASED.length) : name;
  if (!SAMPLERS.includes(root)) {
    faults.push(`OTEL_TRACES_SAMPLER is ${JSON.stringify(name)}, which is not known; all traces are sent`);
    return { isParentBased: true, ratio: 1 };
  }
  if (root !== "traceidratio") return { isParentBased, ratio: root === "always_on" ? 1 : 0 };
  const text = textOf("OTEL_TRACES_SAMPLER_ARG") || "1";
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return { isParentBased, ratio };
  faults.push(`OTEL_TRACES_SAMPLER_ARG is ${JSON.stringify(text)}: expected 0 to 1; all traces are sent`);
  return { isParentBased, ratio: 1 };
}
