/**
 * Lists that every step has one of, one after the other in one array: a player goes through the steps of thousands of ranks, and an
 * object for each would be somewhere else in memory each time.
 */

/** Ranks, step by step: step s has those from `at[s]` to `at[s + 1]`. */
export interface Lists {
  readonly at: Int32Array;
  readonly ranks: Int32Array;
}

/** Bytes to or from ranks, step by step. */
export interface Flows extends Lists {
  readonly bytes: Float64Array;
}

/** Lists that are written step by step, in order. */
export class InOrder {
  private readonly at: number[] = [0];
  private readonly ranks: number[] = [];
  private readonly bytes: number[] = [];

  add(rank: number, bytes: number): void {
    this.ranks.push(rank);
    this.bytes.push(bytes);
  }

  /** What is added from here on is the next step's. */
  next(): void {
    this.at.push(this.ranks.length);
  }

  lists(): Flows {
    return {
      at: Int32Array.from(this.at),
      ranks: Int32Array.from(this.ranks),
      bytes: Float64Array.from(this.bytes),
    };
  }
}

/** Lists whose steps are written in any order; what one step has is in the order in which it was added. */
export class AnyOrder {
  private readonly steps: number[] = [];
  private readonly ranks: number[] = [];
  private readonly bytes: number[] = [];

  constructor(private readonly count: number) {}

  add(step: number, rank: number, bytes = 0): void {
    this.steps.push(step);
    this.ranks.push(rank);
    this.bytes.push(bytes);
  }

  /** @param before what decides the order of a step's ranks, the lower first; without it they are as they were added */
  lists(before?: (step: number, rank: number) => number): Flows {
    const { steps, ranks, bytes, count } = this;
    const at = new Int32Array(count + 1);
    for (const step of steps) at[step + 1]!++;
    for (let step = 0; step < count; step++) at[step + 1]! += at[step]!;
    const free = at.slice();
    const order = new Int32Array(steps.length);
    steps.forEach((step, k) => (order[free[step]!++] = k));
    if (before !== undefined)
      for (let step = 0; step < count; step++) {
        const [from, to] = [at[step]!, at[step + 1]!];
        if (to - from > 1) order.subarray(from, to).sort((a, b) => before(step, ranks[a]!) - before(step, ranks[b]!));
      }
    return { at, ranks: Int32Array.from(order, (k) => ranks[k]!), bytes: Float64Array.from(order, (k) => bytes[k]!) };
  }
}
