/** A kernel as movements, and what its lengths are in a whole box of them at once. */
import type { Kernel } from "../../ir/module.js";
import { type Extent, productOf } from "../../types/extent.js";
import { greatestCommon } from "../../types/requirement.js";
import type { Span } from "../../source.js";
import { Evaluation, type Expression, type Expressions, isRoot, unlimited } from "./expressions.js";
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
  plus,
  product,
  scaled,
  substituted,
  ZERO,
} from "./forms.js";
import { inLongerRows, partsOfRows } from "./columns.js";
import { demand, NotShown } from "./conditions.js";
import { Comparisons } from "./larger.js";
import { BY_TURN, type Movement, type Source } from "./pieces.js";
import {
  type Counted,
  type InColumns,
  movedPlace,
  numberAfter,
  over,
  partedBySum,
  placeInColumns,
  placeInTurn,
  ratio,
  renamedCounted,
  renamedPlace,
  sumInTurn,
} from "./places.js";
import type { StretchOrder } from "./skeleton.js";

/** What one rank does in one stretch of one launch. */
export interface Unit {
  readonly rank: number;
  readonly launch: number;
  readonly stretch: number;
  /** Of stretches with no synchronisation between them. */
  readonly run: number;
  readonly movements: readonly Movement[];
  /** Whether it is rounds of blocks: its movements are what is touched, and are ordered with each other. */
  readonly hasRounds?: boolean;
}

/** A movement, or what one is in one turn, over the parameters of a box. */
export interface MovementPart {
  readonly movement: Movement;
  /** Which of its turns it is, from 0; 0 where it has none. */
  readonly turn: number;
  readonly base: Form;
  readonly length: Form;
  readonly sources: readonly Source[];
  /** Where what is counted is stored, where that is in columns. */
  readonly inColumns?: InColumns;
}

/** All that a kernel does, for any lengths. */
export interface Program {
  readonly kernel: Kernel;
  readonly expressions: Expressions;
  /** Launches from the first on that show what outputs hold after all of them. */
  readonly launches: number;
  /** Whether what a dimension divides by divides a product, too, in which that is then no length of its own. */
  readonly isOfParts?: boolean;
  /** In an order that could happen. */
  readonly units: readonly Unit[];
  /** With one block, and with two, which stand for all there may be; see `blocks.ts`. */
  readonly orders: readonly StretchOrder[];
}

/** Between the dimensions in the name of a product. */
const PRODUCT = " × ";

/** The dimensions of a name: one, or those of a product. */
export function dimsIn(name: string): readonly string[] {
  return name.split(PRODUCT);
}

function nameOfProduct(e: Expression): string | null {
  if (e.kind !== "apply" || e.fn !== "mul") return null;
  const names = e.of.map((f) => (f.kind === "dim" ? f.name : nameOfProduct(f)));
  return names.some((name) => name === null) ? null : names.join(PRODUCT);
}

/** Checks that no other products are divided. @throws NotShown, before anything is done that would come to nothing */
export function checkCounted(e: Expression, span: Span, isInside = false): void {
  if (e.kind !== "apply") return;
  const isProduct = e.fn === "mul" && e.of.every((f) => f.kind !== "constant");
  if (isInside && isProduct && nameOfProduct(e) === null)
    throw new NotShown("packets are counted by a product of what is no dimension", span);
  for (const f of e.of) checkCounted(f, span, isInside || e.fn === "div" || e.fn === "rem");
}

/**
 * Dimensions, and products of dimensions that are divided or limited as a whole, as a tensor is that is cut regardless of its rows. Such a product is taken for any
 * number, which the dimensions do not determine: more than there are, so what holds of all of them holds of those that are.
 * @param withStrips with products that are divided to count strips alone
 */
