/** Numbers that look random and come again with the same seed. */
export interface Random {
  /** A whole number from 0 to `below` - 1. */
  below(limit: number): number;
  /** True once in `times`. */
  once(times: number): boolean;
  pick<T>(from: readonly T[]): T;
}

/** The generator "mulberry32": 32 bits of state, good enough to choose mutations. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit: number) => next() % limit;
  return {
    below,
    once: (times) => below(times) === 0,
    pick: (from) => from[below(from.length)] as (typeof from)[number],
  };
}
