/**
 * What rounds touch, for all lengths: intervals of rows, of which each round has its own. Inside, all that is asked is asked here: that what
 * threads of a block touch in one phase does not meet, that it stays inside, and that what other rounds touch lies in other rows.
 * What is stored is not looked at.
 */
import { bufferOf, type Kernel, type Op } from "../../ir/module.js";
import { extentNames, productOf } from "../../types/extent.js";
import { isAtLeastZeroWhere, NoLengths } from "./bounds.js";
import { demand, NotShown } from "./conditions.js";
import type { Decisions } from "./choices.js";
import { type Expression, type Expressions, NotAffine, unlimited } from "./expressions.js";
import {
  type Box,
  boxOf,
  constant,
  constantOf,
  Digits,
  explore,
  factors,
  type Form,
  isConstant,
  keyOf,
  minus,
  ONE,
  parameter,
  plus,
  product,
  Undecided,
  ZERO,
} from "./forms.js";
import type { Movement } from "./pieces.js";
import { Phases } from "./phases.js";
import { type Division, type RowLoop, RowLoops } from "./row-loops.js";
import { WholeDigits } from "./rewritings.js";
import { RoundValues } from "./round-values.js";
import { type RoundTouch, RoundWay } from "./round-way.js";
import {
  accessesIn,
  isRound,
  isVariable,
  loopsIn,
  type RoundAccess,
  type RoundNode,
  type Rounds,
  rowsIn,
} from "./rounds.js";

/** Boxes of lengths and ways through rounds, at most. */
const MOST_WAYS = 3000;

/** What rounds touch of a buffer of rows: `row` elements for each row, from `base` on. */
export interface Slab {
  readonly base: Expression;
  readonly row: Expression;
}

/** A slab over the lengths of a box: its base, and what its first and its last row are in a round. */
export interface SlabAt {
  readonly start: Form;
  readonly end: Form;
}

/** What rounds touch, and what they do with elements; or why that is not known. */
interface Followed {
  readonly movements: readonly Movement[];
  readonly loop: RowLoop | NotShown;
}

export class Footprints {
  private readonly known = new Map<string, readonly Movement[]>();
  private readonly loops = new Map<Op, Map<string, RowLoop | NotShown>>();

  constructor(
    private readonly kernel: Kernel,
    private readonly expressions: Expressions,
  ) {}

  /** What rounds touch, as movements of which no values are known. @throws NotShown */
  of(rounds: Rounds): readonly Movement[] {
    const known = this.known.get(rounds.key);
    return known ?? this.look(rounds).movements;
  }

  /** What rounds do with the elements of rows. @throws NotShown */
  loopOf(rounds: Rounds): RowLoop {
    const loop = this.loops.get(rounds.op)?.get(loopKey(rounds)) ?? this.look(rounds).loop;
    if (loop instanceof NotShown) throw loop;
    return loop;
  }

  private look(rounds: Rounds): Followed {
    const found = this.withValues(rounds);
    this.known.set(rounds.key, found.movements);
    const loops = this.loops.get(rounds.op) ?? new Map<string, RowLoop | NotShown>();
    this.loops.set(rounds.op, loops.set(loopKey(rounds), found.loop));
    return found;
  }

  /** Nothing that is asked about values stands in the way of what is touched. */
  private withValues(rounds: Rounds): Followed {
    try {
      return this.followed(rounds, true);
    } catch (x) {
      if (!(x instanceof NotShown)) throw x;
      return this.followed(rounds, false);
    }
  }

  private followed(rounds: Rounds, withValues: boolean): Followed {
    const { nodes, span } = rounds;
    const division = divisionOf(nodes, this.expressions);
    if (division === null) throw new NotShown("blocks do not go through rows", span);
    const lying = new Map<string, Slab | null>();
    for (const access of accessesIn(nodes)) {
      const [known, slab] = [lying.get(access.buffer), this.slabOf(access, division)];
      // Rows begin where the least is said of where.
      if (known === undefined || (known !== null && slab !== null && sizeOf(slab.base) < sizeOf(known.base)))
        lying.set(access.buffer, slab);
    }
    const isInput = (buffer: string): boolean => bufferOf(this.kernel, buffer).role === "input";
    const slabs = new Map([...lying].map(([buffer, slab]) => [buffer, isInput(buffer) ? null : slab]));
    const loops = withValues ? new RowLoops(this.kernel, rounds, division, lying) : null;
    const seen = new Map<string, Movement>();
    const phases = new Phases(this.kernel, nodes);
    let left = MOST_WAYS;
    const look = (box: Box): void => {
      if (!this.isAllowed(box)) return;
      const orders = new Map<string, string>();
      const open: Decisions[] = [new Map()];
      for (let decisions = open.pop(); decisions !== undefined; decisions = open.pop()) {
        if (left-- <= 0) throw new NotShown("there are too many ways through a loop", span);
        const values = new RoundValues(box, decisions, (other) => open.push(other));
        whereLengthsAre(() => {
          const way = new RoundWay(this.kernel, nodes, values);
          if (way.round === null) {
            loops?.look(way, values, new Map(), orders);
            return;
          }
          const at = this.slabsAt(way, values, division, slabs);
          phases.check(way, box);
          // Most elements are touched by several ops.
          const inside = new Set<string>();
          for (const touch of way.touches) {
            const ends = `${touch.access.buffer} ${keyOf(touch.first)} ${keyOf(touch.last)}`;
            if (!inside.has(ends)) this.checkInside(touch, values, at);
            inside.add(ends);
            for (const [key, m] of this.movements(touch, slabs.get(touch.access.buffer)!, division)) seen.set(key, m);
          }
          loops?.look(way, values, at, orders);
        });
      }
    };
    try {
      if (!explore(boxOf(this.kernel.dims), MOST_WAYS, (box) => inWholeDigits(box, look)))
        throw new NotShown("there are too many ways through a loop", span);
    } catch (e) {
      if (e instanceof Undecided) throw new NotShown("lengths are compared in a way that is not followed", span);
      if (e instanceof NotAffine) throw new NotShown(`there is ${e.what}`, span);
      throw e;
    }
    phases.checkRounds();
    const movements = [...seen.values()];
    return { movements, loop: loops === null ? new NotShown("there are too many ways through a loop", span) : loopIn(loops) }; // prettier-ignore
  }

