/** In which order a hostile schedule runs what can run. Everything follows from the seed. */
import { randomKey, randomStream } from "../../numbers/index.js";

/** A block that can go on, or a rank whose next launch can start (block -1). */
export interface Candidate {
  readonly rank: number;
  readonly block: number;
}

export interface Strategy {
  readonly name: string;
  /** Index of the one to run until its next step. */
  pick(candidates: readonly Candidate[]): number;
  /** Whether a store that nothing orders becomes visible now. */
  leaks(): boolean;
}

export const STRATEGIES = ["round robin", "random", "priorities", "straggler"] as const;

/** The strategy of a seed: they take turns, and what is random in them is drawn from the seed. */
export function strategyOf(seed: number, world: number, grid: number): Strategy {
  const random = randomStream(randomKey(seed, world, grid));
  // In every other round of strategies, stores stay hidden for as long as they may.
  const leaksNever = Math.floor(seed / STRATEGIES.length) % 2 === 1;
  const leaks = (): boolean => !leaksNever && random() % 8 === 0;
  const name = STRATEGIES[seed % STRATEGIES.length]!;
  const key = (c: Candidate): number => c.rank * (grid + 1) + c.block + 1;
  switch (name) {
    case "round robin": {
      let last = -1;
      return {
        name,
        leaks,
        pick(candidates) {
          let best = -1;
          let first = 0;
          for (let i = 0; i < candidates.length; i++) {
            const k = key(candidates[i]!);
            if (k > last && (best < 0 || k < key(candidates[best]!))) best = i;
            if (k < key(candidates[first]!)) first = i;
          }
          const chosen = best < 0 ? first : best;
          last = key(candidates[chosen]!);
          return chosen;
        },
      };
    }
    case "random":
      return { name, leaks, pick: (candidates) => random() % candidates.length };
    case "priorities": {
      // As in probabilistic concurrency testing: the highest runs; now and then it falls to the lowest.
      const priorities = new Map<number, number>();
      let lowest = 0;
      return {
        name,
        leaks,
        pick(candidates) {
          const priority = (c: Candidate): number => {
            let p = priorities.get(key(c));
            if (p === undefined) priorities.set(key(c), (p = random() + 1));
            return p;
          };
          let best = 0;
          let highest = -Infinity;
          for (let i = 0; i < candidates.length; i++) {
            const p = priority(candidates[i]!);
            if (p <= highest) continue;
            best = i;
            highest = p;
          }
          if (random() % 32 === 0) priorities.set(key(candidates[best]!), --lowest);
          return best;
        },
      };
    }
    case "straggler": {
      // A rank, or one block of it, runs only when nobody else can; the others run ahead as far as they get.
      const slowRank = random() % world;
      const slowBlock = random() % 2 === 0 ? -2 : random() % grid;
      const isSlow = (c: Candidate): boolean => c.rank === slowRank && (slowBlock === -2 || c.block === slowBlock);
      return {
        name: slowBlock === -2 ? `straggler: rank ${slowRank}` : `straggler: block ${slowBlock} of rank ${slowRank}`,
        leaks,
        pick(candidates) {
          const fast = candidates.flatMap((c, i) => (isSlow(c) ? [] : [i]));
          return fast.length > 0 ? fast[random() % fast.length]! : random() % candidates.length;
        },
      };
    }
  }
}
