/**
 * Movements held against each other, for whole boxes of lengths at once: whether all stay inside their buffers, whether
 * every two that meet are ordered, and what the outputs hold in the end.
 */
import type { Kernel } from "../../ir/module.js";
import type { SignatureTensor } from "../../manifest.js";
import type { Span } from "../../source.js";
import { productOf } from "../../types/extent.js";
import { Evaluation, type Expression, type Expressions } from "./expressions.js";
import {
  type Box,
  constant,
  constantOf,
  equal,
  factors,
  type Form,
  isAtLeastZero,
  isConstant,
  isZero,
  keyOf,
  minus,
  ONE,
  plus,
  substituted,
  ZERO,
} from "./forms.js";
import type { Movement } from "./movements.js";
import type { StretchOrder } from "./skeleton.js";
import { NotShown } from "./stretches.js";

/** What one rank does in one stretch of one launch. */
export interface Unit {
  readonly rank: number;
  readonly launch: number;
  readonly stretch: number;
  /** Of the largest grid. What differs between grids are the rows alone. */
  readonly movements: readonly Movement[];
}

/** All that a kernel does, for any lengths. */
export interface Program {
  readonly kernel: Kernel;
  readonly expressions: Expressions;
  readonly launches: number;
  /** In an order that could happen. */
  readonly units: readonly Unit[];
  /** By number of blocks, from 1; with one block all are its own. */
  readonly orders: readonly StretchOrder[];
  /** By movement: how many neighbours a block takes, for each number of blocks. */
  readonly rows: ReadonlyMap<Movement, readonly number[]>;
}

interface Touch {
  readonly unit: Unit;
  readonly movement: Movement;
  readonly start: Form;
  readonly end: Form;
  readonly writes: boolean;
}

/** What an element holds: an expression, with `$0`, `$1`, … for elements of inputs, by their distance from it. */
interface Content {
  readonly text: string;
  readonly leaves: readonly Leaf[];
}

interface Leaf {
  readonly input: string;
  readonly owner: number;
  readonly launch: number;
  readonly distance: Form;
}

interface Held {
  readonly start: Form;
  readonly end: Form;
  readonly content: Content;
}

/** One box of lengths. Every question that it cannot answer as a whole throws what to do with it. */
export class Lengths {
  private readonly evaluation: Evaluation;
  private readonly memory = new Map<string, Held[]>();

  constructor(
    private readonly program: Program,
    private readonly box: Box,
    private readonly pairs: Pairs,
  ) {
    this.evaluation = new Evaluation(box.ranges, (e) => (e.kind === "dim" ? this.dim(e.name) : null));
  }

  private dim(name: string): Form {
    return this.box.names.get(name)!;
  }

  private of(e: Expression): Form {
    return this.evaluation.of(e);
  }

  private form(f: Form): Form {
    const by = new Map<string, Form>();
    for (const key of f.keys())
      for (const name of factors(key)) by.set(name, this.of(this.program.expressions.numbered(Number(name.slice(1)))));
    return substituted(f, by);
  }

  private lengthOf(m: Movement): Form {
    return "root" in m.length ? this.of(this.program.expressions.numbered(m.length.root)) : constant(m.length.constant);
  }

  private sizeOf(buffer: string): Form {
    const { kernel, expressions } = this.program;
    return this.of(expressions.extent(productOf(kernel.buffers.find((b) => b.name === buffer)!.shape)));
  }

  /** Whether the kernel takes these lengths at all. */
  isAllowed(): boolean {
    const { kernel, expressions } = this.program;
    return kernel.requirements.every(({ left, relation, right }) => {
      const holds = expressions.apply(relation, expressions.extent(left), expressions.extent(right));
      return constantOf(this.of(holds)) === 1;
    });
  }

  /** Checks that all stay inside their buffers, and that what meets is ordered. @throws NotShown */
  checkOrder(): void {
    for (const all of this.touches().values()) this.checkPairs(all);
  }

