/**
 * What is left of a kernel when its stretches are taken away: synchronisation, which does not depend on lengths. A mark
 * stands where each stretch was. One execution of it says which stretches of which blocks come before which in every
 * schedule, whatever the stretches do: the executor's own analysis of the ordering, on a kernel without elements.
 */
import { HappensBefore } from "../../execute/order/happens-before.js";
import { Races } from "../../execute/order/races.js";
import { ENTITY, SEGMENT_FIELDS, STRAND_FIELDS, type Trace } from "../../execute/order/trace.js";
import { Builder } from "../../ir/builder.js";
import { freshName, type Kernel, type Op, type Region, Value } from "../../ir/module.js";
import { INDEX, scalar } from "../../ir/types.js";
import { NO_SPAN } from "../../source.js";
import type { DimValues } from "../../types/extent.js";
import { execute } from "../execute.js";
import type { ProofMachine } from "../machine.js";
import { checkUnmatched } from "../unmatched.js";
import { NotShown } from "./conditions.js";
import { endsInMeetings } from "./rounds.js";
import { beginsStretch, isRounds, synchronises, touches } from "./stretches.js";

/** Segments of the marks and of the callers' accesses in one execution of a skeleton. */
export class StretchOrder {
  /** By rank, block and launch, then number of the stretch. */
  private readonly marks = new Map<number, number[]>();
  /** By rank, then launch; the last is after all of them. */
  private readonly callers = new Map<number, number[]>();
  private readonly order: HappensBefore;
  readonly trace: Trace;
  /** State of which each row holds, after each launch, how many there have been. */
  readonly counters: ReadonlySet<string>;

  /**
   * The order of a kernel. A block that has rounds may meet at the end of each: then what rounds do comes before what follows. A block that has none does
   * not meet. So meetings are put there where they can order nothing else but counts, and these are looked at without them.
   * @throws as the constructor
   */
  static of(kernel: Kernel, dims: DimValues, grid: number, launches: number): StretchOrder {
    const plain = new StretchOrder(kernel, dims, grid, launches);
    const { ops } = withMarks(kernel, kernel.body, { name: "", count: 0 }, true);
    const meetings = (all: readonly Op[]): number => all.filter((op) => op.name === "block_sync").length;
    const isMore = meetings(ops) > meetings(kernel.body.ops);
    return isMore ? new StretchOrder(kernel, dims, grid, launches, true) : plain;
  }

  /**
   * @param dims any that the kernel takes, none of them 0
   * @param hasMeetings with those at the end of rounds
   * @throws Fails where synchronisation alone goes wrong, CannotTell where it cannot be followed
   */
  constructor(
    kernel: Kernel,
    dims: DimValues,
    readonly grid: number,
    readonly launches: number,
    hasMeetings = false,
  ) {
    const mark = freshName(kernel, "mark");
    const counters = new Set(kernel.buffers.filter((b) => b.role === "state").map((b) => b.name));
    const count = ({ memory }: ProofMachine, rank: number, launch: number): void =>
      kernel.buffers.forEach(({ name }, j) => {
        if (!counters.has(name)) return;
        const rows = memory[j]![rank]!.slice(0, grid);
        if (!rows.every((row) => row === launch + 1)) counters.delete(name);
      });
    const machine = execute(skeletonOf(kernel, grid, mark, hasMeetings), { dims, launches }, null, true, count);
    this.counters = counters;
    const trace = (this.trace = machine.trace!);
    this.order = new HappensBefore(trace);
    checkUnmatched(trace);
    const counts = new Races(trace, this.order, () => {
      throw new NotShown("counts of synchronisation are read and stored in no order", kernel.body.ops[0]!.span);
    });
    let last = "";
    for (let i = 0; i < trace.accesses; i++) {
      const segment = trace.field(i, 0);
      const op = trace.opOf(i);
      if (op !== null && op.attributes["buffer"] !== mark) {
        counts.check(i, segment, trace.field(i, 1), trace.field(i, 2), trace.field(i, 3), trace.field(i, 4));
        continue;
      }
      // Of one mark alone: of the copies that a loop makes, each lies in a segment of its own.
      const key = `${segment} ${op === null ? "" : trace.field(i, 2)}`;
      if (key === last) continue;
      last = key;
      const strand = trace.segments[segment * SEGMENT_FIELDS]!;
      const entity = trace.strands[strand * STRAND_FIELDS + ENTITY]!;
      const rank = trace.rankOf(entity);
      const launch = trace.launchOf(strand);
      if (op === null) listOf(this.callers, this.numberOf(rank, 0, launch)).push(segment);
      else listOf(this.marks, this.numberOf(rank, trace.blockOf(entity), launch)).push(segment);
    }
  }

  /** How many stretches a block comes to in a launch. */
  count(rank: number, block: number, launch: number): number {
    return this.marks.get(this.numberOf(rank, block, launch))?.length ?? 0;
  }

