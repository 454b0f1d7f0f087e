/** Movements held against each other: whether all stay inside their buffers, and whether every two that meet are ordered. */
import { equal, type Form, isAtLeastZero, isZero, minus, ONE, plus, product, ZERO } from "./forms.js";
import type { Lengths, MovementPart, Program, Unit } from "./lengths.js";
import { bufferAt, checkTaken, type Packets, packetsAt, slotsOf, TAKEN } from "./packets.js";
import { ANY_BLOCK, type Movement } from "./pieces.js";
import { areOneColumns, type Columns, distanceOf, type InColumns, latticeOf, parted, type Place } from "./places.js";
import type { Span } from "../../source.js";
import { areOneTaker, eitherTaker, renamedTaker, type Taker } from "./takers.js";
import { demand, NotShown } from "./conditions.js";
import type { Comparisons } from "./larger.js";

/** What one rank does in a stretch of one launch, or of several: of each launch one. */
export interface Repeated {
  /** Of all of them, from 0. */
  readonly number: number;
  readonly units: readonly Unit[];
}

export interface Touch {
  readonly of: Repeated;
  readonly movement: Movement;
  /** Of the part of the movement that it is of: other turns are other iterations, of other threads. */
  readonly turn: number;
  /** Elements; of packets, slots. */
  readonly start: Form;
  readonly end: Form;
  readonly writes: boolean;
  readonly packets: Packets | null;
  /** Which blocks take its elements. */
  readonly taker: Taker;
  /** Whether elements are read there in another order than what is stored lies in, or are columns. */
  readonly isInRows: boolean;
  /** Which elements of rows it touches between its start and its end; null: all. */
  readonly columns: ColumnsTouched | null;
}

/** Columns, and which of their elements, counted row by row. */
interface ColumnsTouched extends Columns {
  readonly first: Form;
  readonly end: Form;
}

/** Checks that all stay inside their buffers, and that what meets is ordered. @throws NotShown */
export function checkOrder(lengths: Lengths, pairs: Pairs): void {
  for (const all of touchesOf(lengths, pairs).values()) {
    if (all[0]!.packets === null) checkPairs(all, lengths, pairs);
    else {
      checkTaken(all, lengths.ends);
      checkSlots(all, lengths, pairs);
    }
  }
}

/** Checks that loops over strips go through as many as there are. @throws NotShown */
export function checkStrips(lengths: Lengths): void {
  const { ranges } = lengths.box;
  const checked = new Set<Movement>();
  for (const { movements } of lengths.program.units)
    for (const m of movements) {
      if (m.covered.length === 0 || checked.has(m)) continue;
      checked.add(m);
      if (isZero(lengths.lengthOf(m), ranges)) continue;
      for (const left of m.covered)
        demand("strips", isAtLeastZero(lengths.form(left), ranges), "a loop goes through fewer strips than there are", m.span); // prettier-ignore
    }
}

/** By the rank that has it, and the buffer. */
function touchesOf(lengths: Lengths, pairs: Pairs): Map<string, Touch[]> {
  const touches = new Map<string, Touch[]>();
  for (const of of pairs.repeated) {
    for (const [at, own] of touchesIn(of, lengths)) {
      const list = touches.get(at);
      if (list === undefined) touches.set(at, own);
      else for (const touch of own) list.push(touch);
    }
    for (const part of lengths.partsIn(of.units[0]!)) pairs.callers(of, part);
  }
  return touches;
}

