/** Movements held against each other: whether all stay inside their buffers, and whether every two that meet are ordered. */
import { equal, type Form, isAtLeastZero, minus, ONE, plus, product } from "./forms.js";
import type { Lengths, Program, Unit } from "./lengths.js";
import type { Movement, Source } from "./pieces.js";
import { distanceOf, latticeOf, over, type Place } from "./places.js";
import { demand, NotShown } from "./conditions.js";

interface Touch {
  readonly unit: Unit;
  readonly movement: Movement;
  /** Of the part of the movement that it is of: other turns are other iterations, of other threads. */
  readonly turn: number;
  readonly start: Form;
  readonly end: Form;
  readonly writes: boolean;
}

/** Checks that all stay inside their buffers, and that what meets is ordered. @throws NotShown */
export function checkOrder(lengths: Lengths, pairs: Pairs): void {
  for (const all of touchesOf(lengths, pairs).values()) checkPairs(all, lengths, pairs);
}

function touchesOf(lengths: Lengths, pairs: Pairs): Map<string, Touch[]> {
  const { ranges } = lengths.box;
  const touches = new Map<string, Touch[]>();
  for (const unit of lengths.program.units)
    for (const { movement, turn, base, length, sources } of lengths.partsIn(unit)) {
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
      const touch = (buffer: string, owner: number, start: Form, writes: boolean): void => {
        const end = plus(start, length);
        const isInside = isAtLeastZero(start, ranges) && isAtLeastZero(minus(lengths.sizeOf(buffer), end), ranges);
        demand("inside", isInside, `an index leaves '${buffer}'`, movement.span);
        const key = `${owner < 0 ? unit.rank : owner} ${buffer}`;
        const list = touches.get(key);
        const one = { unit, movement, turn, start, end, writes };
        if (list === undefined) touches.set(key, [one]);
        else if (
          !list.some(
            (t) =>
              t.unit === unit &&
              t.movement === movement &&
              t.turn === turn &&
              t.writes === writes &&
              equal(t.start, start),
          )
        )
          list.push(one);
      };
      touch(movement.buffer, movement.owner, base, true);
      for (const { buffer, owner, place } of sources) {
        const distance = distanceOf(place);
        if (distance !== null) touch(buffer, owner, plus(base, distance), false);
        else checkRows(lengths, movement, buffer, place, base, length);
      }
      pairs.callers(lengths.program, unit, movement, sources);
    }
  return touches;
}

/** Checks that what is read in rows stays inside an input, which nothing in the kernel writes. @throws NotShown */
function checkRows(lengths: Lengths, m: Movement, buffer: string, place: Place, base: Form, length: Form): void {
  const { ranges } = lengths.box;
  const require = (f: Form, what: string): void => {
    demand("inside", isAtLeastZero(f, ranges), what, m.span);
  };
  const { kernel } = lengths.program;
  if (kernel.buffers.find((b) => b.name === buffer)!.role !== "input")
    throw new NotShown("elements of scratch are read in another order than they lie in", m.span);
  const lattice = latticeOf(place);
  if (lattice === null) throw new NotShown("elements are read in another order than they are stored in", m.span);
  const { first, row, column, shift, by } = lattice;
  const begin = plus(base, shift);
  require(begin, "an element may be counted from below 0");
  require(row, "rows are read backwards");
  require(column, "columns are read backwards");
  const leaves = `an index leaves '${buffer}'`;
  let [low, high] = [first, plus(first, product(column, minus(by, ONE)))];
  if (row.size > 0) {
    const [from, count] = [over(begin, by), over(length, by)];
    if (from === null || count === null) throw new NotShown("a part of a row is read in another order", m.span);
    low = plus(low, product(row, from));
    high = plus(high, product(row, minus(plus(from, count), ONE)));
  }
  require(low, leaves);
  require(minus(minus(lengths.sizeOf(buffer), high), ONE), leaves);
}

