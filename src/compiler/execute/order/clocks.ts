/**
 * Vector clocks of blocks, and of what their threads do, as they are after the events so far: knowledge flows along a
 * block's synchronisations, along a rank's stream, and from releases to acquires. What a wait learns is the caller's
 * choice: one schedule says what it has seen, a proof what it must have seen in every schedule.
 */
import { type KnowledgeTable, NOTHING } from "./knowledge.js";
import type { SignalKind, Strand, StrandOf } from "./flags.js";
import { SEGMENT_FIELDS, type Trace, longer } from "./trace.js";

/** A signal that ends a segment, as far as its knowledge goes. */
interface Teller extends StrandOf {
  /** Number of the segment that it ends, in its strand. */
  readonly segment: number;
  /** Whether its strand did something that it must carry along. */
  readonly acted: boolean;
  readonly hands: SignalKind["hands"];
}

export class Clocks {
  /** By segment: what is known there. What a strand knows comes without the earlier phases of its own block, which go without saying: so phases end without new knowledge. */
  segments: Int32Array;
  /** By entity: what all strands of its phase know, its phase, and strands of the phase that have waited. */
  private readonly bases: Int32Array;
  private readonly phases: Int32Array;
  private readonly waited: Strand[][];
  /** By rank: what its blocks knew as its launch began. */
  private readonly starts: Int32Array;
  /** By strand: what it knows, when it has waited. */
  private learnt: Int32Array;

  constructor(
    private readonly trace: Trace,
    readonly knowledge: KnowledgeTable,
  ) {
    this.segments = new Int32Array(Math.max(1024, trace.segmentCount));
    this.bases = new Int32Array(trace.entities);
    this.phases = new Int32Array(trace.entities);
    this.waited = Array.from(this.bases, (): Strand[] => []);
    this.starts = new Int32Array(trace.world);
    this.learnt = new Int32Array(Math.max(1024, trace.strandCount));
  }

  /** A segment starts. */
  enter(segment: number): void {
    if (segment >= this.segments.length) this.segments = longer(this.segments);
    const row = segment * SEGMENT_FIELDS;
    const { segments } = this.trace;
    this.segments[segment] = this.known(segments[row]!, segments[row + 2]!);
  }

  /** What a strand of an entity's current phase knows. */
  known(strand: Strand, entity: number): number {
    return (strand < this.learnt.length && this.learnt[strand]!) || this.bases[entity]!;
  }

  endPhase(entity: number): void {
    for (const s of this.waited[entity]!)
      this.bases[entity] = this.knowledge.join(this.bases[entity]!, this.learnt[s]!);
    this.waited[entity]!.length = 0;
    this.phases[entity]!++;
  }

  private toldBy(entity: number): number {
    return this.knowledge.withPhase(this.bases[entity]!, entity, this.phases[entity]!);
  }

  /** The movers of a block begin: they know what it knows, and what it did. */
  beginMovers(entity: number): void {
    const movers = this.trace.moversOf(entity);
    this.bases[movers] = this.knowledge.join(this.bases[movers]!, this.toldBy(entity));
  }

  /** The movers of a block end: it knows what they know, and what they did. */
  endMovers(entity: number): void {
    const movers = this.trace.moversOf(entity);
    this.endPhase(movers);
    this.bases[entity] = this.knowledge.join(this.bases[entity]!, this.toldBy(movers));
  }

  /** A launch starts: its blocks know what the rank's caller knows. */
  start(rank: number): void {
    const host = this.trace.host(rank);
    this.endPhase(host);
    const told = (this.starts[rank] = this.toldBy(host));
    for (const e of this.blocksOf(rank)) this.bases[e] = this.knowledge.join(this.bases[e]!, told);
  }

  /** A launch ends: the rank's caller knows what its blocks know. */
  end(rank: number): void {
    const host = this.trace.host(rank);
    for (const e of this.blocksOf(rank)) {
      this.endPhase(e);
      this.bases[host] = this.knowledge.join(this.bases[host]!, this.toldBy(e));
    }
  }

  private blocksOf(rank: number): readonly number[] {
    return Array.from({ length: this.trace.grid }, (_, block) => this.trace.entity(rank, block));
  }

  /**
   * What a release hands on: what its strand knows, which says its own block's phases too, and what it did itself. Word of a launch says
   * what was over as it began, and nothing of the launch.
   */
  handOn({ strand, entity, phase, segment, acted, hands }: Teller): number {
    const { knowledge } = this;
    if (hands === "launches") return this.starts[this.trace.rankOf(entity)]!;
    if (hands === "itself") return knowledge.withStrand(NOTHING, strand, segment + 1);
    const known = knowledge.withPhase(this.known(strand, entity), entity, phase);
    return acted ? knowledge.withStrand(known, strand, segment + 1) : known;
  }

  /** A strand has waited and gained knowledge. @param isAside see `WaitKind` */
  learn(strand: Strand, entity: number, gained: number, isAside = false): void {
    const known = this.known(strand, entity);
    while (strand >= this.learnt.length) this.learnt = longer(this.learnt);
    this.learnt[strand] = this.knowledge.join(known, gained);
    if (!isAside) this.waited[entity]!.push(strand);
  }

  /** Whether a segment is known. */
  knows(knowledge: number, segment: number): boolean {
    const row = segment * SEGMENT_FIELDS;
    const { segments } = this.trace;
    return this.knowledge.knows(knowledge, segments[row]!, segments[row + 1]!);
  }

  /** Whether segment `a` happened before segment `b`; within a strand as numbered. */
  isBefore(a: number, b: number): boolean {
    const { segments } = this.trace;
    const [rowA, rowB] = [a * SEGMENT_FIELDS, b * SEGMENT_FIELDS];
    if (segments[rowA] === segments[rowB]) return segments[rowA + 1]! <= segments[rowB + 1]!;
    if (segments[rowA + 2] === segments[rowB + 2] && segments[rowA + 3]! < segments[rowB + 3]!) return true;
    return this.knowledge.knows(this.segments[b]!, segments[rowA]!, segments[rowA + 1]!);
  }
}

/** What orders the segments of a trace. */
export interface Order {
  readonly knowledge: KnowledgeTable;
  /** By segment: the number of what is known there. */
  readonly segments: Int32Array;
  isBefore(a: number, b: number): boolean;
}