export function namesOf({ kernel, units, expressions, isOfParts }: Program, withStrips = false): readonly string[] {
  const products = new Set<string>();
  const seen = new Set<number>();
  // What one of the dimensions divides by, a product of them does: that is a product of others.
  const isWhole = (e: Expression): boolean => {
    const [a, b] = e.kind === "apply" && e.fn === "div" && isOfParts ? e.of : [];
    const name = a === undefined ? null : nameOfProduct(a);
    if (name === null || b!.kind !== "constant" || b!.value < 1) return false;
    return dimsIn(name).some((dim) => expressions.divisorOf([dim]) % b!.value === 0);
  };
  const visit = (e: Expression, isInside: boolean): void => {
    if (e.kind !== "apply" || (seen.has(e.id) && !isInside)) return;
    seen.add(e.id);
    const name = nameOfProduct(e);
    if (name !== null && isInside) products.add(name);
    if (isWhole(e)) return;
    e.of.forEach((f) => visit(f, isInside || e.fn === "div" || e.fn === "rem"));
  };
  const look = (f: Form): void => {
    for (const key of f.keys())
      for (const name of factors(key)) visit(expressions.numbered(Number(name.slice(1))), false);
  };
  for (const { base, length, covered } of units.flatMap((u) => u.movements)) {
    look(base);
    if (withStrips) covered.forEach(look);
    if ("root" in length) visit(expressions.numbered(length.root), false);
  }
  return [...kernel.dims, ...products];
}

/** A form with another in place of one that it equals, of which it has multiples. */
function exchanged(f: Form, one: Form, other: Form): Form {
  const unit = [...one.values(), ...other.values()].reduce((a, b) => greatestCommon(Math.abs(a), Math.abs(b)));
  const over = (g: Form): Form => new Map([...g].map(([key, n]) => [key, n / unit]));
  const all = isConstant(one) ? null : partedBySum(f, over(one), true);
  return all === null || all.whole.size === 0 ? f : plus(product(all.whole, over(other)), all.rest);
}

/** One box of lengths. Every question that it cannot answer as a whole throws what to do with it. */
export class Lengths {
  private readonly evaluation: Evaluation;
  readonly ends: Comparisons;
  /** Products of dimensions that are taken for lengths of their own, those of few first, and what the dimensions and those before make of them. */
  private readonly products: { readonly length: Form; readonly whole: Form }[] = [];
  /** Elements of buffers; slots of those of packets. */
  private readonly sizes = new Map<string, Form>();
  private readonly sources = new Map<readonly Source[], readonly Source[]>();
  private readonly forms = new Map<Form, Form>();
  private readonly parts = new Map<readonly Movement[], readonly MovementPart[]>();
  /** By its terms: a sum that has been asked for. */
  private readonly sums = new Map<Form, Map<Form, Form>>();
  private readonly lengths = new Map<string | number, Form>();
  private readonly nothing = new Map<Form, boolean>();
  /** By lanes. */
  private readonly slots = new Map<number, Map<Form, Form | null>>();
  /** By its text: the one object for a form. */
  private readonly ones = new Map<string, Form>();

  constructor(
    readonly program: Program,
    readonly box: Box,
  ) {
    this.ends = new Comparisons(box.ranges);
    const dims = (name: string): number => dimsIn(name).length;
    const products = [...box.names].filter(([name]) => dims(name) > 1).sort(([a], [b]) => dims(a) - dims(b));
    for (const [name, length] of products) {
      const whole = this.inProducts(dimsIn(name).map((d) => this.dim(d)).reduce(product)); // prettier-ignore
      if (length.size > 0 && whole.size > 0) this.products.push({ length, whole });
    }
    this.evaluation = new Evaluation(box.ranges, (e) => this.standIn(e));
  }

  /** A dimension; a product of dimensions where the kernel takes it for a length of its own. */
  private standIn(e: Expression): Form | null {
    if (e.kind === "dim") return this.dim(e.name);
    const product = nameOfProduct(e);
    if (product !== null) return this.box.names.has(product) ? this.dim(product) : null;
    const length = isRoot(e) ? unlimited(e, this.program.expressions) : null;
    return length === null ? null : this.of(length);
  }

  private product(dims: readonly string[]): Expression {
    const { expressions } = this.program;
    return dims.map((name) => expressions.dim(name)).reduce((a, b) => expressions.apply("mul", a, b));
  }

  private dim(name: string): Form {
    return this.box.names.get(name)!;
  }

  of(e: Expression): Form {
    return this.evaluation.of(e);
  }

  partsIn({ movements }: Unit): readonly MovementPart[] {
    let parts = this.parts.get(movements);
    if (parts === undefined) this.parts.set(movements, (parts = movements.flatMap((m) => this.partsOf(m))));
    return parts;
  }

