/**
 * What is known to have happened before a point: for each entity how many of its phases, and of strands whose phase is
 * not over how many segments. A segment or phase counts when all that it did is known.
 */
import type { Strand } from "./trace.js";

export class Knowledge {
  constructor(
    readonly phases: Int32Array,
    /** By strand. Entries of phases that are known whole are left out. */
    readonly strands: ReadonlyMap<Strand, number> | null,
  ) {}

  static nothing(entities: number): Knowledge {
    return new Knowledge(new Int32Array(entities), null);
  }

  /** Whether segment `number` of a strand is known. */
  knows(strand: Strand, number: number): boolean {
    if (this.phases[strand.entity]! > strand.phase) return true;
    return this.strands !== null && (this.strands.get(strand) ?? 0) > number;
  }

  /** Known segments of a strand, all of them if its phase is known. */
  segmentsOf(strand: Strand): number {
    return this.phases[strand.entity]! > strand.phase ? Infinity : (this.strands?.get(strand) ?? 0);
  }

  join(other: Knowledge): Knowledge {
    if (other === this) return this;
    let phases = this.phases;
    for (let e = 0; e < phases.length; e++)
      if (other.phases[e]! > phases[e]!) {
        if (phases === this.phases) phases = this.phases.slice();
        phases[e] = other.phases[e]!;
      }
    if (this.strands === null && other.strands === null)
      return phases === this.phases ? this : new Knowledge(phases, null);
    const strands = new Map<Strand, number>();
    for (const source of [this.strands, other.strands])
      for (const [s, n] of source ?? [])
        if (phases[s.entity]! <= s.phase && (strands.get(s) ?? 0) < n) strands.set(s, n);
    return new Knowledge(phases, strands.size === 0 ? null : strands);
  }

  /** With `phase` phases of an entity known. */
  withPhase(entity: number, phase: number): Knowledge {
    const phases = this.phases.slice();
    phases[entity] = Math.max(phases[entity]!, phase);
    return new Knowledge(phases, this.strands).join(Knowledge.nothing(phases.length));
  }

  /** With the first `segments` segments of a strand known. */
  withStrand(strand: Strand, segments: number): Knowledge {
    return new Knowledge(this.phases, new Map(this.strands ?? []).set(strand, segments));
  }

  equals(other: Knowledge): boolean {
    if (other === this) return true;
    if (this.phases.some((p, e) => p !== other.phases[e])) return false;
    if ((this.strands?.size ?? 0) !== (other.strands?.size ?? 0)) return false;
    for (const [s, n] of this.strands ?? []) if (other.strands!.get(s) !== n) return false;
    return true;
  }
}

/**
 * What is known whichever of the contributions came first, as long as their amounts reach `needed`: at least as much
 * as one of those without which the rest would not reach it. Null for a contribution that carries no knowledge.
 */
export function guaranteed(
  contributions: readonly { readonly knowledge: Knowledge | null; readonly amount: number }[],
  needed: number,
  entities: number,
): Knowledge {
  const nothing = Knowledge.nothing(entities);
  if (needed <= 0 || contributions.length === 0) return nothing;
  const level = (of: (k: Knowledge) => number): number => {
    const sorted = contributions
      .map((c) => ({ at: c.knowledge === null ? 0 : of(c.knowledge), amount: c.amount }))
      .sort((a, b) => a.at - b.at);
    let total = 0;
    for (const c of sorted) {
      total += c.amount;
      if (total >= needed) return c.at;
    }
    return 0;
  };
  const phases = new Int32Array(entities);
  for (let e = 0; e < entities; e++) phases[e] = level((k) => k.phases[e]!);
  const strands = new Map<Strand, number>();
  for (const { knowledge } of contributions)
    for (const s of knowledge?.strands?.keys() ?? []) {
      if (strands.has(s) || phases[s.entity]! > s.phase) continue;
      const n = level((k) => k.segmentsOf(s));
      if (n > 0) strands.set(s, n);
    }
  return new Knowledge(phases, strands.size === 0 ? null : strands);
}
