/**
 * What is known to have happened before a point: for each entity how many of its phases, and of strands whose phase is
 * not over how many segments. A segment or phase counts when all that it did is known.
 *
 * Knowledge has a number, and is never changed: most of it is shared by many segments, and joining it gives one of the two
 * sides more often than not. Phases lie in one table, a row for those of many numbers.
 */
import type { Strand } from "./flags.js";
import { ENTITY, PHASE, STRAND_FIELDS, type Trace, longer } from "./trace.js";

export const NOTHING = 0;

export class KnowledgeTable {
  /** Known phases of each entity, in rows of as many numbers as there are entities. */
  phases: Int32Array;
  /** By knowledge: where in `phases` its row begins. Knowledge that differs in segments alone has one row. */
  rows = new Int32Array(256);
  /** By knowledge: known segments by strand, without strands of phases that are known whole; null for none. */
  private readonly segments: (ReadonlyMap<Strand, number> | null)[] = [null];
  private readonly entities: number;
  /** Rows in use. The first is that of nothing. */
  private rowCount = 1;

  constructor(private readonly trace: Trace) {
    this.entities = trace.entities;
    this.phases = new Int32Array(Math.max(1, this.entities) * 256);
  }

  /** Whether segment `number` of a strand is known. */
  knows(knowledge: number, strand: Strand, number: number): boolean {
    return this.segmentsOf(knowledge, strand) > number;
  }

  /** Known segments of a strand, all of them if its phase is known. */
  private segmentsOf(knowledge: number, strand: Strand): number {
    if (this.knowsPhase(this.phases, this.rows[knowledge]!, strand)) return Infinity;
    return this.segments[knowledge]?.get(strand) ?? 0;
  }

  private knowsPhase(phases: Int32Array, row: number, strand: Strand): boolean {
    const { strands } = this.trace;
    return phases[row + strands[strand * STRAND_FIELDS + ENTITY]!]! > strands[strand * STRAND_FIELDS + PHASE]!;
  }

  /** New knowledge, with the phases of another. */
  private withSegments(of: number, segments: ReadonlyMap<Strand, number> | null): number {
    const knowledge = this.segments.push(segments) - 1;
    if (knowledge === this.rows.length) this.rows = longer(this.rows);
    this.rows[knowledge] = this.rows[of]!;
    return knowledge;
  }

  /** New knowledge, whose phases start as those of another. The caller may change them before it calls anything else. */
  private copy(of: number, segments: ReadonlyMap<Strand, number> | null): number {
    const { entities } = this;
    const knowledge = this.withSegments(of, segments);
    const row = this.rowCount++ * entities;
    if (row + entities > this.phases.length) this.phases = longer(this.phases);
    const from = this.rows[of]!;
    this.phases.copyWithin(row, from, from + entities);
    this.rows[knowledge] = row;
    return knowledge;
  }

  /** The same without strands whose phase is known to a row, or of which nothing is. */
  private open(segments: ReadonlyMap<Strand, number>, row: number): ReadonlyMap<Strand, number> | null {
    const { phases } = this;
    let kept = 0;
    for (const [s, n] of segments) if (n > 0 && !this.knowsPhase(phases, row, s)) kept++;
    if (kept === segments.size) return segments;
    if (kept === 0) return null;
    const open = new Map<Strand, number>();
    for (const [s, n] of segments) if (n > 0 && !this.knowsPhase(phases, row, s)) open.set(s, n);
    return open;
  }

  private keepOpen(knowledge: number): void {
    const segments = this.segments[knowledge]!;
    if (segments !== null) this.segments[knowledge] = this.open(segments, this.rows[knowledge]!);
  }

  /** Whether the phases that `a` knows are known to `b`. */
  private isWithin(a: number, b: number): boolean {
    const { entities, phases } = this;
    const [rowA, rowB] = [this.rows[a]!, this.rows[b]!];
    if (rowA === rowB) return true;
    for (let e = 0; e < entities; e++) if (phases[rowA + e]! > phases[rowB + e]!) return false;
    return true;
  }

  join(a: number, b: number): number {
    if (a === b || b === NOTHING) return a;
    if (a === NOTHING) return b;
    const ofA = this.segments[a]!;
    const ofB = this.segments[b]!;
    const [isBIn, isAIn] = [this.isWithin(b, a), this.isWithin(a, b)];
    if (ofB === null && isBIn) return a;
    if (ofA === null && isAIn) return b;
    let both = ofA ?? ofB;
    if (ofA !== null && ofB !== null) {
      const most = new Map(ofA);
      for (const [s, n] of ofB) if ((most.get(s) ?? 0) < n) most.set(s, n);
      both = most;
    }
    if (isBIn || isAIn) {
      const more = isBIn ? a : b;
      return this.withSegments(more, both === null ? null : this.open(both, this.rows[more]!));
    }
    const knowledge = this.copy(a, both);
    const { phases, entities, rows } = this;
    const [row, from] = [rows[knowledge]!, rows[b]!];
    for (let e = 0; e < entities; e++) if (phases[from + e]! > phases[row + e]!) phases[row + e] = phases[from + e]!;
    this.keepOpen(knowledge);
    return knowledge;
  }