  /** Whether all that one block does in a stretch comes before all that another does in one. */
  isBefore(a: Place, b: Place): boolean {
    return this.order.isBefore(this.mark(a), this.mark(b));
  }

  /** A number that grows in one order that could happen. */
  timeOf(a: Place): number {
    return this.mark(a);
  }

  /** Callers come once more than there are launches. */
  private numberOf(rank: number, block: number, launch: number): number {
    return (rank * this.grid + block) * (this.launches + 1) + launch;
  }

  /** The segment of a mark. Of a block, those of later stretches have higher numbers. */
  mark({ rank, block, launch, stretch }: Place): number {
    return this.marks.get(this.numberOf(rank, block, launch))![stretch]!;
  }

  /** Whether what a rank's caller does before a launch comes before a stretch. */
  isCallerBefore(rank: number, launch: number, b: Place): boolean {
    const segments = this.callersOf(rank, launch);
    return segments.length > 0 && segments.every((segment) => this.order.isBefore(segment, this.mark(b)));
  }

  /** Whether a stretch comes before what a rank's caller does before a launch, or after the last. */
  isBeforeCaller(a: Place, rank: number, launch: number): boolean {
    const segments = this.callersOf(rank, launch);
    return segments.length > 0 && segments.every((segment) => this.order.isBefore(this.mark(a), segment));
  }

  private callersOf(rank: number, launch: number): readonly number[] {
    return this.callers.get(this.numberOf(rank, 0, launch)) ?? [];
  }
}

/** A block's turn at a stretch. */
export interface Place {
  readonly rank: number;
  readonly block: number;
  readonly launch: number;
  readonly stretch: number;
}

function listOf(lists: Map<number, number[]>, key: number): number[] {
  let list = lists.get(key);
  if (list === undefined) lists.set(key, (list = []));
  return list;
}

function skeletonOf(kernel: Kernel, grid: number, name: string, hasMeetings: boolean): Kernel {
  const marks = { name, count: 0 };
  const { arguments: none, ops } = withMarks(kernel, kernel.body, marks, hasMeetings);
  const body = { arguments: none, ops: [...lookingAtCounts(kernel), ...ops] };
  const mark = { name, role: "scratch", dtype: "u32", shape: [Math.max(1, marks.count)], symmetric: false } as const;
  return { ...kernel, buffers: [...kernel.buffers, mark], body, work: [grid] };
}

/** What outlives launches is followed where it decides about something: here about nothing. */
function lookingAtCounts({ buffers }: Kernel): readonly Op[] {
  const build = new Builder(NO_SPAN);
  const block = build.op("block", [], {}, INDEX)!;
  for (const { name, role, shape } of buffers) {
    if (role !== "state" || shape.length !== 1) continue;
    const count = build.cast(build.load(name, [block], scalar("u32")), "index");
    build.if(build.compare("ne", count, build.constant(0)), () => {});
  }
  return build.ops;
}

/** A buffer with an element for each mark. */
interface Marks {
  readonly name: string;
  count: number;
}

/** @param hasMeetings with those at the end of rounds that come first after a meeting, or in the kernel */
function withMarks(
  kernel: Kernel,
  { arguments: variables, ops }: Region,
  marks: Marks,
  hasMeetings: boolean,
  isFirst = true,
): Region {
  const kept: Op[] = [];
  let stretch: Op[] = [];
  let comesFirst = isFirst;
  for (const op of ops) {
    if (synchronises(kernel, op)) {
      const isOfThreads = op.attributes["map"] === "threads";
      const inner = isOfThreads ? op.regions : op.regions.map((r) => withMarks(kernel, r, marks, hasMeetings, false));
      kept.push({ ...op, regions: inner });
      stretch = [];
      // Counts of launches are looked at without such meetings.
      comesFirst = op.name === "block_sync" || (comesFirst && (op.name === "load" || op.name === "store"));
    } else if (!touches(kernel, op)) kept.push(op);
    else {
      const isAlone = isRounds(kernel, op);
      if (isAlone || beginsStretch(stretch, op)) stretch = [];
      if (stretch.length === 0) kept.push(...marking(op, marks));
      if (!isAlone) stretch.push(op);
      else if (hasMeetings && comesFirst && endsInMeetings(op))
        kept.push({ name: "block_sync", operands: [], results: [], attributes: {}, regions: [], span: op.span });
      comesFirst = false;
    }
  }
  return { arguments: variables, ops: kept };
}

/** One thread's store. */
function marking({ span }: Op, marks: Marks): readonly Op[] {
  const build = new Builder(span);
  const [zero, one] = [build.constant(0), build.constant(1)];
  const [value, at] = [build.constant(0, scalar("u32")), build.constant(marks.count++)];
  const attributes = { buffer: marks.name };
  const store: Op = { name: "store", operands: [value, at], results: [], attributes, regions: [], span };
  const region: Region = { arguments: [new Value(INDEX)], ops: [store] };
  build.op("for", [zero, one], { map: "threads" }, null, [region]);
  return build.ops;
}
