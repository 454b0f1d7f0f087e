/**
 * What the machine may do that the mathematics of a proof does not: results that are too large, divisors that are 0, roots of
 * negative numbers. Each is an obligation, and shown to hold by intervals where it can be: inputs lie where the signature and
 * their dtypes say, and every value where the operations take them. What is left has a place in the source.
 *
 * One walk looks at all ranks, all iterations and all data, for dimensions between two lengths. A buffer has one interval, of
 * all that was stored so far: ranks go in step, since what a race-free program loads is the same in every schedule, and
 * where authors signal by hand the walk is repeated until nothing changes. Loops of known length are gone through turn by turn, others until nothing changes.
 */
import { REDUCE } from "../ir/functions.js";
import { bufferOf, type Kernel, type Op, type Region, text, type Value } from "../ir/module.js";
import type { Comparison, Reduction } from "../ir/ops.js";
import { scalarOf } from "../ir/types.js";
import { walkKernel } from "../ir/visit.js";
import type { Span } from "../source.js";
import { type DType, isDType, isFloat, type ScalarKind } from "../types/dtype.js";
import type { Extent, ExtentOp } from "../types/extent.js";
import { evaluate, type Known, type ObligationKind, taken, times } from "./interval-arithmetic.js";
import {
  allOf,
  fits,
  greatest,
  hull,
  type Interval,
  interval,
  least,
  MOST_INDEX,
  negative,
  overlap,
  product,
  quotient,
  rising,
  rounded,
  sum,
  UNLIMITED,
  within,
} from "./intervals.js";

export type { ObligationKind };

/** Something that nothing shows. */
export interface Obligation {
  readonly kind: ObligationKind;
  /** What has to fit; of others, the dtype that is computed in. */
  readonly dtype: DType;
  readonly span: Span;
}

/** The least and the greatest length of each dimension; one that is missing may have any. */
export type Lengths = Readonly<Record<string, readonly [number, number]>>;

/** The obligations of a kernel that intervals do not show, each once, in the order of the source. */
export function openObligations(kernel: Kernel, lengths: Lengths): Obligation[] {
  const walk = new Walk(kernel, lengths);
  walk.run();
  return [...walk.open.values()].sort((a, b) => a.span.start - b.span.start);
}

/** Turns of a loop of known length that are gone through one by one. */
const MOST_TURNS = 64;

/** Ops that are looked at altogether; past it, loops are gone through until nothing changes. */
const MOST_OPS = 200_000;

/** Rounds in which intervals may grow step by step; then their ends go to infinity. */
const PATIENT = 3;

class Walk {
  readonly open = new Map<string, Obligation>();
  private readonly values = new Map<Value, Known>();
  private readonly memory = new Map<string, { at: Interval; wraps: Op | null }>();
  private readonly numbers = new Map<string, number>();
  /** Of values by their numbers: what the conditions around say of them. */
  private readonly facts = new Map<number, Interval>();
  /** What makes values of indices alone. */
  private readonly ofIndices = new Map<Value, Op>();
  private changes = 0;
  private ops = 0;
  /** How often the loop at hand went round already. */
  private round = 0;

  constructor(
    private readonly kernel: Kernel,
    private readonly lengths: Lengths,
  ) {}

  run(): void {
    let isOutOfStep = this.kernel.level === "device";
    walkKernel(this.kernel, ({ name }) => void (isOutOfStep ||= name === "notify" || name === "await"));
    if (isOutOfStep) this.untilStable(() => this.region(this.kernel.body));
    else this.region(this.kernel.body);
  }

  private untilStable(body: () => void): void {
    const outer = this.round;
    for (this.round = 0; ; this.round++) {
      const before = this.changes;
      body();
      if (this.changes === before) break;
    }
    this.round = outer;
  }

  // -- values -------------------------------------------------------------------------------------------------------

  private of(v: Value): Known {
    const known = this.values.get(v) ?? { at: this.everything(v), number: -1, wraps: null };
    if (this.facts.size === 0) return known;
    const fact = this.facts.get(known.number);
    const made = this.ofIndices.get(v);
    const at = fact === undefined ? known.at : overlap(known.at, fact);
    if (made === undefined) return { ...known, at };
    // What was made of a length before it was known to be greater than 0.
    const operands = made.operands.map((o) => this.of(o));
    return { ...known, at: overlap(at, evaluate(made, operands, () => {}).at) };
  }

  private everything(v: Value): Interval {
    return v.type.kind === "tensor" ? UNLIMITED : allOf(scalarOf(v.type));
  }

