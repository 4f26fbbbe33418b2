import { join } from "node:path";
import * as z from "zod";
import { matchesStars } from "../../core/glob.ts";
import { forbidAll, isObject, type LoadPolicy, type PolicySubject, systemPath } from "./policy.ts";

const CLIENTS = ["Amp"];
const KEY = "amp.mcpPermissions";
const FOLDER = {
  linux: "/etc/ampcode",
  darwin: "/Library/Application Support/ampcode",
  win32: "C:\\ProgramData\\ampcode",
} as const;

const ruleSchema = z.object({
  matches: z.object({
    command: z.string().optional(),
    args: z.string().optional(),
    url: z.string().optional(),
  }),
  action: z.enum(["allow", "reject"]),
});
type Rule = z.infer<typeof ruleSchema>;

/** Amp: the first rule of `amp.mcpPermissions` that means a server decides; one that none means is allowed (ampcode.com). */
export const loadAmpPolicy: LoadPolicy = async ({ config, files }) => {
  const read = await files.read(join(systemPath(config, FOLDER), "managed-settings.json"));
  if (read.kind === "absent") return undefined;
  if (read.kind === "unreadable") return forbidAll(CLIENTS, read);
  const list = isObject(read.value) ? read.value[KEY] : undefined;
  if (list === undefined) return undefined;
  const parsed = z.array(ruleSchema).safeParse(list);
  if (!parsed.success)
    return forbidAll(CLIENTS, { file: read.file, reason: `has a "${KEY}" that nobody understands` });
  return {
    clients: CLIENTS,
    forbids(server) {
      const rule = parsed.data.find((candidate) => means(candidate, server));
      return rule?.action === "reject" ? `"${KEY}" in ${read.file}` : undefined;
    },
  };
};

function means({ matches: { command, args, url } }: Rule, { transport }: PolicySubject): boolean {
  if (transport.kind === "remote") {
    return (
      url !== undefined && command === undefined && args === undefined && matchesStars(url, transport.url)
    );
  }
  return (
    url === undefined &&
    (command !== undefined || args !== undefined) &&
    matchesStars(command ?? "*", transport.command) &&
    matchesStars(args ?? "*", transport.args.join(" "))
  );
}