  /** What the outputs hold: one key for each rank and kind of element. Of what is ordered. @throws NotShown */
  outputs(): Set<string> {
    const outputs = new Set<string>();
    for (let launch = 0; launch < this.program.launches; launch++) {
      for (const { name } of this.program.kernel.outputs)
        for (let r = 0; r < this.program.kernel.world; r++) this.memory.delete(`${r} ${name}`);
      for (const unit of this.program.units) if (unit.launch === launch) this.run(unit);
      for (const key of this.outputKeys(launch)) outputs.add(key);
    }
    return outputs;
  }

  private touches(): Map<string, Touch[]> {
    const touches = new Map<string, Touch[]>();
    for (const unit of this.program.units)
      for (const movement of unit.movements) {
        const length = this.lengthOf(movement);
        if (isZero(length, this.box.ranges)) continue;
        const base = this.form(movement.base);
        for (const { form, lanes } of movement.aligned)
          if ([...this.form(form).values()].some((n) => n % lanes !== 0))
            throw new NotShown("nothing shows that a vector is where vectors begin", movement.span);
        const touch = (buffer: string, owner: number, start: Form, writes: boolean): void => {
          const end = plus(start, length);
          const { ranges } = this.box;
          if (!isAtLeastZero(start, ranges) || !isAtLeastZero(minus(this.sizeOf(buffer), end), ranges))
            throw new NotShown(`an index leaves '${buffer}'`, movement.span);
          const key = `${owner < 0 ? unit.rank : owner} ${buffer}`;
          const list = touches.get(key);
          const one = { unit, movement, start, end, writes };
          if (list === undefined) touches.set(key, [one]);
          else if (
            !list.some(
              (t) => t.unit === unit && t.movement === movement && t.writes === writes && equal(t.start, start),
            )
          )
            list.push(one);
        };
        touch(movement.buffer, movement.owner, base, true);
        for (const s of movement.sources) touch(s.buffer, s.owner, plus(base, this.form(s.distance)), false);
        this.pairs.callers(this.program, unit, movement);
      }
    return touches;
  }

  private checkPairs(touches: readonly Touch[]): void {
    const { ranges } = this.box;
    for (const [i, a] of touches.entries())
      for (let j = i + 1; j < touches.length; j++) {
        const b = touches[j]!;
        if (!a.writes && !b.writes) continue;
        const apart = minus(a.start, b.start);
        const isSamePlace = apart.size === 0;
        const question = this.pairs.question(a, b, isSamePlace);
        if (question.isOrdered) continue;
        // Where nothing orders them they must not meet.
        if (!isAtLeastZero(minus(minus(a.end, b.start), ONE), ranges)) continue;
        if (!isAtLeastZero(minus(minus(b.end, a.start), ONE), ranges)) continue;
        throw new NotShown(question.reason, b.movement.span);
      }
  }

  // -- values ---------------------------------------------------------------------------------------------------------

  private run(unit: Unit): void {
    for (const m of unit.movements) {
      const length = this.lengthOf(m);
      if (isZero(length, this.box.ranges)) continue;
      const base = this.form(m.base);
      // By offset in the movement; what each source holds there.
      let parts: { from: Form; to: Form; of: Content[] }[] = [{ from: ZERO, to: length, of: [] }];
      for (const source of m.sources) {
        const distance = this.form(source.distance);
        const start = plus(base, distance);
        const owner = source.owner < 0 ? unit.rank : source.owner;
        parts = parts.flatMap((part) =>
          this.read(source.buffer, owner, plus(start, part.from), plus(start, part.to), unit.launch, m.span).map(
            (h) => ({
              from: minus(h.start, start),
              to: minus(h.end, start),
              of: [...part.of, moved(h.content, distance)],
            }),
          ),
        );
      }
      const owner = m.owner < 0 ? unit.rank : m.owner;
      for (const { from, to, of } of parts)
        this.write(`${owner} ${m.buffer}`, plus(base, from), plus(base, to), made(m.text, of));
    }
  }