/** What a unit touches, by where that is; each of it stays inside its buffer. @throws NotShown */
function touchesIn(of: Repeated, lengths: Lengths): Map<string, Touch[]> {
  const { ranges } = lengths.box;
  const unit = of.units[0]!;
  const touches = new Map<string, Touch[]>();
  for (const part of lengths.partsIn(unit)) {
    const { movement, turn, base, length, sources, inColumns } = part;
    for (const { form, lanes } of movement.aligned)
      demand(
        "vectors",
        [...lengths.form(form).values()].every((n) => n % lanes === 0),
        "nothing shows that a vector is where vectors begin",
        movement.span,
      );
    for (const divisor of movement.divisors)
      demand(
        "divisors",
        isAtLeastZero(minus(lengths.form(divisor), ONE), ranges),
        "a row may have no elements where there are some",
        movement.span,
      );
    const touch = (
      name: string,
      owner: number,
      elements: Pick<Touch, "start" | "end">,
      writes: boolean,
      by: Taker | undefined,
      isInRows = false,
      own: ColumnsTouched | null = null,
    ): void => {
      const { buffer, lanes } = packetsAt(name) ?? { buffer: name, lanes: null };
      const { start, end } = lanes === null ? elements : slotsOf(elements, lanes, lengths, movement.span);
      const size = lanes === null ? lengths.sizeOf(buffer) : lengths.slotsIn(buffer);
      const isInside = lengths.ends.isAtMost(ZERO, start) && lengths.ends.isAtMost(end, size);
      demand("inside", isInside, `an index may leave '${buffer}'`, movement.span);
      const at = `${owner < 0 ? unit.rank : owner} ${buffer}`;
      const packets = lanes === null ? null : { name, areTaken: movement.text === TAKEN };
      let known = touches.get(at);
      if (known === undefined) touches.set(at, (known = []));
      const isKnown = (t: Touch): boolean =>
        t.movement === movement &&
        t.turn === turn &&
        t.writes === writes &&
        t.isInRows === isInRows &&
        equal(t.start, start) &&
        equal(t.end, end) &&
        t.columns?.first === own?.first;
      // Elements of turns behind the first are counted by others.
      const taker = turn > 0 ? null : renamedTaker(by ?? null, (f) => lengths.form(f));
      const found = known.findIndex(isKnown);
      if (found < 0) known.push({ of, movement, turn, start, end, writes, packets, taker, isInRows, columns: own });
      else known[found] = { ...known[found]!, taker: eitherTaker(known[found]!.taker, taker) };
    };
    const from = (start: Form): Pick<Touch, "start" | "end"> => ({ start, end: lengths.sum(start, length) });
    const isStored = movement.isFootprint !== "read";
    if (inColumns === undefined) touch(movement.buffer, movement.owner, from(base), isStored, movement.takers[0]);
    else {
      const { columns, own, more } = inColumns;
      const first = lengths.normal(plus(plus(base, own.shift), product(more, own.by)));
      const some = { ...columns, first, end: lengths.sum(first, length) };
      touch(movement.buffer, movement.owner, columnsStored(lengths, part, inColumns), isStored, null, true, some);
    }
    for (const [i, { buffer, owner, place }] of sources.entries()) {
      const distance = distanceOf(place);
      // What is made of packets is made by who takes them.
      if (packetsAt(buffer) !== null) continue;
      if (distance !== null)
        touch(
          buffer,
          owner,
          from(lengths.sum(base, distance)),
          false,
          inColumns === undefined ? movement.takers[i + 1] : null,
        );
      else touch(buffer, owner, rowsRead(lengths, movement, buffer, place, base, length), false, null, true);
    }
  }
  return touches;
}

/**
 * From the least to the greatest element of what is read in rows, which lies inside the buffer. Between them lie elements that are not read: as if all
 * were, what is stored to any of them has to be ordered with it. Of parts of rows that is the whole buffer, if they are of no more rows than it has.
 * @throws NotShown
 */
function rowsRead(
  lengths: Lengths,
  m: Movement,
  buffer: string,
  place: Place,
  base: Form,
  length: Form,
): Pick<Touch, "start" | "end"> {
  const { ranges } = lengths.box;
  const require = (f: Form, what: string): void => {
    demand("inside", isAtLeastZero(f, ranges), what, m.span);
  };
  const lattice = latticeOf(place);
  if (lattice === null) throw new NotShown("elements are read in another order than they are stored in", m.span);
  const { first, row, column, shift, by } = lattice;
  const begin = lengths.normal(plus(base, shift));
  require(begin, "an element may be counted from below 0");
  require(row, "rows are read backwards");
  require(column, "columns are read backwards");
  const leaves = `an index may leave '${buffer}'`;
  let [low, high] = [first, plus(first, product(column, minus(by, ONE)))];
  if (row.size > 0) {
    const [from = null, count = null] = [begin, length].map((f) => lengths.over(f, by));
    if (from === null || count === null) {
      const rows = lengths.rowsIn(buffer, row);
      // The first row that is counted lies so many rows behind the first that the buffer has.
      const at = parted(lengths.inDims(first), lengths.inDims(row));
      const areIn = (all: Form): boolean => lengths.isInRows(plus(begin, length), all, by);
      if (rows === null || at === null || !areIn(rows))
        throw new NotShown("a part of a row is read in another order", m.span);
      demand("inside", areIn(minus(lengths.inDims(rows), at.whole)), leaves, m.span);
      require(lengths.normal(at.whole), leaves);
      require(lengths.normal(at.rest), leaves);
      const end = plus(plus(at.rest, minus(high, first)), ONE);
      require(lengths.normal(minus(row, end)), leaves);
      return { start: ZERO, end: lengths.sizeOf(buffer) };
    }
    low = plus(low, product(row, from));
    high = plus(high, product(row, minus(plus(from, count), ONE)));
  }
  require(low, leaves);
  const end = lengths.normal(plus(high, ONE));
  require(minus(lengths.sizeOf(buffer), end), leaves);
  return { start: lengths.normal(low), end };
}

