/** Movements held against each other: whether all stay inside their buffers, and whether every two that meet are ordered. */
import { equal, type Form, isAtLeastZero, isZero, minus, ONE, plus, product, type Ranges } from "./forms.js";
import type { Lengths, MovementPart, Program, Unit } from "./lengths.js";
import { bufferAt, checkTaken, type Packets, packetsAt, slotsOf, TAKEN } from "./packets.js";
import { ANY_BLOCK, type Movement } from "./pieces.js";
import { distanceOf, latticeOf, over, type Place } from "./places.js";
import { demand, NotShown } from "./conditions.js";

export interface Touch {
  readonly unit: Unit;
  readonly movement: Movement;
  /** Of the part of the movement that it is of: other turns are other iterations, of other threads. */
  readonly turn: number;
  /** Elements; of packets, slots. */
  readonly start: Form;
  readonly end: Form;
  readonly writes: boolean;
  readonly packets: Packets | null;
}

/** Checks that all stay inside their buffers, and that what meets is ordered. @throws NotShown */
export function checkOrder(lengths: Lengths, pairs: Pairs): void {
  for (const all of touchesOf(lengths, pairs).values()) {
    if (all[0]!.packets === null) checkPairs(all, lengths, pairs);
    else {
      checkTaken(all, lengths.box.ranges);
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

function touchesOf(lengths: Lengths, pairs: Pairs): Map<string, Touch[]> {
  const touches = new Map<string, Touch[]>();
  // Launches that do the same share their movements.
  const known = new Map<readonly Movement[], readonly TouchAt[]>();
  for (const unit of lengths.program.units) {
    let own = known.get(unit.movements);
    if (own === undefined) known.set(unit.movements, (own = touchesIn(unit, lengths)));
    for (const { at, touch } of own) {
      const list = touches.get(at);
      if (list === undefined) touches.set(at, [{ ...touch, unit }]);
      else list.push({ ...touch, unit });
    }
    for (const part of lengths.partsIn(unit)) pairs.callers(unit, part);
  }
  return touches;
}

interface TouchAt {
  /** The rank that has it, and the buffer. */
  readonly at: string;
  readonly touch: Omit<Touch, "unit">;
}

/** What a unit touches, each of which stays inside its buffer. @throws NotShown */
function touchesIn(unit: Unit, lengths: Lengths): readonly TouchAt[] {
  const { ranges } = lengths.box;
  const touches: TouchAt[] = [];
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
    const touch = (name: string, owner: number, begin: Form, writes: boolean): void => {
      const { buffer, lanes } = packetsAt(name) ?? { buffer: name, lanes: null };
      const elements = { start: begin, end: plus(begin, length) };
      const { start, end } = lanes === null ? elements : slotsOf(elements.start, elements.end, lanes, movement.span);
      const size = lanes === null ? lengths.sizeOf(buffer) : lengths.slotsIn(buffer);
      const isInside = isAtLeastZero(start, ranges) && isAtLeastZero(minus(size, end), ranges);
      demand("inside", isInside, `an index leaves '${buffer}'`, movement.span);
      const at = `${owner < 0 ? unit.rank : owner} ${buffer}`;
      const packets = lanes === null ? null : { name, areTaken: movement.text === TAKEN };
      const isKnown = ({ at: other, touch: t }: TouchAt): boolean =>
        other === at && t.movement === movement && t.turn === turn && t.writes === writes && equal(t.start, start);
      if (!touches.some(isKnown)) touches.push({ at, touch: { movement, turn, start, end, writes, packets } });
    };
    touch(movement.buffer, movement.owner, base, true);
    for (const { buffer, owner, place } of sources) {
      const distance = distanceOf(place);
      // What is made of packets is made by who takes them.
      if (packetsAt(buffer) !== null) continue;
      if (distance !== null) touch(buffer, owner, plus(base, distance), false);
      else checkRows(lengths, movement, buffer, place, base, length);
    }
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
      checkPair(a, b, pairs.question(a, b, equal(a.start, b.start)), ranges);
    }
}

/** Where nothing orders two touches they must not meet. */
function checkPair(a: Touch, b: Touch, question: Question, ranges: Ranges): void {
  if (question.isOrdered) return;
  if (!isAtLeastZero(minus(minus(a.end, b.start), ONE), ranges)) return;
  if (!isAtLeastZero(minus(minus(b.end, a.start), ONE), ranges)) return;
  demand("ordered", false, question.reason, b.movement.span);
}

/** Slots of different launches. In one launch each is stored to once, and then taken. */
function checkSlots(touches: readonly Touch[], { box: { ranges } }: Lengths, pairs: Pairs): void {
  const units = new Map<Unit, Touch[]>();
  for (const t of touches) {
    const own = units.get(t.unit);
    if (own === undefined) units.set(t.unit, [t]);
    else own.push(t);
  }
  const all = [...units.values()];
  for (const [i, as] of all.entries())
    for (const bs of all.slice(i + 1)) {
      if (as[0]!.unit.launch === bs[0]!.unit.launch) continue;
      const question = pairs.question(as[0]!, bs[0]!, false);
      if (!question.isOrdered) for (const a of as) for (const b of bs) checkPair(a, b, question, ranges);
    }
}

/** Whether nothing synchronises between two stretches of a rank. */
function isOneRun(a: Unit, b: Unit): boolean {
  return a.rank === b.rank && a.launch === b.launch && a.run === b.run;
}

interface Question {
  readonly isOrdered: boolean;
  readonly reason: string;
}

/** Whether two touches are ordered whatever blocks they are of. Asked once for each two: lengths have no part in it. */
export class Pairs {
  private readonly known = new Map<number, Question>();
  private readonly knownCallers = new Set<string>();
  /** Turns of movements of which it was asked, in other boxes. */
  private readonly withCallers = new Map<Unit, Map<Movement, Set<number>>>();
  private readonly units = new Map<Unit, number>();

  constructor(private readonly program: Program) {
    program.units.forEach((unit, i) => this.units.set(unit, i));
  }

  question(a: Touch, b: Touch, isSamePlace: boolean): Question {
    const isOne = a.unit === b.unit && a.movement === b.movement && a.turn === b.turn;
    // Blocks take rows from where a movement begins, which is where its first turn does.
    const isFirst = a.turn === 0 && b.turn === 0;
    const isAlike = a.movement.rows === b.movement.rows && a.movement.rows !== ANY_BLOCK;
    const isRows = !isOne && isFirst && isSamePlace && isAlike;
    const kind = isOne ? Number(isSamePlace) : 2 + Number(isRows);
    const key = (this.units.get(a.unit)! * this.units.size + this.units.get(b.unit)!) * 4 + kind;
    let question = this.known.get(key);
    if (question === undefined) this.known.set(key, (question = this.asked(a, b, isOne && isSamePlace, isRows)));
    return question;
  }

  private asked(a: Touch, b: Touch, isOneStrand: boolean, isSameBlock: boolean): Question {
    // A thread reads an element before it stores what it makes of it.
    if (isOneStrand) return { isOrdered: true, reason: "" };
    const reason = "two accesses may meet that nothing orders";
    if (a.unit === b.unit) return { isOrdered: false, reason };
    const [first, second] = this.units.get(a.unit)! < this.units.get(b.unit)! ? [a, b] : [b, a];
    if (first.unit.launch > second.unit.launch || isOneRun(first.unit, second.unit))
      return { isOrdered: false, reason };
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
  callers(unit: Unit, { movement: m, turn, sources }: MovementPart): void {
    const { kernel, orders } = this.program;
    let known = this.withCallers.get(unit);
    if (known === undefined) this.withCallers.set(unit, (known = new Map()));
    const turns = known.get(m);
    if (turns?.has(turn) === true) return;
    known.set(m, (turns ?? new Set()).add(turn));
    for (const { buffer, owner } of [m, ...sources]) {
      const whose = owner < 0 ? unit.rank : owner;
      const isStored = buffer === m.buffer;
      const key = `${this.units.get(unit)!} ${whose} ${isStored ? "stored" : ""} ${buffer}`;
      if (this.knownCallers.has(key)) continue;
      this.knownCallers.add(key);
      const { role } = bufferAt(kernel, buffer);
      if (role === "input" && isStored) throw new NotShown(`'${buffer}' is an input, and stored to`, m.span);
      if (role !== "input" && role !== "output") continue;
      for (const order of orders)
        for (let block = 0; block < order.grid; block++) {
          const place = { ...unit, block };
          const isOrdered =
            order.isCallerBefore(whose, unit.launch, place) && order.isBeforeCaller(place, whose, unit.launch + 1);
          demand("callers", isOrdered, `'${buffer}' may be touched while its owner's caller uses it`, m.span);
        }
    }
  }
}