  private read(buffer: string, owner: number, start: Form, end: Form, launch: number, span: Span): Held[] {
    const { role } = this.program.kernel.buffers.find((b) => b.name === buffer)!;
    if (role === "input") {
      const leaf = { input: buffer, owner, launch, distance: ZERO };
      return [{ start, end, content: { text: "$0", leaves: [leaf] } }];
    }
    const found: Held[] = [];
    let at = start;
    for (const held of this.memory.get(`${owner} ${buffer}`) ?? []) {
      const part = this.common(held, at, end);
      if (part === null) continue;
      if (!isZero(minus(part.start, at), this.box.ranges)) break;
      found.push(part);
      at = part.end;
    }
    if (!isZero(minus(at, end), this.box.ranges))
      throw new NotShown(`an element of '${buffer}' may be read before it is written`, span);
    return found;
  }

  /** The part of what is held that lies in an interval. */
  private common(held: Held, start: Form, end: Form): Held | null {
    const { ranges } = this.box;
    const from = isAtLeastZero(minus(held.start, start), ranges) ? held.start : start;
    const to = isAtLeastZero(minus(end, held.end), ranges) ? held.end : end;
    return isAtLeastZero(minus(minus(to, from), ONE), ranges) ? { start: from, end: to, content: held.content } : null;
  }

  private write(key: string, start: Form, end: Form, content: Content): void {
    const { ranges } = this.box;
    const kept: Held[] = [];
    for (const held of this.memory.get(key) ?? []) {
      if (this.common(held, start, end) === null) {
        kept.push(held);
        continue;
      }
      if (isAtLeastZero(minus(minus(start, held.start), ONE), ranges)) kept.push({ ...held, end: start });
      if (isAtLeastZero(minus(minus(held.end, end), ONE), ranges)) kept.push({ ...held, start: end });
    }
    let at = 0;
    while (at < kept.length && isAtLeastZero(minus(minus(start, kept[at]!.start), ONE), ranges)) at++;
    kept.splice(at, 0, { start, end, content });
    this.memory.set(key, kept);
  }

  /** What each output holds after a launch, in places of the whole tensor. */
  private outputKeys(launch: number): string[] {
    const { kernel } = this.program;
    return kernel.outputs.flatMap((output, o) => {
      if (kernel.specification[o] === null) return [];
      const size = this.sizeOf(output.name);
      if (isZero(size, this.box.ranges)) return [];
      const ranks = Array.from({ length: kernel.world }, (_, r) => r).filter(
        (r) => output.layout.kind !== "on" || output.layout.rank === r,
      );
      const all = ranks.map((r) =>
        this.read(output.name, r, ZERO, size, launch, NO_PLACE).map((h) => ({
          ...h,
          key: this.key(h, o, r, launch),
        })),
      );
      if (output.layout.kind !== "replicated")
        return all.flatMap((held, i) => held.map(({ key }) => `${output.name}@${ranks[i]} ${key}`));
      // Ranks that hold one value must hold it with the same bits: what they hold together is one kind of element.
      let parts = [{ start: ZERO as Form, end: size, keys: [] as string[] }];
      for (const held of all)
        parts = parts.flatMap(({ start, end, keys }) =>
          held.flatMap((h) => {
            const part = this.common(h, start, end);
            return part === null ? [] : [{ start: part.start, end: part.end, keys: [...keys, h.key] }];
          }),
        );
      return parts.map(({ keys }) => `${output.name} ${keys.join(" | ")}`);
    });
  }