  private define(op: Op, at: Interval, wraps: Op | null = null, isPure = true): void {
    const [result] = op.results;
    if (result === undefined) return;
    const operands = op.operands.map((v) => this.of(v).number);
    const isNumbered = isPure && !operands.includes(-1);
    const number = isNumbered ? this.numberOf(`${op.name} ${JSON.stringify(op.attributes)} ${scalarOf(result.type)} ${operands.join()}`) : this.fresh(); // prettier-ignore
    this.values.set(result, { at, number, wraps });
  }

  private numberOf(key: string): number {
    let number = this.numbers.get(key);
    if (number === undefined) this.numbers.set(key, (number = this.numbers.size));
    return number;
  }

  private fresh(): number {
    return this.numberOf(`new ${this.numbers.size}`);
  }

  private readonly note = (kind: ObligationKind, dtype: ScalarKind, op: Op): void => {
    if (!isDType(dtype)) return;
    const key = `${kind} ${dtype} ${op.span.start}-${op.span.end}`;
    if (!this.open.has(key)) this.open.set(key, { kind, dtype, span: op.span });
  };

  // -- regions ------------------------------------------------------------------------------------------------------

  private region({ ops }: Region): void {
    for (const op of ops) {
      this.ops++;
      this.op(op);
    }
  }

  private op(op: Op): void {
    switch (op.name) {
      case "for":
        return this.loop(op);
      case "if":
        return this.branch(op);
      case "reduce":
      case "contract":
        return this.reduction(op);
      case "load":
        return this.load(op);
      case "store":
        return this.store(op);
      case "unary":
      case "binary":
      case "compare":
      case "select":
      case "cast":
        // Vectors have the intervals of all their lanes.
        return this.scalar(op);
      default:
        return this.other(op);
    }
  }

  private other(op: Op): void {
    const { world } = this.kernel;
    switch (op.name) {
      case "const": {
        const value = op.attributes["value"] as number;
        return this.define(op, interval(value, value));
      }
      case "dim":
        return this.define(op, this.lengthOf(text(op, "name")));
      case "rank":
        return this.define(op, interval(0, world - 1));
      case "launch_parity":
        return this.define(op, interval(0, 1));
      case "block":
        return this.define(op, interval(0, MOST_INDEX));
      case "grid":
        return this.define(op, interval(1, MOST_INDEX));
      case "splat":
      case "lane": {
        const { at, wraps } = this.of(op.operands[0]!);
        return this.define(op, at, wraps);
      }
      default:
        if (op.results[0] !== undefined) this.define(op, this.everything(op.results[0]), null, false);
        for (const region of op.regions) this.region(region);
        this.unknownStore(op);
    }
  }

  /** What other ops write may be anything. */
  private unknownStore(op: Op): void {
    if (op.name === "copy_tile")
      this.remember(text(op, "to"), allOf(bufferOf(this.kernel, text(op, "to")).dtype), null);
    if (op.name === "mma") this.note("overflow", "f32", op);
  }

  /** Goes through a loop: turn by turn, once where turns do not see each other's elements, or until nothing changes. */
  private loop(op: Op): void {
    const [body] = op.regions as readonly [Region];
    const ends = op.operands.map((v) => this.of(v));
    const pairs = body.arguments.map((v, d) => ({ v, lo: ends[2 * d]!, hi: ends[2 * d + 1]! }));
    if (pairs.some(({ lo, hi }) => hi.at.hi <= lo.at.lo)) return;
    const bind = (v: Value, at: Interval): void => void this.values.set(v, { at, number: this.fresh(), wraps: null });
    const bindAll = (): void =>
      pairs.forEach(({ v, lo, hi }) => bind(v, interval(lo.at.lo, Math.max(lo.at.lo, hi.at.hi - 1))));
    // Where the body runs, each range has an index.
    this.assuming(
      pairs.map(({ lo, hi }) => [hi.number, interval(lo.at.lo + 1, Infinity)]),
      () => {
        const map = op.attributes["map"];
        const turns = pairs.reduce((n, { lo, hi }) => n * (hi.at.hi - lo.at.lo), 1);
        const isApart = map === "tiles" || map === "rows";
        if (isApart) {
          bindAll();
          this.region(body);
        } else if (pairs.length === 1 && turns <= MOST_TURNS && this.ops < MOST_OPS) {
          const [{ v, lo, hi }] = pairs as [(typeof pairs)[0]];
          for (let k = 0; k < turns; k++) {
            // Ranks come in any order.
            if (map === "serial" && op.attributes["unordered"] !== true)
              bind(v, interval(lo.at.lo + k, Math.min(lo.at.hi + k, Math.max(lo.at.lo + k, hi.at.hi - 1))));
            else bindAll();
            this.region(body);
          }
        } else
          this.untilStable(() => {
            bindAll();
            this.region(body);
          });
      },
    );
  }

