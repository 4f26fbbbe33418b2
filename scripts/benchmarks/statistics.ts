/** The value below which the share `q` of the samples lies, between two samples in proportion. NaN without samples. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * q;
  const below = Math.floor(position);
  const low = sorted[below] ?? Number.NaN;
  const high = sorted[below + 1] ?? low;
  return low + (high - low) * (position - below);
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

export function p95(samples: readonly number[]): number {
  return quantile(samples, 0.95);
}

/** Milliseconds that `work` takes. */
export async function time(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/**
 * Runs each work `rounds` times and returns the numbers it gave. They take turns, a different one first in each round:
 * what else the machine does then falls on all alike. The first `warmUp` rounds do not count.
 */
export async function takeTurns<Name extends string>(
  { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
  works: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(works) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < warmUp + rounds; round += 1) {
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(round + turn) % names.length] as Name;
      const value = await works[name]();
      if (round >= warmUp) samples[name].push(value);
    }
  }
  return samples;
}

/** Adds up what was measured in the same round. */
export function sums(one: readonly number[], other: readonly number[]): number[] {
  return one.map((value, index) => value + (other[index] ?? Number.NaN));
}