  /** Whether the kernel takes these lengths, as far as conditions on single dimensions say. */
  private isAllowed(box: Box): boolean {
    const values = new RoundValues(box, new Map(), () => undefined);
    const isOfOne = ({ left, right }: Kernel["requirements"][number]): boolean =>
      new Set([...extentNames(left), ...extentNames(right)]).size <= 1;
    return this.kernel.requirements.filter(isOfOne).every(({ left, relation, right }) => {
      const holds = this.expressions.apply(relation, this.expressions.extent(left), this.expressions.extent(right));
      return constantOf(values.of(holds)) === 1;
    });
  }

  // -- rows -----------------------------------------------------------------------------------------------------------

  /** Where an access would lie if each round had rows of its own: a guess, which is checked. Null of a block's own memory. */
  private slabOf({ buffer, index, span }: RoundAccess, { rows }: Division): Slab | null {
    const { role } = bufferOf(this.kernel, buffer);
    if (role === "shared") return null;
    if (index === null) throw new NotShown(`data decides where '${buffer}' is touched`, span);
    const { expressions } = this;
    const at = (row: number): Expression => withRow(index, row, rows, expressions, new Map());
    const [first, second] = [0, 1].map((row) => monomials(expanded(at(row)), expressions)) as [Form, Form];
    return { base: written(first, expressions), row: written(minus(second, first), expressions) };
  }

  /** Slabs as they are in the round that is looked at. */
  private slabsAt(
    { round }: RoundWay,
    values: RoundValues,
    { rows, all }: Division,
    slabs: ReadonlyMap<string, Slab | null>,
  ): ReadonlyMap<string, SlabAt | null> {
    const [each, total] = [values.of(rows), values.of(all)];
    if (!values.isAtLeastZero(minus(each, ONE))) throw new Undecided();
    const from = product(round!, each);
    const whole = plus(from, each);
    const to = values.isAtLeastZero(minus(total, whole)) ? whole : total;
    // So that rows of a later round lie behind.
    if (!values.isAtLeastZero(minus(minus(to, from), ONE))) throw new Undecided();
    return new Map(
      [...slabs].map(([buffer, slab]) => {
        if (slab === null) return [buffer, null];
        const [base, row] = [values.of(slab.base), values.of(slab.row)];
        return [buffer, { start: plus(base, product(from, row)), end: plus(base, product(to, row)) }];
      }),
    );
  }

  private checkInside(
    { access, first, last }: RoundTouch,
    values: RoundValues,
    slabs: ReadonlyMap<string, SlabAt | null>,
  ): void {
    const { ranges } = values.box;
    const { buffer, span } = access;
    const slab = slabs.get(buffer)!;
    const size = values.of(this.expressions.extent(productOf(bufferOf(this.kernel, buffer).shape)));
    const [from, to] = slab === null ? [ZERO, size] : [slab.start, slab.end];
    const isLeft = (f: Form): boolean => isAtLeastZeroWhere(f, values.facts, ranges);
    const isWithin = isLeft(minus(first, from)) && isLeft(minus(minus(to, last), ONE));
    if (slab === null) demand("inside", isWithin, `an index may leave '${buffer}'`, span);
    else demand("own rows", isWithin, `a round may touch rows of '${buffer}' that are another round's`, span);
  }