  private key({ content }: Held, o: number, rank: number, launch: number): string {
    const output = this.program.kernel.outputs[o]!;
    // What is said of elements is said of them where ranks hold them.
    const isLocal = this.program.kernel.specification[o]!.kind === "elements";
    const to = isLocal ? ZERO : this.beginOf(output, rank);
    const leaves = content.leaves.map((leaf) => {
      const input = this.program.kernel.inputs.find((t) => t.name === leaf.input)!;
      const distance = minus(isLocal ? leaf.distance : plus(leaf.distance, this.beginOf(input, leaf.owner)), to);
      if (!isConstant(distance))
        throw new NotShown(`what '${output.name}' holds is of elements farther away, the longer tensors are`, NO_PLACE);
      return `${leaf.input}@${leaf.owner} ${constantOf(distance)} ${launch - leaf.launch}`;
    });
    return `${content.text} of ${leaves.join(", ")}`;
  }

  /** Where a rank's part of a tensor begins in the whole of it. */
  private beginOf(tensor: SignatureTensor, rank: number): Form {
    if (tensor.layout.kind !== "sharded") return ZERO;
    const { expressions } = this.program;
    const part = expressions.extent(productOf(tensor.localShape));
    return this.of(expressions.apply("mul", expressions.constant(rank), part));
  }
}

/** Nothing in the source stands for it. */
const NO_PLACE: Span = { start: 0, end: 0 } as Span;

function moved({ text, leaves }: Content, by: Form): Content {
  return { text, leaves: leaves.map((leaf) => ({ ...leaf, distance: plus(leaf.distance, by) })) };
}

const texts = new Map<string, string>();

/** An expression of contents. Equal ones have one text. */
function made(text: string, of: readonly Content[]): Content {
  if (text === "$0") return of[0]!;
  const leaves: Leaf[] = [];
  const numbers = new Map<string, number>();
  const inner = of.map((content) => {
    const places = content.leaves.map((leaf) => {
      const key = `${leaf.input} ${leaf.owner} ${leaf.launch} ${keyOf(leaf.distance)}`;
      let number = numbers.get(key);
      if (number === undefined) {
        numbers.set(key, (number = leaves.length));
        leaves.push(leaf);
      }
      return number;
    });
    return `${content.text}[${places.join()}]`;
  });
  const whole = `${text} where ${inner.join("; ")}`;
  let short = texts.get(whole);
  if (short === undefined) texts.set(whole, (short = `e${texts.size}`));
  return { text: short, leaves };
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
    const isOne = a.unit === b.unit && a.movement === b.movement;
    const isRows = !isOne && isSamePlace && this.sameRows(a.movement, b.movement);
    const key = `${this.numberOf(a.unit)} ${this.numberOf(b.unit)} ${isOne ? Number(isSamePlace) : 2 + Number(isRows)}`;
    let question = this.known.get(key);
    if (question === undefined) this.known.set(key, (question = this.asked(a, b, isOne && isSamePlace, isRows)));
    return question;
  }

  private sameRows(a: Movement, b: Movement): boolean {
    const [rows, others] = [this.program.rows.get(a)!, this.program.rows.get(b)!];
    return rows.every((n, i) => n === others[i]);
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
  callers({ kernel, orders }: Program, unit: Unit, m: Movement): void {
    const key = `callers ${this.numberOf(unit)} ${this.numberOf(m)}`;
    if (this.known.has(key)) return;
    for (const { buffer, owner } of [m, ...m.sources]) {
      const { role } = kernel.buffers.find((b) => b.name === buffer)!;
      if (role === "input" && buffer === m.buffer) throw new NotShown(`'${buffer}' is an input, and stored to`, m.span);
      if (role !== "input" && role !== "output") continue;
      const whose = owner < 0 ? unit.rank : owner;
      for (const order of orders)
        for (let block = 0; block < order.grid; block++) {
          const place = { ...unit, block };
          const isOrdered =
            order.isCallerBefore(whose, unit.launch, place) && order.isBeforeCaller(place, whose, unit.launch + 1);
          if (!isOrdered) throw new NotShown(`'${buffer}' may be touched while its owner's caller uses it`, m.span);
        }
    }
    this.known.set(key, { isOrdered: true, reason: "" });
  }
}
