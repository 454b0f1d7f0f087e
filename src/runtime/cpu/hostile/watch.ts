/**
 * The observer of a hostile schedule. Every access is held against vector clocks as it comes. Stores are hidden from other
 * blocks until a release that covers them (or until they leak, if the schedule lets them); a release at GPU scope shows
 * them to the blocks of its own rank only.
 */
import {
  Clocks,
  type Execution,
  firstWhere,
  isGlobal,
  isParameter,
  type Kernel,
  KnowledgeTable,
  NEAR,
  NOTHING,
  NUMBER_TILES,
  type Op,
  Races,
  READ,
  type Span,
  Trace,
  waitKind,
  wordOf,
  WRITE,
} from "../../../compiler/index.js";
import type { Element, TypedArray } from "../../numbers/index.js";
import { CpuFault, type FaultPlace, type FaultReporter } from "../faults.js";
import { type Hidden, HiddenStores, type Storer } from "./hidden.js";
import type { Strategy } from "./strategies.js";
import { elementName, Timeline } from "./timeline.js";

const CALLER_SPAN: Span = { start: 0, end: 0 };

/** For a signal that hands nothing on. */
const NONE = -1;

export class Watch extends Trace {
  readonly timeline: Timeline;
  private readonly clocks: Clocks;
  private readonly races: Races;
  /** By entity. */
  private readonly storers: Storer[];
  /** Of each buffer and rank. */
  private readonly hidden: HiddenStores[][];
  /** By entity: the numbers of its shared memory. */
  private readonly own: number[][] = [];
  /** By rank: the launch that it is in. */
  private readonly launches: number[] = [];
  /** By signal: the flag's value after it, and what it handed on. */
  private readonly reached: number[] = [];
  private readonly handedOn: number[] = [];
  /** By the signals of a flag: how many were looked at, the value after them, and how far they took it up; `NEAR` where one took it down. */
  private readonly climbed = new Map<Execution.Flag["signals"], { count: number; last: number; by: number }>();
  /** By flag that is added to: what the last wait learnt of its signals up to one, from which a wait of the same kind goes on. */
  private readonly sums = new Map<
    Execution.Flag,
    { readonly at: number; readonly rank: number; readonly sys: boolean; readonly gained: number }
  >();

  constructor(
    private readonly kernelOf: Kernel,
    grid: number,
    lengths: readonly number[],
    arrays: readonly (readonly TypedArray[])[],
    private readonly faults: FaultReporter,
    private readonly strategy: Strategy,
  ) {
    super(kernelOf, grid, lengths);
    this.timeline = new Timeline(faults);
    this.clocks = new Clocks(this, new KnowledgeTable(this));
    this.races = new Races(this, this.clocks, (a, b, element) => this.race(a, b, element));
    const storers = Array.from({ length: this.entities }, (_, e): Storer => ({
      rank: this.rankOf(e),
      firstHidden: null,
      lastHidden: null,
    }));
    // What the movers of a block store, the block sees.
    this.storers = storers.map((own, e) =>
      this.isHost(e) ? own : storers[this.entity(this.rankOf(e), this.blockOf(e))]!,
    );
    this.hidden = kernelOf.buffers.map((b, j) => (isGlobal(b) ? arrays[j]!.map((a) => new HiddenStores(a)) : []));
  }

  // -- launches ---------------------------------------------------------------------------------------------------

  /** The caller of a rank overwrites its inputs and poisons its outputs, then launches. */
  begin(rank: number, launch: number): void {
    this.launches[rank] = launch;
    this.touchArguments(rank, launch, (b) => (isParameter(b) ? WRITE : null));
    this.timeline.note(rank, -1, launch, null, () => "writes the inputs, launches");
    this.start(rank);
    this.clocks.start(rank);
  }

  /** All blocks of a launch are over: what they stored is there for everybody, and the caller reads the outputs. */
  finish(rank: number, launch: number): void {
    for (let block = 0; block < this.grid; block++)
      for (let h = this.storers[this.entity(rank, block)]!.firstHidden; h !== null; h = h.next) h.stores.show(h);
    this.end(rank);
    this.clocks.end(rank);
    this.timeline.note(rank, -1, launch, null, () => "sees the launch end, reads the outputs");
    this.touchArguments(rank, launch, (b) => (isParameter(b) && b.role !== "input" ? READ : null));
    // What the caller does next comes after that.
    super.endPhase(this.host(rank));
    this.clocks.endPhase(this.host(rank));
  }

  private touchArguments(rank: number, launch: number, kindOf: (b: Kernel["buffers"][number]) => number | null): void {
    const strand = this.strand(this.host(rank), launch);
    this.kernelOf.buffers.forEach((b, j) => {
      const kind = kindOf(b);
      const memory = kind === null ? -1 : this.memoryOf(j, rank);
      if (kind !== null && this.memories[memory]!.length > 0)
        this.access(strand, 0, memory, 0, this.memories[memory]!.length, kind, 0);
    });
  }

