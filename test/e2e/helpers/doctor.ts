import type { Finding } from "../../../src/app/doctor/finding.ts";
import { command } from "./command.ts";
import type { TestHome } from "./home.ts";

/** What `sandpy doctor --json` prints. */
export interface Report {
  readonly ok: boolean;
  readonly problems: number;
  readonly findings: readonly (Finding & {
    readonly remedy: string | null;
    readonly command: string | null;
  })[];
}

/** Runs `sandpy doctor` with this environment. */
export async function examineWith(
  home: TestHome,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly report: Report }> {
  const { code, stdout } = await command(["doctor", "--json"], { home, env });
  return { code, report: JSON.parse(stdout) as Report };
}

export const statusOf = ({ findings }: Report, check: string): Finding["status"] | undefined =>
  findings.find((one) => one.check === check)?.status;