  private branch(op: Op): void {
    const condition = this.of(op.operands[0]!);
    const [yes, no] = op.regions as readonly [Region, Region];
    const fact = this.conditions.get(condition.number);
    if (condition.at.hi > 0) this.assuming(fact?.yes ?? [], () => this.region(yes));
    if (condition.at.lo < 1) this.assuming(fact?.no ?? [], () => this.region(no));
  }

  /** What comparisons say, by their numbers. */
  private readonly conditions = new Map<number, { readonly yes: Fact[]; readonly no: Fact[] }>();

  private assuming(facts: readonly Fact[], body: () => void): void {
    const before = facts.map(([number]) => [number, this.facts.get(number)] as const);
    for (const [number, at] of facts) {
      if (number < 0) continue;
      const known = this.facts.get(number);
      this.facts.set(number, known === undefined ? at : overlap(known, at));
    }
    body();
    for (const [number, at] of before.reverse())
      if (at === undefined) this.facts.delete(number);
      else this.facts.set(number, at);
  }

  private reduction(op: Op): void {
    const [body] = op.regions as readonly [Region];
    const [from, to] = op.operands.map((v) => this.of(v)) as [Known, Known];
    const kind = scalarOf(op.results[0]!.type);
    const fn = op.name === "contract" ? "sum" : (op.attributes["fn"] as Reduction);
    const most = Math.max(0, to.at.hi - from.at.lo);
    const fewest = Math.max(0, to.at.lo - from.at.hi);
    const nothing = interval(REDUCE[fn].identity(kind), REDUCE[fn].identity(kind));
    if (most === 0) return this.define(op, nothing);
    let term: Known | null = null;
    this.assuming([[to.number, interval(from.at.lo + 1, Infinity)]], () => {
      const index = interval(from.at.lo, Math.max(from.at.lo, to.at.hi - 1));
      this.values.set(body.arguments[0]!, { at: index, number: this.fresh(), wraps: null });
      this.region(body);
      const yielded = body.ops.at(-1)!.operands.map((v) => this.of(v));
      term =
        yielded.length === 1
          ? yielded[0]!
          : {
              at: times(yielded[0]!, yielded[1]!),
              number: -1,
              wraps: yielded.find((y) => y.wraps)?.wraps ?? null,
            };
    });
    const { at, wraps } = term!;
    if (fn === "min" || fn === "max") {
      taken(term!, this.note);
      return this.define(op, fewest > 0 ? at : hull(at, nothing), null, false);
    }
    const whole = fn === "sum" ? total(at, fewest, most) : power(at, fewest, most);
    if (isFloat(kind)) {
      // What is added in another order, or in parts, is no larger than all of one sign.
      const parts = fn === "sum" ? hull(whole, interval(Math.min(0, most * at.lo), Math.max(0, most * at.hi))) : whole;
      const times = Math.min(most, 2 ** 20);
      if (!fits(most > times ? UNLIMITED : rounded(parts, "f32", times), "f32")) this.note("overflow", "f32", op);
      const ends = most > times ? UNLIMITED : rounded(whole, "f32", times);
      // Sums of what is never negative are as large as one term.
      const safe = at.lo >= 0 && fn === "sum" && fewest > 0 ? overlap(ends, interval(at.lo, Infinity)) : ends;
      return this.define(op, within({ ...safe, isNotZero: whole.isNotZero }, "f32"), null, false);
    }
    if (fits(whole, kind)) return this.define(op, whole, wraps, false);
    this.define(op, allOf(kind), kind === "index" ? null : (wraps ?? op), false);
  }

  // -- memory -------------------------------------------------------------------------------------------------------

  private load(op: Op): void {
    const name = text(op, "buffer");
    const { role, dtype } = bufferOf(this.kernel, name);
    if (role === "input") return this.define(op, this.input(name, dtype));
    const held = this.memory.get(name);
    this.define(op, held?.at ?? allOf(dtype), held?.wraps ?? null, false);
  }

  private input(name: string, dtype: DType): Interval {
    const values = this.kernel.inputs.find((t) => t.name === name)?.values;
    const all = allOf(dtype);
    if (values === undefined) return all;
    const [from, to] = [this.extent(values.from), this.extent(values.to)];
    const most = isFloat(dtype) ? to.hi : to.hi - 1;
    return overlap(all, interval(from.lo, Math.max(from.lo, most)));
  }

  private store(op: Op): void {
    const { at, wraps } = this.of(op.operands[0]!);
    this.remember(text(op, "buffer"), at, wraps);
  }

  private remember(name: string, at: Interval, wraps: Op | null): void {
    const held = this.memory.get(name);
    if (held === undefined) {
      this.memory.set(name, { at, wraps });
      this.changes++;
      return;
    }
    let next = hull(held.at, at);
    if (same(next, held.at) && (held.wraps !== null || wraps === null)) return;
    this.changes++;
    if (this.round >= PATIENT) {
      const [lo, hi] = [next.lo < held.at.lo ? -Infinity : next.lo, next.hi > held.at.hi ? Infinity : next.hi];
      next = within(interval(lo, hi, next.isNotZero), bufferOf(this.kernel, name).dtype);
    }
    this.memory.set(name, { at: next, wraps: held.wraps ?? wraps });
  }