function checkPairs(touches: readonly Touch[], { box: { ranges } }: Lengths, pairs: Pairs): void {
  for (const [i, a] of touches.entries())
    for (let j = i + 1; j < touches.length; j++) {
      const b = touches[j]!;
      if (!a.writes && !b.writes) continue;
      const apart = minus(a.start, b.start);
      const isSamePlace = apart.size === 0;
      const question = pairs.question(a, b, isSamePlace);
      if (question.isOrdered) continue;
      // Where nothing orders them they must not meet.
      if (!isAtLeastZero(minus(minus(a.end, b.start), ONE), ranges)) continue;
      if (!isAtLeastZero(minus(minus(b.end, a.start), ONE), ranges)) continue;
      demand("ordered", false, question.reason, b.movement.span);
    }
}

interface Question {
  readonly isOrdered: boolean;
  readonly reason: string;
}

/** Whether two touches are ordered whatever blocks they are of. Asked once for each two: lengths have no part in it. */
export class Pairs {
  private readonly known = new Map<string, Question>();
  private readonly numbers = new Map<object, number>();

  constructor(private readonly program: Program) {}

  private numberOf(o: object): number {
    let number = this.numbers.get(o);
    if (number === undefined) this.numbers.set(o, (number = this.numbers.size));
    return number;
  }

  question(a: Touch, b: Touch, isSamePlace: boolean): Question {
    const isOne = a.unit === b.unit && a.movement === b.movement && a.turn === b.turn;
    // Blocks take rows from where a movement begins, which is where its first turn does.
    const isFirst = a.turn === 0 && b.turn === 0;
    const isRows = !isOne && isFirst && isSamePlace && a.movement.rows === b.movement.rows;
    const key = `${this.numberOf(a.unit)} ${this.numberOf(b.unit)} ${isOne ? Number(isSamePlace) : 2 + Number(isRows)}`;
    let question = this.known.get(key);
    if (question === undefined) this.known.set(key, (question = this.asked(a, b, isOne && isSamePlace, isRows)));
    return question;
  }

  private asked(a: Touch, b: Touch, isOneStrand: boolean, isSameBlock: boolean): Question {
    // A thread reads an element before it stores what it makes of it.
    if (isOneStrand) return { isOrdered: true, reason: "" };
    const reason = "two accesses may meet that nothing orders";
    if (a.unit === b.unit) return { isOrdered: false, reason };
    const [first, second] = this.program.units.indexOf(a.unit) < this.program.units.indexOf(b.unit) ? [a, b] : [b, a];
    if (first.unit.launch > second.unit.launch) return { isOrdered: false, reason };
    for (const order of this.program.orders)
      for (let p = 0; p < order.grid; p++)
        for (let q = 0; q < order.grid; q++) {
          if (isSameBlock && p !== q) continue;
          if (!order.isBefore({ ...first.unit, block: p }, { ...second.unit, block: q }))
            return { isOrdered: false, reason };
        }
    return { isOrdered: true, reason: "" };
  }

  /** Checks that callers write inputs before, and look at outputs after, all that a unit does with them. */
  callers({ kernel, orders }: Program, unit: Unit, m: Movement, sources: readonly Source[]): void {
    const key = `callers ${this.numberOf(unit)} ${this.numberOf(m)} ${sources.map((s) => s.owner).join()}`;
    if (this.known.has(key)) return;
    for (const { buffer, owner } of [m, ...sources]) {
      const { role } = kernel.buffers.find((b) => b.name === buffer)!;
      if (role === "input" && buffer === m.buffer) throw new NotShown(`'${buffer}' is an input, and stored to`, m.span);
      if (role !== "input" && role !== "output") continue;
      const whose = owner < 0 ? unit.rank : owner;
      for (const order of orders)
        for (let block = 0; block < order.grid; block++) {
          const place = { ...unit, block };
          const isOrdered =
            order.isCallerBefore(whose, unit.launch, place) && order.isBeforeCaller(place, whose, unit.launch + 1);
          demand("callers", isOrdered, `'${buffer}' may be touched while its owner's caller uses it`, m.span);
        }
    }
    this.known.set(key, { isOrdered: true, reason: "" });
  }
}
