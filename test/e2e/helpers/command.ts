import { runChild } from "../../../src/core/child.ts";
import { BINARY, bridgeEnv } from "./engine.ts";
import type { TestHome } from "./home.ts";
import { type Limits, underLimits } from "./limits.ts";

const TIMEOUT_MS = 60_000;
const MAX_CHARS = 64 * 1024 ** 2;

export interface CommandOptions {
  readonly home: TestHome;
  /** Where it runs: the home by default. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** How long it may take; a minute by default. */
  readonly timeoutMs?: number;
  readonly limits?: Limits;
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the binary to its end, with nothing at its stdin. */
export async function command(
  args: readonly string[],
  { home, cwd = home.path, env, timeoutMs = TIMEOUT_MS, limits = {} }: CommandOptions,
): Promise<CommandResult> {
  const { code, stdout, stderr } = await runChild({
    ...underLimits(limits, BINARY, args),
    env: bridgeEnv(home.path, env),
    cwd,
    timeoutMs,
    maxChars: MAX_CHARS,
  });
  return { code, stdout, stderr };
}

/**
 * Runs the binary on a terminal, where somebody answers the question, after `beforeAnswer`; returns all that was on the
 * screen.
 */
export async function onTerminal(
  args: readonly string[],
  answer: string,
  { home, cwd = home.path }: CommandOptions,
  beforeAnswer: () => void = () => undefined,
): Promise<{ readonly code: number; readonly screen: string }> {
  let screen = "";
  let answered = false;
  const decoder = new TextDecoder();
  const child = Bun.spawn([BINARY, ...args], {
    env: bridgeEnv(home.path),
    cwd,
    terminal: {
      cols: 80,
      rows: 24,
      data(terminal, bytes) {
        screen += decoder.decode(bytes, { stream: true });
        if (answered || !screen.includes("[y/N]")) return;
        answered = true;
        beforeAnswer();
        terminal.write(answer);
      },
    },
  });
  return { code: await child.exited, screen };
}