  private lengthOf(name: string): Interval {
    const length = this.lengths[name];
    return length === undefined ? interval(0, MOST_INDEX) : interval(...length);
  }

  private extent(e: Extent): Interval {
    if (typeof e === "number") return interval(e, e);
    if (typeof e === "string") return this.lengthOf(e);
    return EXTENTS[e.op](this.extent(e.a), this.extent(e.b));
  }

  // -- arithmetic ---------------------------------------------------------------------------------------------------

  private scalar(op: Op): void {
    const operands = op.operands.map((v) => this.of(v));
    const { at, wraps } = evaluate(op, operands, this.note);
    this.define(op, at, wraps);
    if ((op.name === "cast" || op.name === "binary") && scalarOf(op.operands[0]!.type) === "index")
      this.ofIndices.set(op.results[0]!, op);
    if (op.name === "compare") this.compare(op, operands[0]!, operands[1]!);
  }

  /** Notes what a comparison says of its sides. */
  private compare(op: Op, a: Known, b: Known): void {
    const fn = op.attributes["fn"] as Comparison;
    // Next to a limit, integers are one apart and floats are not.
    const step = isFloat(scalarOf(op.operands[0]!.type)) ? 0 : 1;
    const facts = (f: Comparison): Fact[] => [
      [a.number, limited(f, b.at, step)],
      [b.number, limited(SWAPPED[f], a.at, step)],
    ];
    this.conditions.set(this.of(op.results[0]!).number, { yes: facts(fn), no: facts(OPPOSITE[fn]) });
  }
}

type Fact = readonly [number: number, at: Interval];

const same = (a: Interval, b: Interval): boolean => a.lo === b.lo && a.hi === b.hi && a.isNotZero === b.isNotZero;

/** A sum of so many terms. */
function total({ lo, hi, isNotZero }: Interval, fewest: number, most: number): Interval {
  const times = (n: number, x: number): number => (n === 0 || x === 0 ? 0 : n * x);
  return interval(
    lo >= 0 ? times(fewest, lo) : times(most, lo),
    hi >= 0 ? times(most, hi) : times(fewest, hi),
    fewest > 0 && ((lo >= 0 && isNotZero) || lo > 0),
  );
}

/** A product of so many factors. */
function power(x: Interval, fewest: number, most: number): Interval {
  if (Math.max(-x.lo, x.hi) <= 1) return x.lo >= 0 ? interval(0, 1) : interval(-1, 1);
  if (most > MOST_TURNS) return UNLIMITED;
  let all = interval(1, 1);
  let result: Interval | null = fewest === 0 ? all : null;
  for (let k = 1; k <= most; k++) {
    all = product(all, x);
    if (k >= fewest) result = result === null ? all : hull(result, all);
  }
  return result!;
}

const OPPOSITE: Readonly<Record<Comparison, Comparison>> = {
  eq: "ne",
  ne: "eq",
  lt: "ge",
  ge: "lt",
  gt: "le",
  le: "gt",
};

const SWAPPED: Readonly<Record<Comparison, Comparison>> = {
  eq: "eq",
  ne: "ne",
  lt: "gt",
  gt: "lt",
  le: "ge",
  ge: "le",
};

/** Where x lies if `x fn y`. */
function limited(fn: Comparison, y: Interval, step: number): Interval {
  switch (fn) {
    case "eq":
      return y;
    case "ne":
      return interval(-Infinity, Infinity, y.lo === 0 && y.hi === 0);
    case "lt":
      return interval(-Infinity, y.hi - step, y.hi <= 0);
    case "le":
      return interval(-Infinity, y.hi, y.hi < 0);
    case "gt":
      return interval(y.lo + step, Infinity, y.lo >= 0);
    case "ge":
      return interval(y.lo, Infinity, y.lo > 0);
  }
}

/** Of lengths, which are never negative. */
const EXTENTS: Readonly<Record<ExtentOp, (a: Interval, b: Interval) => Interval>> = {
  add: sum,
  sub: (a, b) => sum(a, negative(b)),
  mul: product,
  div: (a, b) => (b.lo < 1 ? UNLIMITED : rising(quotient(a, b, 1), Math.floor)),
  ceildiv: (a, b) => (b.lo < 1 ? UNLIMITED : rising(quotient(a, b, 1), Math.ceil)),
  mod: (a, b) => (b.lo < 1 ? UNLIMITED : interval(0, b.hi - 1)),
  min: least,
  max: greatest,
};
