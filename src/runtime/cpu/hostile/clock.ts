/** Vector clocks of blocks and of what their threads do. */

/**
 * What one thread does between two synchronisations of its block: an iteration of a loop over threads, or one op that
 * all threads run together. No two strands of a block are ordered before the block synchronises.
 */
export class Strand {
  /** Grows with each flag operation, so that a release covers what came before it alone. */
  sequence = 0;
  /** What it has learnt since the block's last synchronisation, and the block's own clock; null if nothing. */
  clock: Clock | null = null;

  constructor(
    readonly id: number,
    /** Number of the block over all ranks, or of the rank's caller. */
    readonly agent: number,
    readonly phase: number,
    readonly launch: number,
  ) {}
}

/** What is known to have happened: whole phases of each agent, and stretches of strands. Never changed in place. */
export class Clock {
  private constructor(
    private readonly phases: Int32Array,
    private readonly strands: ReadonlyMap<Strand, number>,
  ) {}

  private static readonly noStrands: ReadonlyMap<Strand, number> = new Map();

  static zero(agents: number): Clock {
    return new Clock(new Int32Array(agents), Clock.noStrands);
  }

  /** Whether all is known that `strand` did up to its stretch `sequence`. */
  covers(strand: Strand, sequence: number): boolean {
    return this.phases[strand.agent]! > strand.phase || (this.strands.get(strand) ?? 0) > sequence;
  }

  join(other: Clock): Clock {
    if (other === this) return this;
    let phases = this.phases;
    for (let a = 0; a < phases.length; a++) {
      if (other.phases[a]! <= phases[a]!) continue;
      if (phases === this.phases) phases = phases.slice();
      phases[a] = other.phases[a]!;
    }
    if (this.strands.size === 0 && other.strands.size === 0)
      return phases === this.phases ? this : new Clock(phases, Clock.noStrands);
    const strands = new Map<Strand, number>();
    for (const source of [this.strands, other.strands])
      for (const [s, n] of source) if (phases[s.agent]! <= s.phase && (strands.get(s) ?? 0) < n) strands.set(s, n);
    return new Clock(phases, strands);
  }

  /** With the first `phase` phases of an agent. */
  withPhases(agent: number, phase: number): Clock {
    const phases = this.phases.slice();
    phases[agent] = phase;
    return new Clock(phases, this.strands);
  }

  /** With all that `strand` has done so far. */
  withStrand(strand: Strand): Clock {
    return new Clock(this.phases, new Map(this.strands).set(strand, strand.sequence + 1));
  }
}
