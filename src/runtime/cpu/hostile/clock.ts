/** Vector clocks of blocks and of what their threads do. */

const NO_CLOCKS: readonly Clock[] = [];

/**
 * What one thread does between two synchronisations of its block: an iteration of a loop over threads, or one op that
 * all threads run together. No two strands of a block are ordered before the block synchronises.
 */
export class Strand {
  /** Grows with each flag operation, so that a release covers what came before it alone. */
  sequence = 0;
  /** What it has learnt since the block's last synchronisation. */
  learnt: readonly Clock[] = NO_CLOCKS;
  private known: Clock | null = null;

  constructor(
    readonly id: number,
    /** Number of the block over all ranks, or of the rank's caller. */
    readonly agent: number,
    readonly phase: number,
    readonly launch: number,
  ) {}

  learn(clock: Clock): void {
    this.learnt = [...this.learnt, clock];
    this.known = null;
  }

  /** What it knows: what its block knew when it synchronised last, and what it has learnt since. */
  clockIn(block: Clock): Clock {
    if (this.learnt.length === 0) return block;
    return (this.known ??= block.joinAll(this.learnt));
  }
}

/** The first stretches of a strand. */
interface Stretches {
  readonly strand: Strand;
  readonly count: number;
}

/** Strands by their number. */
type Known = ReadonlyMap<number, Stretches>;

const NOTHING: Known = new Map();

/** What is known to have happened: whole phases of each agent, and stretches of strands. Never changed in place. */
export class Clock {
  private constructor(
    private readonly phases: readonly number[],
    private readonly strands: Known,
  ) {}

  static zero(agents: number): Clock {
    return new Clock(new Array<number>(agents).fill(0), NOTHING);
  }

  /** Whether all is known that strand `id`, of this agent and phase, did up to its stretch `sequence`. */
  covers(id: number, agent: number, phase: number, sequence: number): boolean {
    if (this.phases[agent]! > phase) return true;
    return this.strands.size > 0 && (this.strands.get(id)?.count ?? 0) > sequence;
  }

  join(other: Clock): Clock {
    return other === this ? this : this.joinAll([other]);
  }

  joinAll(others: readonly Clock[]): Clock {
    let phases: number[] | null = null;
    for (const other of others)
      for (let a = 0; a < this.phases.length; a++)
        if (other.phases[a]! > (phases ?? this.phases)[a]!) (phases ??= this.phases.slice())[a] = other.phases[a]!;
    if (others.every(({ strands }) => strands.size === 0 || strands === this.strands))
      return phases === null ? this : new Clock(phases, this.strands.size === 0 ? NOTHING : this.strands);
    const known = new Map<number, Stretches>();
    const reached = phases ?? this.phases;
    const take = (strands: Known): void => {
      for (const [id, s] of strands) {
        if (reached[s.strand.agent]! > s.strand.phase) continue;
        const old = known.get(id);
        if (old === undefined || old.count < s.count) known.set(id, s);
      }
    };
    take(this.strands);
    for (const { strands } of others) take(strands);
    return new Clock(reached, known);
  }

  /** With the first `phase` phases of an agent. */
  withPhases(agent: number, phase: number): Clock {
    const phases = this.phases.slice();
    phases[agent] = phase;
    return new Clock(phases, this.strands);
  }

  /** With all that `strand` has done so far. */
  withStrand(strand: Strand): Clock {
    const done = { strand, count: strand.sequence + 1 };
    return new Clock(this.phases, new Map(this.strands).set(strand.id, done));
  }
}