/** From the first element that is stored in columns to the last: of parts of rows, all that the buffer has. @throws NotShown */
function columnsStored(
  lengths: Lengths,
  { movement: m, base, length }: MovementPart,
  { columns: { by, from, to }, own, more }: InColumns,
): Pick<Touch, "start" | "end"> {
  const first = lengths.normal(plus(base, own.shift));
  demand("inside", isAtLeastZero(first, lengths.box.ranges), "an element may be counted from below 0", m.span);
  const [row = null, count = null] = [first, length].map((f) => lengths.over(f, own.by));
  if (row !== null && count !== null) {
    const start = product(by, plus(row, more));
    const last = plus(start, product(by, minus(count, ONE)));
    return { start: lengths.normal(plus(start, from)), end: lengths.normal(plus(last, to)) };
  }
  const rows = lengths.rowsIn(m.buffer, by);
  if (rows === null || more.size > 0 || !lengths.isInRows(plus(first, length), rows, own.by))
    throw new NotShown("a part of a row is stored in another order", m.span);
  return { start: from, end: lengths.normal(plus(product(by, minus(rows, ONE)), to)) };
}

function checkPairs(touches: readonly Touch[], { ends }: Lengths, pairs: Pairs): void {
  for (const [i, a] of touches.entries())
    for (let j = i; j < touches.length; j++) {
      const b = touches[j]!;
      if ((a.writes || b.writes) && !pairs.areOrdered(a, b)) checkApart(a, b, ends);
    }
}

/** Where nothing orders two touches they must not meet. */
function checkApart(a: Touch, b: Touch, ends: Comparisons): void {
  if (a.columns !== null && b.columns !== null) {
    if (areApart(a.columns, b.columns, ends)) return;
    const [one, other] = [a.columns, b.columns];
    if (areOneColumns(one, other) && (ends.isAtMost(one.end, other.first) || ends.isAtMost(other.end, one.first)))
      return;
  }
  if (!ends.isBelow(b.start, a.end) || !ends.isBelow(a.start, b.end)) return;
  demand("ordered", false, "two accesses may meet that nothing orders", b.movement.span);
}

/** Whether no column of one is one of the other. */
export function areApart(a: Columns, b: Columns, ends: Comparisons): boolean {
  return equal(a.by, b.by) && (ends.isAtMost(a.to, b.from) || ends.isAtMost(b.to, a.from));
}

/** Slots of different launches. In one launch each is stored to once, and then taken. */
function checkSlots(touches: readonly Touch[], { ends }: Lengths, pairs: Pairs): void {
  for (const [i, a] of touches.entries())
    for (let j = i; j < touches.length; j++) {
      const b = touches[j]!;
      if (!pairs.areLaunchesOrdered(a.of, b.of)) checkApart(a, b, ends);
    }
}

/** Whether one is read and the other stored by movements of which the same iteration stores each element, after it has read what it needs. */
function areBesideEachOther(a: Touch, b: Touch): boolean {
  const [m, n] = [a.movement, b.movement];
  const isIteration = m.iterations !== undefined && m.iterations === n.iterations;
  return isIteration && a.of === b.of && a.turn === b.turn && a.writes !== b.writes;
}

/** Whether nothing synchronises between two stretches of a rank. */
function isOneRun(a: Unit, b: Unit): boolean {
  return a.rank === b.rank && a.launch === b.launch && a.run === b.run;
}

/** What two touches are to each other, as far as it matters to whether they are ordered. */
const enum Relation {
  /** In one unit, they are of one strand. */
  OneStrand = 1,
  /** In different units, each element is of one block in both. */
  OneBlock = 2,
  /** They are one. */
  Same = 4,
  /** Only those of different launches are looked at. */
  Launches = 8,
}

/** Whether two touches are ordered whatever blocks they are of. Asked once for each two: lengths have no part in it. */
export class Pairs {
  readonly repeated: readonly Repeated[];
  private readonly known = new Map<number, boolean>();
  private readonly knownCallers = new Set<string>();
  /** Turns of movements of which it was asked, in other boxes. */
  private readonly withCallers = new Map<Repeated, Map<Movement, Set<number>>>();
  private readonly units = new Map<Unit, number>();