  /** What a movement is in this box: nothing, itself, or a part for each rank that elements are read of in turn. @throws NotShown */
  private partsOf(movement: Movement): readonly MovementPart[] {
    const length = this.lengthOf(movement);
    if (this.isNothing(length)) return [];
    const base = this.form(movement.base);
    const sources = this.sourcesOf(movement);
    // Most have none.
    if (movement.turns.length === 0 && sources.every(({ place }) => place.turns.length === 0))
      return [{ movement, turn: 0, base, length, sources }];
    const own = movement.turns.map((c) => renamedCounted(c, (f) => this.form(f)));
    const inColumns = own.length === 1 ? inLongerRows(own[0]!, this.box.ranges) : null;
    if (inColumns !== null && sources.every(({ place }) => placeInColumns(place, inColumns) !== null))
      return [{ movement, turn: 0, base, length, sources, inColumns }];
    const inParts = own.length === 0 ? partsOfRows(movement, base, length, sources, this) : null;
    if (inParts !== null) return inParts;
    const [turns, ...further] = [...own, ...sources.flatMap(({ place }) => place.turns)] as [Counted, ...Counted[]];
    const count = ratio(length, turns.by);
    const isAlike = further.every((t) => equal(t.by, turns.by) && equal(t.shift, turns.shift));
    const isWhole = plus(base, turns.shift).size === 0;
    if (!isAlike || !isWhole || count === null || count > this.program.kernel.world)
      throw new NotShown("elements are not read of each rank in turn", movement.span);
    const known = <T>(made: T | null): T => {
      if (made === null) throw new NotShown("what is divided may be negative", movement.span);
      return made;
    };
    return Array.from({ length: count }, (_, turn) => {
      const moved = known(sumInTurn(own, turn));
      return {
        movement,
        turn,
        base: this.one(plus(plus(base, turns.by, turn), moved)),
        length: turns.by,
        // Seen from where elements are stored.
        sources: sources.map((s) => ({
          ...s,
          owner: s.owner === BY_TURN ? this.rank(known(numberAfter(s.place.turns[0]!.steps, turn)), movement) : s.owner,
          place: movedPlace(known(placeInTurn(s.place, turn)), minus(ZERO, moved)),
        })),
      };
    });
  }

  /** A rank that there is. @throws NotShown */
  private rank(number: number, { span }: Movement): number {
    const isThere = number < this.program.kernel.world;
    demand("inside", isThere, "a rank is meant that may be none of those that there are", span);
    return number;
  }

  /** One list for all movements that share theirs. */
  private sourcesOf({ sources }: Movement): readonly Source[] {
    let own = this.sources.get(sources);
    if (own === undefined) {
      own = sources.map((s) => ({ ...s, place: renamedPlace(s.place, (f) => this.form(f)) }));
      this.sources.set(sources, own);
    }
    return own;
  }

  /** A form over expressions, as one over the parameters of the box. */
  form(f: Form): Form {
    let made = this.forms.get(f);
    if (made === undefined) this.forms.set(f, (made = this.normal(this.made(f))));
    return made;
  }

  /** A form as it compares with what others count, one object for all equal ones. */
  normal(f: Form): Form {
    return this.one(this.inProducts(this.inDims(f)));
  }

  /** A form over another; null where nothing shows that it is a multiple. */
  over(f: Form, by: Form): Form | null {
    return over(f, by) ?? over(this.inDims(f), this.inDims(by));
  }

  /** With lengths of their own for products of dimensions, as far as they divide: then it compares with what is counted by such a length. */
  private inProducts(f: Form): Form {
    return this.products.reduce((all, { length, whole }) => exchanged(all, whole, length), f);
  }

  /** With products of dimensions for lengths of their own: so it is a multiple of what it is of dimensions. */
  inDims(f: Form): Form {
    return this.products.reduceRight((all, { length, whole }) => exchanged(all, length, whole), f);
  }

  /** One object for all equal forms: most of what is asked about them is then known by who they are. */
  private one(f: Form): Form {
    const key = keyOf(f);
    const known = this.ones.get(key);
    if (known === undefined) this.ones.set(key, f);
    return known ?? f;
  }

  /** The sum of two forms. A kernel begins and ends at a few places, again and again. */
  sum(a: Form, b: Form): Form {
    if (b.size === 0) return a;
    let known = this.sums.get(a);
    if (known === undefined) this.sums.set(a, (known = new Map<Form, Form>()));
    let sum = known.get(b);
    if (sum === undefined) known.set(b, (sum = this.one(plus(a, b))));
    return sum;
  }

