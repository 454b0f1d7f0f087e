/**
 * Whether what threads of a block touch in rounds is ordered: in one phase nothing that two threads touch meets, of which one writes; and
 * what no meeting of the block parts from the next round is in the memory of other rounds' rows.
 */
import type { Kernel } from "../../ir/module.js";
import { boundOf, type Counter, exactQuotient, isRowCounter, isSurely } from "./bounds.js";
import { demand } from "./conditions.js";
import {
  type Box,
  constant,
  constantOf,
  Cut,
  equal,
  factors,
  type Form,
  isAtLeastZero,
  isConstant,
  minus,
  ONE,
  parameter,
  plus,
  product,
  type Ranges,
  Undecided,
  ZERO,
} from "./forms.js";
import type { RoundOwner, RoundThreads, RoundTouch, RoundWay } from "./round-way.js";
import { accessesIn, loopsIn, type RoundAccess, type RoundNode } from "./rounds.js";

/** What is touched of a block's memory where no meeting is between it and another round. */
interface AtEnd {
  readonly access: RoundAccess;
  /** Before the first meeting of a round, after the last, or both where there is none. */
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

export class Phases {
  private readonly shared: ReadonlySet<string>;
  private readonly inTogether: ReadonlySet<string>;
  /** By what is asked about them: accesses at the ends of rounds, on all ways. */
  private readonly ends = new Map<string, AtEnd>();

  constructor({ buffers }: Kernel, nodes: readonly RoundNode[]) {
    this.shared = new Set(buffers.filter((b) => b.role === "shared").map((b) => b.name));
    this.inTogether = usedTogether(nodes);
  }

  /** Checks all that is touched in a phase of a round against each other. @throws NotShown */
  check({ touches, meetings }: RoundWay, box: Box): void {
    for (const [i, a] of touches.entries()) {
      this.note(a, meetings);
      for (let j = i; j < touches.length; j++) {
        const b = touches[j]!;
        if (a.phase !== b.phase || !this.mayMeet(a.access, b.access) || !mayBeOne(a.owner, b.owner)) continue;
        const isApart = a.access.buffer === b.access.buffer && areApart(a, b, box);
        demand("phases", isApart, `threads of a block may touch an element of '${a.access.buffer}' that another thread stores`, b.access.span); // prettier-ignore
      }
    }
  }

  /** Checks that no meeting is missing between one round and the next, whatever ways they go. @throws NotShown */
  checkRounds(): void {
    for (const a of this.ends.values())
      for (const b of this.ends.values())
        if (a.isLast && b.isFirst && this.mayMeet(a.access, b.access))
          demand("phases", false, `the next round may touch '${b.access.buffer}' while threads of the block are in this one`, b.access.span); // prettier-ignore
  }

  /** Of tensors, each round has rows of its own. */
  private note({ access, phase }: RoundTouch, meetings: number): void {
    const [isFirst, isLast] = [phase === 0, phase === meetings];
    const { buffer, isStored } = access;
    if (!this.shared.has(buffer) || (!isFirst && !isLast)) return;
    this.ends.set(`${buffer} ${isStored} ${isFirst} ${isLast}`, { access, isFirst, isLast });
  }

  /** Whether two accesses may be to one place, and one of them writes. Shared buffers that are not in use together may lie over each other. */
  private mayMeet(a: RoundAccess, b: RoundAccess): boolean {
    if (!a.isStored && !b.isStored) return false;
    if (a.buffer === b.buffer) return true;
    return this.shared.has(a.buffer) && this.shared.has(b.buffer) && !this.inTogether.has(`${a.buffer} ${b.buffer}`);
  }
}

/** Pairs of buffers that one op of a round touches: to the printer, they are in use at the same time. */
function usedTogether(nodes: readonly RoundNode[]): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (const { map, body } of loopsIn(nodes))
    for (const node of map === "blocks" ? body : []) {
      const names = accessesIn([node]).map(({ buffer }) => buffer);
      for (const a of names) for (const b of names) pairs.add(`${a} ${b}`);
    }
  return pairs;
}

/** Whether two may be one rank, to one block. */
function mayBeOne(a: RoundOwner, b: RoundOwner): boolean {
  if (typeof a === "number" && typeof b === "number") return a === b || a < 0 || b < 0;
  if (typeof a === "number" || typeof b === "number" || a.of !== b.of) return true;
  return a.by === b.by;
}