  /** With `phase` phases of an entity known. */
  withPhase(knowledge: number, entity: number, phase: number): number {
    if (this.phases[this.rows[knowledge]! + entity]! >= phase) return knowledge;
    const more = this.copy(knowledge, this.segments[knowledge]!);
    this.phases[this.rows[more]! + entity] = phase;
    this.keepOpen(more);
    return more;
  }

  /** With the first `segments` segments of a strand known. */
  withStrand(knowledge: number, strand: Strand, segments: number): number {
    return this.withSegments(knowledge, new Map(this.segments[knowledge]).set(strand, segments));
  }

  /** What is known whichever of two is. */
  meet(a: number, b: number): number {
    if (a === b) return a;
    const ofA = this.segments[a]!;
    const ofB = this.segments[b]!;
    if (ofA === null && this.isWithin(a, b)) return a;
    if (ofB === null && this.isWithin(b, a)) return b;
    const knowledge = this.copy(a, null);
    const { phases, entities, rows } = this;
    const [row, from] = [rows[knowledge]!, rows[b]!];
    for (let e = 0; e < entities; e++) if (phases[from + e]! < phases[row + e]!) phases[row + e] = phases[from + e]!;
    if (ofA !== null || ofB !== null) {
      const least = new Map<Strand, number>();
      for (const s of [...(ofA?.keys() ?? []), ...(ofB?.keys() ?? [])])
        least.set(s, Math.min(this.segmentsOf(a, s), this.segmentsOf(b, s)));
      this.segments[knowledge] = least;
      this.keepOpen(knowledge);
    }
    return knowledge;
  }

  equals(a: number, b: number): boolean {
    if (a === b) return true;
    if (!this.isWithin(a, b) || !this.isWithin(b, a)) return false;
    const ofA = this.segments[a]!;
    const ofB = this.segments[b]!;
    if (ofA === null && ofB === null) return true;
    if ((ofA?.size ?? 0) !== (ofB?.size ?? 0)) return false;
    for (const [s, n] of ofA ?? []) if (ofB!.get(s) !== n) return false;
    return true;
  }

  /**
   * What is known whichever of the contributions came first, as long as their amounts reach `needed`: at least as much
   * as one of those without which the rest would not reach it.
   *
   * @param contributions knowledge; -1 for a contribution that carries none
   */
  guaranteed(contributions: readonly number[], amounts: readonly number[], needed: number): number {
    if (needed <= 0 || contributions.length === 0) return NOTHING;
    const [amount] = amounts as [number];
    if (!amounts.every((a) => a === amount)) return this.levels(contributions, amounts, needed);
    // Of equal amounts, as many as it takes: the one that completes them, least first. Those that carry nothing are least.
    const carrying = contributions.filter((c) => c >= 0);
    const count = Math.ceil(needed / amount) - (contributions.length - carrying.length);
    if (count <= 0 || count > carrying.length) return NOTHING;
    const [first] = carrying as [number];
    if (carrying.every((c) => c === first)) return first;
    if (count === 1) return carrying.reduce((a, b) => this.meet(a, b));
    if (count === carrying.length) return carrying.reduce((a, b) => this.join(a, b));
    return this.levels(contributions, amounts, needed);
  }

  /** `guaranteed`, for each entity and strand on its own: the level at which the amounts reach `needed`, least first. */
  private levels(contributions: readonly number[], amounts: readonly number[], needed: number): number {
    const { entities } = this;
    const level = (of: (knowledge: number) => number): number => {
      const at = contributions.map((c) => (c < 0 ? 0 : of(c)));
      let total = 0;
      for (const c of [...at.keys()].sort((x, y) => at[x]! - at[y]!)) {
        total += amounts[c]!;
        if (total >= needed) return at[c]!;
      }
      return 0;
    };
    const known = this.copy(NOTHING, null);
    const row = this.rows[known]!;
    for (let e = 0; e < entities; e++) this.phases[row + e] = level((k) => this.phases[this.rows[k]! + e]!);
    const strands = new Map<Strand, number>();
    for (const c of contributions)
      for (const s of (c < 0 ? null : this.segments[c]!)?.keys() ?? []) {
        if (strands.has(s) || this.knowsPhase(this.phases, row, s)) continue;
        const n = level((k) => this.segmentsOf(k, s));
        if (n > 0) strands.set(s, n);
      }
    this.segments[known] = strands.size === 0 ? null : strands;
    return known;
  }
}