  private made(f: Form): Form {
    const by = new Map<string, Form>();
    for (const key of f.keys())
      for (const name of factors(key)) by.set(name, this.of(this.program.expressions.numbered(Number(name.slice(1)))));
    return substituted(f, by);
  }

  lengthOf({ length }: Movement): Form {
    const key = "root" in length ? `@${length.root}` : length.constant;
    let known = this.lengths.get(key);
    if (known === undefined) {
      known = this.normal("root" in length ? this.of(this.program.expressions.numbered(length.root)) : constant(length.constant)); // prettier-ignore
      this.lengths.set(key, known);
    }
    return known;
  }

  /** Whether it is nothing, which is asked of the few lengths of a kernel again and again. @throws Cut, Undecided */
  private isNothing(length: Form): boolean {
    let is = this.nothing.get(length);
    if (is === undefined) this.nothing.set(length, (is = isZero(length, this.box.ranges)));
    return is;
  }

  /** The slot that begins with an element, of packets of so many lanes; null where it begins with none. */
  slotAt(element: Form, lanes: number): Form | null {
    let known = this.slots.get(lanes);
    if (known === undefined) this.slots.set(lanes, (known = new Map<Form, Form | null>()));
    let slot = known.get(element);
    if (slot === undefined) {
      const found = over(element, constant(lanes));
      known.set(element, (slot = found === null ? null : this.one(found)));
    }
    return slot;
  }

  sizeOf(buffer: string): Form {
    return this.sized(buffer, (shape) => productOf(shape));
  }

  /** How many rows a buffer has where one is so far from the next; null if that is not how its rows lie. */
  rowsIn(buffer: string, row: Form): Form | null {
    const { kernel, expressions } = this.program;
    const { shape } = kernel.buffers.find((b) => b.name === buffer)!;
    const of = (dims: typeof shape): Form => this.inDims(this.of(expressions.extent(productOf(dims))));
    const columns = shape.findIndex((_, d) => equal(of(shape.slice(d + 1)), this.inDims(row)));
    return columns < 0 ? null : of(shape.slice(0, columns + 1));
  }

  /** Whether so many elements are no more than there are in rows, as far as a product of dimensions shows it that is taken for a length of its own. */
  isInRows(elements: Form, rows: Form, row: Form): boolean {
    return this.products.some(({ length, whole }) => {
      const all = this.inDims(whole);
      const own = this.inDims(product(rows, row));
      const [key = "", n = 0] = [...own][0] ?? [];
      const common = greatestCommon(Math.abs(n), all.get(key) ?? 0);
      if (n <= 0 || common === 0) return false;
      const [times, of] = [all.get(key)! / common, n / common];
      const isRatio = times > 0 && equal(scaled(all, of), scaled(own, times));
      return isRatio && isAtLeastZero(minus(scaled(length, of), scaled(elements, times)), this.box.ranges);
    });
  }

  /** Slots of a buffer of packets. */
  slotsIn(buffer: string): Form {
    return this.sized(buffer, ([slots]) => slots!);
  }

  private sized(buffer: string, of: (shape: readonly Extent[]) => Extent): Form {
    let size = this.sizes.get(buffer);
    if (size !== undefined) return size;
    const { kernel, expressions } = this.program;
    size = this.normal(this.of(expressions.extent(of(kernel.buffers.find((b) => b.name === buffer)!.shape))));
    this.sizes.set(buffer, size);
    return size;
  }

  /** Whether the kernel takes these lengths at all. */
  isAllowed(): boolean {
    const { kernel, expressions } = this.program;
    const { ranges } = this.box;
    for (const name of this.box.names.keys()) {
      const dims = dimsIn(name);
      // Of numbers that are no product where that is seen: of what has no elements.
      if (dims.length > 1 && isZero(this.dim(name), ranges) !== dims.some((d) => isZero(this.dim(d), ranges)))
        return false;
      const divisor = expressions.divisorOf(dims);
      if (
        dims.length > 1 &&
        divisor > 1 &&
        !isZero(this.of(expressions.apply("rem", this.product(dims), expressions.constant(divisor))), ranges)
      )
        return false;
    }
    return kernel.requirements.every(({ left, relation, right }) => {
      const holds = expressions.apply(relation, expressions.extent(left), expressions.extent(right));
      return constantOf(this.of(holds)) === 1;
    });
  }
}