  /** What an access touches in all rounds together, by a text for equal ones. */
  private movements(
    { access, owner }: RoundTouch,
    slab: Slab | null,
    { rows, all }: Division,
  ): (readonly [string, Movement])[] {
    const { isStored, span } = access;
    const { role } = bufferOf(this.kernel, access.buffer);
    // Shared buffers may lie over each other: between one op and another they are one.
    const { name: buffer, shape } =
      role === "shared" ? this.kernel.buffers.find((b) => b.role === "shared")! : bufferOf(this.kernel, access.buffer);
    const { expressions } = this;
    const owners = typeof owner === "number" ? [owner] : Array.from({ length: owner.of }, (_, rank) => rank);
    // As other lengths of dimensions are written.
    const total = unlimited(all, expressions) ?? all;
    const size = slab === null ? expressions.extent(productOf(shape)) : expressions.apply("mul", total, slab.row);
    const base = slab === null ? ZERO : parameter(`@${slab.base.id}`);
    const taken = slab === null ? null : { rows: `${rows.id} * ${slab.row.id}`, from: base };
    return owners.map((of) => [
      `${buffer} ${of} ${isStored} ${slab?.base.id} ${size.id}`,
      {
        buffer,
        owner: of,
        base,
        length: size.kind === "constant" ? { constant: size.value } : { root: size.id },
        text: "rounds",
        sources: [],
        rows: 0,
        takers: [role === "shared" ? "own" : taken],
        covered: [],
        aligned: [],
        divisors: [],
        turns: [],
        isFootprint: isStored ? "stored" : "read",
        span,
      },
    ]);
  }
}

function loopKey({ key, lengths }: Rounds): string {
  return `${key} of ${lengths}`;
}

function loopIn(loops: RowLoops): RowLoop | NotShown {
  try {
    return loops.loop();
  } catch (x) {
    if (x instanceof NotShown) return x;
    throw x;
  }
}

/** An expression as a polynomial in what is no sum and no product. */
function expanded(e: Expression): Form {
  if (e.kind === "constant") return constant(e.value);
  if (e.kind === "apply" && (e.fn === "add" || e.fn === "sub" || e.fn === "mul")) {
    const [a, b] = e.of.map(expanded) as [Form, Form];
    return e.fn === "mul" ? product(a, b) : plus(a, b, e.fn === "add" ? 1 : -1);
  }
  return parameter(`@${e.id}`);
}

/** With one parameter for each product, however it is written. */
function monomials(f: Form, expressions: Expressions): Form {
  return [...f].reduce<Form>((sum, [key, n]) => {
    const all = factors(key).map((name) => expressions.numbered(Number(name.slice(1))));
    const product = all.reduce((a, b) => expressions.apply("mul", a, b), expressions.constant(1));
    return plus(sum, product.kind === "constant" ? constant(product.value) : parameter(`@${product.id}`), n);
  }, ZERO);
}

/** And back: equal polynomials are one expression. */
function written(f: Form, expressions: Expressions): Expression {
  const terms = [...f].sort(([a], [b]) => (a < b ? -1 : 1));
  return terms.reduce<Expression>((sum, [key, n]) => {
    const term = key === "" ? expressions.constant(1) : expressions.numbered(Number(key.slice(1)));
    return expressions.apply("add", sum, expressions.apply("mul", term, expressions.constant(n)));
  }, expressions.constant(0));
}

/** How much an expression says. */
function sizeOf(e: Expression): number {
  return e.kind === "apply" ? e.of.reduce((n, x) => n + sizeOf(x), 1) : 1;
}

/** Looks at a way that there are lengths for. What says that there are none may hold on this way alone. */
function whereLengthsAre(look: () => void): void {
  try {
    look();
  } catch (e) {
    if (!(e instanceof NoLengths)) throw e;
  }
}

/** Digits are each from 0 on: from a limit on, those of one digit would go through two of the next. */
function inWholeDigits(box: Box, look: (box: Box) => void): void {
  try {
    look(box);
  } catch (e) {
    if (!(e instanceof Digits) || !isConstant(e.base)) throw e;
    throw new WholeDigits(e.name, constantOf(e.base));
  }
}

/** How the loops over blocks divide rows: in rounds of several; or each round has one. A guess, which is checked. */
function divisionOf(nodes: readonly RoundNode[], expressions: Expressions): Division | null {
  const ends = loopsIn(nodes).flatMap((l) => (l.map === "blocks" && l.high !== null ? [l.high] : []));
  const [several] = ends.flatMap((high) => rowsIn(high) ?? []);
  if (several !== undefined) return several;
  return ends[0] === undefined ? null : { rows: expressions.constant(1), all: ends[0] };
}

/** An index for one row and the first iteration of all loops. Rows are what a round counts, or that times the rows of each. */
function withRow(
  e: Expression,
  row: number,
  rows: Expression,
  expressions: Expressions,
  known: Map<Expression, Expression>,
): Expression {
  let made = known.get(e);
  if (made !== undefined) return made;
  const isRows = e.kind === "apply" && e.fn === "mul" && e.of.includes(rows) && e.of.some(isRound);
  if (isRows || isRound(e)) made = expressions.constant(row);
  else if (isVariable(e)) made = expressions.constant(0);
  else if (e.kind !== "apply") made = e;
  else {
    const of = e.of.map((x) => withRow(x, row, rows, expressions, known));
    const isNone = (e.fn === "div" || e.fn === "rem") && of[0]?.kind === "constant" && of[0].value === 0;
    made = isNone ? expressions.constant(0) : expressions.apply(e.fn, ...of);
  }
  known.set(e, made);
  return made;
}
