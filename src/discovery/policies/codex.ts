import * as z from "zod";
import { forbidAll, isObject, type LoadPolicy, type PolicySubject, systemPath } from "./policy.ts";

const CLIENTS = ["Codex"];
const FILE = {
  linux: "/etc/codex/requirements.toml",
  darwin: "/etc/codex/requirements.toml",
  win32: "C:\\ProgramData\\OpenAI\\Codex\\requirements.toml",
} as const;

const argumentSchema = z.union([
  z.object({ match: z.literal("exact"), value: z.string() }),
  z.object({ match: z.literal("prefix"), value: z.string() }),
  z.object({ match: z.literal("regex"), expression: z.string() }),
]);
const identitySchema = z.union([
  z.object({ url: z.string() }),
  z.object({ command: z.string() }),
  z.object({ command: z.object({ executable: z.string(), args: z.array(argumentSchema).optional() }) }),
]);
type Identity = z.infer<typeof identitySchema>;

/**
 * Codex: where `mcp_servers` stands in `requirements.toml`, only servers that it names with the same command or URL
 * may be used (codex-rs/config/src/config_requirements.rs).
 */
export const loadCodexPolicy: LoadPolicy = async ({ config, files }) => {
  const read = await files.read(systemPath(config, FILE));
  if (read.kind === "absent") return undefined;
  if (read.kind === "unreadable") return forbidAll(CLIENTS, read);
  const table = isObject(read.value) ? read.value["mcp_servers"] : undefined;
  if (table === undefined) return undefined;
  const required = new Map(Object.entries(isObject(table) ? table : {}));
  return {
    clients: CLIENTS,
    forbids(server) {
      const entry = required.get(server.origin.key);
      const identity = identitySchema.safeParse(isObject(entry) ? entry["identity"] : undefined);
      if (identity.success && isIdentical(identity.data, server)) return undefined;
      return entry === undefined
        ? `"mcp_servers" in ${read.file}`
        : `"mcp_servers.${server.origin.key}.identity" in ${read.file}`;
    },
  };
};

function isIdentical(identity: Identity, { transport }: PolicySubject): boolean {
  if ("url" in identity) return transport.kind === "remote" && transport.url === identity.url;
  if (transport.kind !== "stdio") return false;
  const { command } = identity;
  if (typeof command === "string") return transport.command === command;
  const { executable, args } = command;
  if (transport.command !== executable) return false;
  if (args === undefined) return true;
  return (
    args.length === transport.args.length && args.every((rule, at) => matches(rule, transport.args[at] ?? ""))
  );
}

function matches(rule: z.infer<typeof argumentSchema>, word: string): boolean {
  switch (rule.match) {
    case "exact":
      return word === rule.value;
    case "prefix":
      return word.startsWith(rule.value);
    case "regex":
      try {
        return new RegExp(`^(?:${rule.expression})$`, "u").test(word);
      } catch {
        return false; // no expression that we understand: then it allows nothing
      }
  }
}