  /** A block has the same shared memory in each launch: what it did there before is of earlier phases. */
  override ownMemoryOf(rank: number, block: number): number[] {
    const memories = (this.own[this.entity(rank, block)] ??= super.ownMemoryOf(rank, block));
    for (const memory of memories) if (memory >= 0) this.races.forgetCopies(memory);
    return memories;
  }

  // -- what blocks do ---------------------------------------------------------------------------------------------

  protected override startSegment(strand: Execution.Strand): number {
    const id = super.startSegment(strand);
    this.clocks.enter(id);
    return id;
  }

  override access(
    strand: Execution.Strand,
    op: number,
    memory: number,
    start: number,
    length: number,
    kind: number,
    copy: number,
  ): void {
    super.access(strand, op, memory, start, length, kind, copy);
    const { buffer, rank: owner, isOwn } = this.memories[memory]!;
    const made = this.opNumbered(op);
    const segment = this.segmentOf(strand);
    if (!isOwn && made !== null) {
      const entity = this.entityOf(strand);
      const verb = (kind & WRITE) === 0 ? "reads" : "writes";
      this.timeline.access(
        this.rankOf(entity),
        this.blockOf(entity),
        this.launchOf(strand),
        made,
        verb,
        buffer,
        owner,
        start,
        start + length - 1,
      );
    }
    this.races.check(this.lastOf(memory), segment, memory, start, length, kind);
  }

  override signal(
    strand: Execution.Strand,
    flag: Execution.Flag,
    value: number,
    op: Op,
    kind?: Execution.SignalKind,
  ): void {
    super.signal(strand, flag, value, op, kind);
    const { signals, buffer, slot, owner } = flag;
    const s = signals.at(-1)!;
    const before = s.add && signals.length > 1 ? this.reached[signals.at(-2)!.id]! : 0;
    this.reached[s.id] = (s.add ? before + value : value) >>> 0;
    this.handedOn[s.id] = s.release ? this.clocks.handOn(s) : NONE;
    if (s.release) this.release(s.entity, this.handedOn[s.id]!, s.sys);
    const [rank, block] = [this.rankOf(s.entity), this.blockOf(s.entity)];
    const how = `${wordOf(s)}, ${s.sys ? "sys" : "gpu"}`;
    const name = elementName(buffer, String(slot), owner, rank);
    this.timeline.note(rank, block, s.launch, op, () => `signals ${name} ${s.add ? "+=" : "="} ${value} (${how})`);
  }

  /** A wait begins that must first suspend. */
  blocks({ f, op, buffer, slot, wanted }: Execution.Blocked): void {
    const { name } = this.kernelOf.buffers[buffer]!;
    this.timeline.note(f.rank, f.block, f.launch, op, () => `waits for '${name}'[${slot}] to reach ${wanted >>> 0}`);
  }

  /** A wait is satisfied. */
  override wait(
    strand: Execution.Strand,
    flag: Execution.Flag,
    value: number,
    op: Op,
    kind: Execution.WaitKind = waitKind(op),
  ): void {
    this.pass(strand);
    const entity = this.entityOf(strand);
    const rank = this.rankOf(entity);
    const gained = kind.acquire ? this.gainedBy(flag, value, rank, kind.sys) : NOTHING;
    if (gained !== NOTHING) this.clocks.learn(strand, entity, gained, kind.isAside);
    const { buffer, slot } = flag;
    this.timeline.note(rank, this.blockOf(entity), this.launchOf(strand), op, () => `sees '${buffer}'[${slot}] reach ${value}`); // prettier-ignore
  }

  /**
   * What a satisfied wait learns: from the earliest signal that suffices, and from no more. A set speaks for itself; a sum
   * speaks for all that were added up.
   */
  private gainedBy(flag: Execution.Flag, wanted: number, rank: number, sys: boolean): number {
    const { signals } = flag;
    const at = this.firstThatReaches(flag, wanted);
    if (at < 0) return NOTHING;
    const isSum = signals[at]!.add;
    const before = this.sums.get(flag);
    const goesOn = isSum && before !== undefined && before.at <= at && before.rank === rank && before.sys === sys;
    let gained = goesOn ? before.gained : NOTHING;
    for (let i = goesOn ? before.at + 1 : isSum ? 0 : at; i <= at; i++) {
      const s = signals[i]!;
      if (s.release && ((s.sys && sys) || this.rankOf(s.entity) === rank))
        gained = this.clocks.knowledge.join(gained, this.handedOn[s.id]!);
    }
    if (isSum) this.sums.set(flag, { at, rank, sys, gained });
    return gained;
  }

  /** The earliest signal that made a flag as high as a wait wants it; -1 where none has. */
  private firstThatReaches(flag: Execution.Flag, wanted: number): number {
    const { signals } = flag;
    const reaches = (at: number): boolean => ((this.reached[signals[at]!.id]! - wanted) | 0) >= 0;
    if (!this.climbs(flag, wanted)) return signals.findIndex((_, at) => reaches(at));
    const first = firstWhere(signals.length, reaches);
    return first < signals.length ? first : -1;
  }