/** Whether no two threads of a block touch one element in a phase. */
function areApart(a: RoundTouch, b: RoundTouch, { ranges }: Box): boolean {
  if (a.threads !== null && a.threads === b.threads && areOneThreads(a, b, a.threads, ranges)) return true;
  if (a === b) return false;
  try {
    const gaps = gapsBetween(a, b, ranges);
    // A cut where rows end would be one for each number of rows.
    if ([...gaps.all, ...gaps.inRow].some((f) => isSurely(f, ranges))) return true;
    return (gaps.inRow.length > 0 ? gaps.inRow : gaps.all).some((f) => isAtLeastZero(f, ranges));
  } catch (x) {
    if (x instanceof Undecided) return false;
    throw x;
  }
}

/** Whether two accesses are to different elements, in any iterations. No box is cut for it. */
export function areSurelyApart(a: RoundTouch, b: RoundTouch, { ranges }: Box): boolean {
  try {
    const { all, inRow } = gapsBetween(a, b, ranges);
    return [...all, ...inRow].some((f) => isSurely(f, ranges));
  } catch (x) {
    if (x instanceof Undecided || x instanceof Cut) return false;
    throw x;
  }
}

/** Numbers of which one that is 0 or more parts two accesses: where all elements of one lie before those of the other; or, of rows that both count, in each row. */
function gapsBetween(
  a: RoundTouch,
  b: RoundTouch,
  ranges: Ranges,
): { readonly all: readonly Form[]; readonly inRow: readonly Form[] } {
  const between = (x: Ends, y: Ends): readonly Form[] => [minus(minus(y.first, x.last), ONE), minus(minus(x.first, y.last), ONE)]; // prettier-ignore
  const [x, y] = [inRow(a, ranges), inRow(b, ranges)];
  const areOne = x !== null && y !== null && areOfOneRow(x, y, ranges);
  return { all: between(a, b), inRow: areOne ? between(x, y) : [] };
}

/** The first and the last element that is touched. */
interface Ends {
  readonly first: Form;
  readonly last: Form;
}

/** What is touched in a row that threads count, and how far apart rows are. */
interface InRow extends Ends {
  readonly place: Counter;
  readonly ofRow: Form;
}

/** Null where threads count no rows. @throws Cut, Undecided */
function inRow({ access, index, counters, threads }: RoundTouch, ranges: Ranges): InRow | null {
  const [row, place, ...more] = counters.filter((c) => threads?.names.has(c.name) === true);
  if (row === undefined || !isRowCounter(row) || place === undefined || more.length > 0) return null;
  const ofRow = partOf(index, row);
  if (ofRow === null) return null;
  const inside = minus(index, product(ofRow, parameter(row.name)));
  const [first, last] = [false, true].map((most) => boundOf(inside, counters, most, ranges)) as [Form, Form];
  return { place, ofRow, first, last: plus(last, constant(access.lanes - 1)) };
}

/** What a number is taken of what a loop counts. */
function partOf(index: Form, { name }: Counter): Form | null {
  return exactQuotient(new Map([...index].filter(([key]) => factors(key).includes(name))), parameter(name));
}

/** Whether equal elements are of equal rows: what is touched of one is nearer than two rows are. */
function areOfOneRow(a: InRow, b: InRow, ranges: Ranges): boolean {
  const isNearer = (most: Form, least: Form): boolean =>
    isSurely(minus(minus(a.ofRow, ONE), minus(most, least)), ranges);
  return equal(a.ofRow, b.ofRow) && isNearer(a.last, b.first) && isNearer(b.last, a.first);
}

/** An index as what goes with the number of the thread, what goes with other loops, and the rest. */
interface Parted {
  readonly ofThread: Form;
  readonly ofLoops: readonly Form[];
  readonly rest: Form;
}

/**
 * Whether equal elements are of equal numbers that a loop over threads counts: both are `each` · number, plus a lane, plus a multiple of
 * `each` · count; and of one entry, where the loop is come to again and again, for nothing says which thread then has the number.
 */
