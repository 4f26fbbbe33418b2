import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { patient } from "../../helpers/patient.ts";
import { type Bridge, type FullAnswer, startBridge } from "./client.ts";
import { containersOf } from "./engine.ts";

const MAX_GROWTH_MIB = 100;
/** Of all attacks on one bridge together; with the 75 MiB of a fresh one that is less than the 300 MB of our promise. */
const MAX_TOTAL_MIB = 200;
/** The one in use and the spare. */
const MAX_CONTAINERS = 2;
const NEXT_WITHIN_MS = 5000;

/** One attack on the sandbox, and what must come of it. */
export interface Attack {
  readonly code: string;
  readonly timeout?: number;
  /** In the text of the answer. */
  readonly says?: RegExp | string;
  readonly never?: RegExp;
  readonly status?: "success" | "error" | "timeout";
  /** What becomes of the variables: `either` where engines differ. The answer, or the next, says so when they are lost. */
  readonly state: "kept" | "lost" | "either";
  /** What the next call must say; by default nothing but its result. */
  readonly next?: RegExp;
  readonly withinMs?: number;
}

/** A bridge under attack. */
export interface Target extends AsyncDisposable {
  readonly bridge: Bridge;
  /** Attacks, and holds the bridge to the rule for what comes after; returns the answer to the attack. */
  attack(attack: Attack): Promise<FullAnswer>;
}

export async function startTarget(env: Readonly<Record<string, string>> = {}): Promise<Target> {
  const bridge = await startBridge({ env });
  await bridge.python("1"); // the first result may carry a note about the engine
  const fresh = peakMib(bridge.pid);
  const files = () =>
    readdirSync(bridge.home.path).filter((name) => name !== "MCPs" && !name.startsWith("."));
  return {
    bridge,
    async attack(attack) {
      await bridge.python("canary = 'alive'");
      const before = peakMib(bridge.pid);
      const startedAt = performance.now();
      const answer = await bridge.call({ code: attack.code, timeout: attack.timeout ?? 20 });
      const tookMs = performance.now() - startedAt;
      if (attack.says instanceof RegExp) expect(answer.text).toMatch(attack.says);
      else if (attack.says !== undefined) expect(answer.text).toBe(attack.says);
      if (attack.never !== undefined) expect(answer.text).not.toMatch(attack.never);
      if (attack.status !== undefined) expect(answer.structured["status"]).toBe(attack.status);
      if (attack.withinMs !== undefined) expect(tookMs).toBeLessThan(patient(attack.withinMs));
      await checkAftermath(bridge, attack, answer);
      expect(peakMib(bridge.pid) - before).toBeLessThan(MAX_GROWTH_MIB);
      expect(peakMib(bridge.pid) - fresh).toBeLessThan(MAX_TOTAL_MIB);
      expect((await containersOf(bridge.pid)).length).toBeLessThanOrEqual(MAX_CONTAINERS);
      // An engine's monitor must not leave files where the bridge was started.
      expect(files()).toEqual([]);
      return answer;
    },
    [Symbol.asyncDispose]: () => bridge[Symbol.asyncDispose](),
  };
}

/** One test for each attack, named by its row; `target` is asked when they run. */
export function describeAttacks(
  title: string,
  target: () => Target,
  rows: readonly (readonly [string, Attack])[],
): void {
  describe(title, () => {
    test.each([...rows])("%s", async (_title, attack) => {
      await target().attack(attack);
    });
  });
}

/** The next call works, at once, and whatever was lost was said. */
async function checkAftermath(bridge: Bridge, attack: Attack, answer: FullAnswer): Promise<void> {
  const startedAt = performance.now();
  const next = await bridge.call({ code: "[globals().get('canary', 'gone'), len('ab')]" });
  expect(performance.now() - startedAt).toBeLessThan(patient(NEXT_WITHIN_MS));
  const isKept = String(next.structured["result"]) === "['alive', 2]";
  expect(next.structured["result"]).toBe(isKept ? "['alive', 2]" : "['gone', 2]");
  if (attack.state !== "either") expect(isKept ? "kept" : "lost").toBe(attack.state);
  if (attack.next === undefined) expect(next.text).toBe(String(next.structured["result"]));
  else expect(next.text).toMatch(attack.next);
  if (!isKept)
    expect(answer.text + next.text).toContain("Variables, imports and functions of this session are gone");
}

/** The most memory that a process ever had; 0 where the system does not say. */
export function peakMib(pid: number): number {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return 0;
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(file, "utf8"))?.[1]) / 1024;
}

/** Processor seconds that a process has used; 0 where the system does not say. */
export function cpuSeconds(pid: number): number {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return 0;
  const fields = readFileSync(file, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