  /** Whether a flag has only gone up, and neither so far nor so far from `wanted` that values which wrap would be out of order. */
  private climbs({ signals }: Execution.Flag, wanted: number): boolean {
    if (signals.length === 0) return false;
    const first = this.reached[signals[0]!.id]!;
    let known = this.climbed.get(signals);
    if (known === undefined) this.climbed.set(signals, (known = { count: 1, last: first, by: 0 }));
    for (; known.count < signals.length && known.by < NEAR; known.count++) {
      const reached = this.reached[signals[known.count]!.id]!;
      const step = (reached - known.last) | 0;
      known.by += step < 0 ? NEAR : step;
      known.last = reached;
    }
    return known.by < NEAR && Math.abs((wanted - first) | 0) < NEAR;
  }

  /** All threads of the block meet. */
  override endPhase(entity: number, op: Op): void {
    const launch = this.launches[this.rankOf(entity)]!;
    this.timeline.note(this.rankOf(entity), this.blockOf(entity), launch, op, () => "synchronises its threads");
    super.endPhase(entity);
    this.clocks.endPhase(entity);
  }

  override beginMovers(entity: number): void {
    super.beginMovers(entity);
    this.clocks.beginMovers(entity);
  }

  override endMovers(entity: number): void {
    super.endMovers(entity);
    this.clocks.endMovers(entity);
  }

  // -- visibility -------------------------------------------------------------------------------------------------

  /** What an element of global memory holds for a block. */
  held(f: Execution.Block, buffer: number, owner: number, index: number): Element {
    return this.hidden[buffer]![owner]!.valueFor(this.storers[f.entity]!, index);
  }

  /** A block stores to an element of global memory, which it has just accessed. */
  hide(
    f: Execution.Block,
    strand: Execution.Strand,
    buffer: number,
    owner: number,
    index: number,
    value: number,
  ): void {
    this.hidden[buffer]![owner]!.add(index, value, this.storers[f.entity]!, this.segmentOf(strand));
  }

  /** The values of tiles, which copies read as the block sees them. */
  readonly tiles: Execution.TileValues = {
    ...NUMBER_TILES,
    copyRow: (_machine, f, _op, to, at, length, left, right, from, owner, start) => {
      const target = f.own[to]!;
      for (let c = 0; c < length; c++)
        target[at + c] = c >= left && c < right ? this.held(f, from, owner, start + c - left) : 0;
    },
  };

  /** Shows what a release covers: what the block did before it synchronised last, and what the thread did itself. */
  private release(entity: number, handedOn: number, sys: boolean): void {
    const { rank } = this.storers[entity]!;
    // A store that is shown takes with it those before it, which these loops have passed.
    for (let h = this.storers[entity]!.firstHidden; h !== null; h = h.next)
      if (this.isCovered(h, handedOn)) {
        if (sys) h.stores.show(h);
        else h.onGpu = true;
      }
    // What other blocks of the rank have shown it goes along.
    if (!sys) return;
    for (let block = 0; block < this.grid; block++)
      for (let h = this.storers[this.entity(rank, block)]!.firstHidden; h !== null; h = h.next)
        if (h.onGpu && this.isCovered(h, handedOn)) h.stores.show(h);
  }

  private isCovered(h: Hidden, handedOn: number): boolean {
    return this.clocks.knows(handedOn, h.segment);
  }

  /** Between two steps: perhaps some hidden store becomes visible, in no order. */
  leak(): void {
    if (!this.strategy.leaks()) return;
    for (const { firstHidden } of this.storers) firstHidden?.stores.show(firstHidden);
  }

  // -- reports ----------------------------------------------------------------------------------------------------

  private race(earlier: number, later: number, element: number): CpuFault {
    const memory = this.memories[this.field(later, 1)]!;
    const name = `'${memory.buffer}'[${element}] of ${memory.owner}`;
    const verb = (access: number): string => ((this.field(access, 4) & WRITE) !== 0 ? "write" : "read");
    const about = (access: number): { who: string; place: FaultPlace; rank: number; block: number; launch: number } => {
      const { entity, launch } = this.segment(this.field(access, 0));
      const rank = this.rankOf(entity);
      const op = this.opOf(access);
      const block = op === null ? -1 : this.blockOf(entity);
      const who = block < 0 ? `the caller of rank ${rank} around launch ${launch}` : `rank ${rank}, block ${block}, launch ${launch}`; // prettier-ignore
      const { buffer } = memory;
      const kernel = this.kernelOf.name;
      const span = op === null ? CALLER_SPAN : op.span;
      return { who, place: { kernel, rank, block, buffer, index: element, span }, rank, block, launch };
    };
    const [first, second] = [about(earlier), about(later)];
    const op = this.opOf(later);
    this.timeline.note(second.rank, second.block, second.launch, op, () => `${verb(later)}s ${name}: RACE`);
    return new CpuFault(
      "race",
      `data race on ${name}: the ${verb(earlier)} by ${first.who} and the ${verb(later)} by ${second.who} are not ordered`,
      [first.place, second.place],
    );
  }
}