function areOneThreads(a: RoundTouch, b: RoundTouch, threads: RoundThreads, ranges: Ranges): boolean {
  const { number, count } = threads;
  const outer = a.counters.slice(
    0,
    a.counters.findIndex((c) => threads.names.has(c.name)),
  );
  if (count !== null && isConstant(count) && constantOf(count) === 1 && outer.length === 0) return true;
  const [x, y] = [parted(a, threads), parted(b, threads)];
  if (x === null || y === null || !equal(x.ofThread, y.ofThread)) return false;
  const each = exactQuotient(x.ofThread, number);
  const lanes = Math.max(a.access.lanes, b.access.lanes);
  const apart = [...x.ofLoops, ...y.ofLoops, minus(x.rest, y.rest)].filter((f) => f.size > 0);
  const isEach = each !== null && isConstant(each) && constantOf(each) >= lanes;
  if (isEach && areOneNumbers(x, y, { outer, apart, each, count }, ranges)) return true;
  return outer.length === 0 && areOnePlaces(a, b, apart, ranges);
}

function areOneNumbers(
  x: Parted,
  y: Parted,
  of: {
    readonly outer: readonly Counter[];
    readonly apart: readonly Form[];
    readonly each: Form;
    readonly count: Form | null;
  },
  ranges: Ranges,
): boolean {
  const { outer, apart, each, count } = of;
  if (outer.length > 0 && !areOneEntry(x, y, outer, ranges)) return false;
  if (apart.length === 0) return true;
  // The number of another entry would have to count as far.
  if (count === null || [...count.keys()].some((key) => factors(key).some((name) => name.startsWith("~"))))
    return false;
  const round = product(each, count);
  return apart.every((f) => exactQuotient(f, round) !== null);
}

/**
 * Whether equal elements are of equal numbers that are a row and a place in it: all that is touched of a row is nearer than two rows are, and
 * an index is `each` · place, plus multiples of what all places of a row are together, plus what is the same of both.
 */
function areOnePlaces(a: RoundTouch, b: RoundTouch, apart: readonly Form[], ranges: Ranges): boolean {
  try {
    const [x, y] = [inRow(a, ranges), inRow(b, ranges)];
    if (x === null || y === null || !areOfOneRow(x, y, ranges)) return false;
    const { place } = x;
    const each = partOf(a.index, place);
    const lanes = Math.max(a.access.lanes, b.access.lanes);
    if (each === null || !isConstant(each) || constantOf(each) < lanes || place.times !== ONE) return false;
    const all = product(each, place.limit);
    return apart.every((f) => exactQuotient(f, all) !== null);
  } catch (x) {
    if (x instanceof Undecided) return false;
    throw x;
  }
}

/** Whether equal elements of a number are of one iteration of the loop around the threads: what is the same of both is less than from one to the next. */
function areOneEntry(a: Parted, b: Parted, outer: readonly Counter[], ranges: Ranges): boolean {
  const [first, ...more] = outer as readonly [Counter, ...Counter[]];
  const [x, y] = [a, b].map(({ ofLoops }) => ofLoops.reduce(sum, ZERO)) as [Form, Form];
  if (more.length > 0 || !equal(x, y)) return false;
  const step = exactQuotient(x, parameter(first.name));
  if (step === null || step.size === 0) return false;
  const less = minus(step, ONE);
  const difference = minus(a.rest, b.rest);
  return isSurely(minus(less, difference), ranges) && isSurely(plus(less, difference), ranges);
}

function sum(a: Form, b: Form): Form {
  return plus(a, b);
}

function parted({ index, counters }: RoundTouch, { names }: RoundThreads): Parted | null {
  const others = new Set(counters.map((c) => c.name).filter((name) => !names.has(name)));
  const ofThread = new Map<string, number>();
  const rest = new Map<string, number>();
  const ofLoops = new Map<string, Map<string, number>>();
  for (const [key, n] of index) {
    const all = factors(key);
    const isOfThread = all.some((name) => names.has(name));
    const loops = all.filter((name) => others.has(name));
    if (isOfThread && loops.length > 0) return null;
    if (isOfThread) ofThread.set(key, n);
    else if (loops.length > 0) {
      const name = loops.join("*");
      ofLoops.set(name, (ofLoops.get(name) ?? new Map<string, number>()).set(key, n));
    } else rest.set(key, n);
  }
  return { ofThread, ofLoops: [...ofLoops.values()], rest };
}