  constructor(private readonly program: Program) {
    program.units.forEach((unit, i) => this.units.set(unit, i));
    const lists = new Map<readonly Movement[], Unit[]>();
    for (const unit of program.units) {
      const units = lists.get(unit.movements);
      if (units === undefined) lists.set(unit.movements, [unit]);
      else units.push(unit);
    }
    this.repeated = [...lists.values()].map((units, number) => ({ number, units }));
  }

  /** Whether two touches are ordered in all units of theirs. */
  areOrdered(a: Touch, b: Touch): boolean {
    // Most are, whatever they are to each other.
    if (this.all(a.of, b.of, 0)) return true;
    // Which thread and block an element is of goes by where what is stored lies, all of it.
    const isInRows = a.isInRows || b.isInRows;
    const block = !isInRows && this.isOneBlock(a, b) ? Relation.OneBlock : 0;
    if (a === b) return this.all(a.of, b.of, Relation.Same | block);
    if (isInRows) return false;
    const isOne = (a.movement === b.movement && a.turn === b.turn) || areBesideEachOther(a, b);
    // A thread reads an element before it stores what it makes of it.
    const strand = isOne && equal(a.start, b.start) ? Relation.OneStrand : 0;
    return this.all(a.of, b.of, strand | block);
  }

  /** Whether all units of different launches are ordered. */
  areLaunchesOrdered(a: Repeated, b: Repeated): boolean {
    return this.all(a, b, Relation.Launches);
  }

  /** Blocks take rows from where a movement begins, which is where its first turn does; or rows from one place on. */
  private isOneBlock(a: Touch, b: Touch): boolean {
    const { rows } = a.movement;
    if (areOneTaker(a.taker, b.taker)) return true;
    return a.turn === 0 && b.turn === 0 && rows === b.movement.rows && rows !== ANY_BLOCK && equal(a.start, b.start);
  }

  private all(a: Repeated, b: Repeated, relation: number): boolean {
    const key = (a.number * this.repeated.length + b.number) * 16 + relation;
    let isOrdered = this.known.get(key);
    if (isOrdered === undefined)
      this.known.set(key, (isOrdered = a.units.every((u) => b.units.every((v) => this.asked(u, v, relation)))));
    return isOrdered;
  }

  private asked(a: Unit, b: Unit, relation: number): boolean {
    if ((relation & Relation.Launches) !== 0 && a.launch === b.launch) return true;
    // What meets in rounds is looked at where they are followed.
    if (a === b) return a.hasRounds === true || (relation & (Relation.OneStrand | Relation.Same)) !== 0;
    const [first, second] = this.units.get(a)! < this.units.get(b)! ? [a, b] : [b, a];
    if (first.launch > second.launch || isOneRun(first, second)) return false;
    for (const order of this.program.orders)
      for (let p = 0; p < order.grid; p++)
        for (let q = 0; q < order.grid; q++) {
          if ((relation & Relation.OneBlock) !== 0 && p !== q) continue;
          if (!order.isBefore({ ...first, block: p }, { ...second, block: q })) return false;
        }
    return true;
  }

  /** Checks that callers write inputs before, and look at outputs after, all that units do with them. */
  callers(of: Repeated, { movement: m, turn, sources }: MovementPart): void {
    let known = this.withCallers.get(of);
    if (known === undefined) this.withCallers.set(of, (known = new Map()));
    const turns = known.get(m);
    if (turns?.has(turn) === true) return;
    known.set(m, (turns ?? new Set()).add(turn));
    const isStored = m.isFootprint !== "read";
    for (const unit of of.units)
      for (const { buffer, owner } of [m, ...sources])
        this.checkCaller(unit, owner < 0 ? unit.rank : owner, buffer, isStored && buffer === m.buffer, m.span);
  }

  private checkCaller(unit: Unit, whose: number, buffer: string, isStored: boolean, span: Span): void {
    const { kernel, orders } = this.program;
    const key = `${this.units.get(unit)!} ${whose} ${isStored ? "stored" : ""} ${buffer}`;
    if (this.knownCallers.has(key)) return;
    this.knownCallers.add(key);
    const { role } = bufferAt(kernel, buffer);
    if (role === "input" && isStored) throw new NotShown(`'${buffer}' is an input, and stored to`, span);
    if (role !== "input" && role !== "output" && role !== "inout") return;
    for (const order of orders)
      for (let block = 0; block < order.grid; block++) {
        const place = { ...unit, block };
        const isOrdered =
          order.isCallerBefore(whose, unit.launch, place) && order.isBeforeCaller(place, whose, unit.launch + 1);
        demand("callers", isOrdered, `'${buffer}' may be touched while its owner's caller uses it`, span);
      }
  }
}
