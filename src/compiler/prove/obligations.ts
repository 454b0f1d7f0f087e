/**
 * What the machine may do that the mathematics of a proof does not: results that are too large, divisors that are 0, roots of
 * negative numbers. Each is an obligation, and shown to hold by intervals where it can be: inputs lie where the signature and
 * their dtypes say, and every value where the operations take them. What is left has a place in the source.
 *
 * One walk looks at all ranks, all iterations and all data, for dimensions between two lengths. A buffer has one interval, of
 * all that was stored so far: ranks go in step, since what a race-free program loads is the same in every schedule, and
 * where authors signal by hand the walk is repeated until nothing changes. Loops of known length are gone through iteration by iteration, others until nothing changes.
 */
import { REDUCE } from "../ir/functions.js";
import { bufferOf, type Kernel, type Op, type Region, text, type Value } from "../ir/module.js";
import { type Comparison, definitionOf, type Reduction } from "../ir/ops.js";
import { scalarOf } from "../ir/types.js";
import { walkKernel } from "../ir/visit.js";
import type { Span } from "../source.js";
import { type DType, isDType, isFloat, type ScalarKind } from "../types/dtype.js";
import { either, type Exactness, grainOf, ofSum } from "./exactness.js";
import { Comparisons } from "./comparisons.js";
import {
  evaluate,
  isTruth,
  type Known,
  KNOWN_ZERO,
  type ObligationKind,
  raised,
  taken,
  times,
  total,
} from "./interval-arithmetic.js";
import { KnownMemory, type Lengths } from "./known-memory.js";
import { everything, KnownValues } from "./known-values.js";
import { aboveOf, belowGreatest, overAll, sameAs, summed, type Within } from "./maxima.js";
import {
  allOf,
  fits,
  hull,
  type Interval,
  interval,
  MOST_INDEX,
  overlap,
  rounded,
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
  /** Whether elements of inputs are in it, or numbers of the launch; asked of comparisons alone. */
  readonly isOfData: boolean;
  /** Why it deserves a warning: a result may be another one, not only less exact. */
  readonly warns: Warns | null;
}

export type Warns =
  /** A whole number that a float may not hold, and that is made a whole number again. */
  | "whole"
  /** A sum, a difference or a product of whole numbers that a float may not hold, and that is made a whole number again. */
  | "computed"
  /** A whole number of 64 bits that is made narrower, and then taken for what it was. */
  | "narrowed"
  /** A comparison of what may have been rounded. */
  | "compared";

export type { Lengths };

/**
 * The obligations of a kernel that intervals do not show, each once, in the order of the source.
 * @param isClaim whether it is a claim (`claimedKernel`), whose floats are those of mathematics but where they are cast
 */
export function openObligations(kernel: Kernel, lengths: Lengths, isClaim = false): Obligation[] {
  const walk = new Walk(kernel, lengths, isClaim);
  walk.run();
  return [...walk.open.values()].sort((a, b) => a.span.start - b.span.start);
}

/** Iterations of a loop of known length that are gone through one by one. */
const MOST_ITERATIONS = 64;

/** Ops that are looked at altogether; past it, loops are gone through until nothing changes. */
const MOST_OPS = 200_000;

/** Rounds in which intervals may grow step by step; then their ends go to infinity. */
const PATIENT = 3;

class Walk {
  readonly open = new Map<string, Obligation>();
  private readonly values: KnownValues;
  private readonly memory: KnownMemory;
  private readonly comparisons: Comparisons;
  private ops = 0;
  /** How often the loop at hand went round already. */
  private round = 0;

  constructor(
    private readonly kernel: Kernel,
    lengths: Lengths,
    private readonly isClaim: boolean,
  ) {
    this.values = new KnownValues(kernel.world);
    this.memory = new KnownMemory(kernel, lengths, this.values);
    this.comparisons = new Comparisons(kernel, (v) => this.of(v));
  }

  run(): void {
    let isOutOfStep = this.kernel.level === "device";
    walkKernel(this.kernel, ({ name }) => void (isOutOfStep ||= name === "notify" || name === "await"));
    if (isOutOfStep) this.untilStable(() => this.region(this.kernel.body));
    else this.region(this.kernel.body);
  }

  private untilStable(body: () => void): void {
    const outer = this.round;
    for (this.round = 0; ; this.round++) {
      const before = this.memory.changes;
      this.memory.isPatient = this.round < PATIENT;
      body();
      if (this.memory.changes === before) break;
    }
    this.round = outer;
    this.memory.isPatient = outer < PATIENT;
  }

  private of(v: Value): Known {
    return this.values.of(v);
  }

  private define(
    op: Op,
    at: Interval,
    wraps: Op | null = null,
    isPure = true,
    more: Partial<Omit<Known, "at" | "number" | "wraps">> = {},
  ): void {
    this.values.define(op, { ...more, at, wraps }, isPure);
  }

  private readonly note = (kind: ObligationKind, dtype: ScalarKind, op: Op): void => {
    if (!isDType(dtype) || (this.isClaim && kind === "overflow" && isFloat(dtype) && op.name !== "cast")) return;
    const key = `${kind} ${dtype} ${op.span.start}-${op.span.end}`;
    const isOfData = kind !== "comparison" || this.comparisons.isOfData(op);
    if (!this.open.has(key))
      this.open.set(key, { kind, dtype, span: op.span, isOfData, warns: this.warningOf(kind, op) });
  };

  private warningOf(kind: ObligationKind, op: Op): Warns | null {
    if (kind === "comparison") return "compared";
    if (kind === "exactness" && this.isOfWholeNumbers(op)) return op.name === "cast" ? "whole" : "computed";
    if (kind === "exactness") return null;
    return kind === "overflow" && op.name === "cast" && scalarOf(op.operands[0]!.type) === "i64" ? "narrowed" : null;
  }

  /** Whether a cast to a float, a sum, a difference or a product is of whole numbers: integers, or floats that are whole and exact. */
  private isOfWholeNumbers({ name, operands, attributes, regions }: Op): boolean {
    const isWhole = (v: Value): boolean => {
      const { grain, inexact } = this.of(v);
      return !isFloat(scalarOf(v.type)) || (inexact === null && grain >= 1);
    };
    const { fn } = attributes;
    if (name === "cast") return isWhole(operands[0]!);
    if (name === "binary") return (fn === "add" || fn === "sub" || fn === "mul") && operands.every(isWhole);
    const isSum = name === "contract" || (name === "reduce" && (fn === "sum" || fn === "prod"));
    return isSum && regions[0]!.ops.at(-1)!.operands.every(isWhole);
  }

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
        return this.memory.load(op);
      case "store":
        return this.memory.store(op);
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
        // Of floats, what is too small for f32 is 0.
        const at = Math.fround(value) === 0 ? 0 : value;
        return this.define(op, interval(at, at), null, true, { grain: grainOf(at), inexact: null });
      }
      case "dim":
        return this.define(op, this.memory.lengthOf(text(op, "name")));
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
        const { at, wraps, grain, inexact, holds } = this.of(op.operands[0]!);
        return this.define(op, at, wraps, true, { grain, inexact, holds });
      }
      default:
        if (op.results[0] !== undefined) this.define(op, everything(op.results[0]), null, false);
        if (definitionOf(op.name).effect !== "pure") this.memory.mayChange();
        for (const region of op.regions) this.region(region);
        if (op.regions.length > 0) this.memory.mayChange();
        this.unknownStore(op);
    }
  }

  /** What other ops write may be anything. */
  private unknownStore(op: Op): void {
    if (op.name === "copy_tile")
      this.memory.remember(text(op, "to"), allOf(bufferOf(this.kernel, text(op, "to")).dtype), null);
    if (op.name === "mma") this.note("overflow", bufferOf(this.kernel, text(op, "accumulator")).dtype, op);
  }

  /** Goes through a loop: iteration by iteration, once where iterations do not see each other's elements, or until nothing changes. */
  private loop(op: Op): void {
    const [body] = op.regions as readonly [Region];
    const ends = op.operands.map((v) => this.of(v));
    const pairs = body.arguments.map((v, d) => ({ v, lo: ends[2 * d]!, hi: ends[2 * d + 1]! }));
    if (pairs.some(({ lo, hi }) => hi.at.hi <= lo.at.lo)) return;
    const bindAll = (): void =>
      pairs.forEach(({ v, lo, hi }) =>
        this.values.bind(v, {
          at: interval(lo.at.lo, Math.max(lo.at.lo, hi.at.hi - 1)),
          within: { from: lo, to: hi },
        }),
      );
    // An iteration may find what one before it has stored.
    const each = (): void => {
      this.memory.mayChange();
      this.region(body);
    };
    // Where the body runs, each range has an index.
    this.values.assuming(
      pairs.map(({ lo, hi }) => [hi.number, interval(lo.at.lo + 1, Infinity)]),
      () => {
        const map = op.attributes["map"];
        const iterations = pairs.reduce((n, { lo, hi }) => n * (hi.at.hi - lo.at.lo), 1);
        const isApart = map === "tiles" || map === "rows";
        if (isApart) {
          bindAll();
          each();
        } else if (pairs.length === 1 && iterations <= MOST_ITERATIONS && this.ops < MOST_OPS) {
          const [{ v, lo, hi }] = pairs as [(typeof pairs)[0]];
          // Ranks come in any order.
          const isOrdered = map === "serial" && op.attributes["unordered"] !== true;
          for (let k = 0; k < iterations; k++) {
            const before = this.memory.changes;
            if (isOrdered)
              this.values.bind(v, {
                at: interval(lo.at.lo + k, Math.min(lo.at.hi + k, Math.max(lo.at.lo + k, hi.at.hi - 1))),
              });
            else bindAll();
            each();
            if (!isOrdered && this.memory.changes === before) break;
          }
        } else
          this.untilStable(() => {
            bindAll();
            each();
          });
      },
    );
  }

  private branch(op: Op): void {
    const condition = this.of(op.operands[0]!);
    const [yes, no] = op.regions as readonly [Region, Region];
    const { values } = this;
    if (condition.at.hi > 0) values.assuming(values.follows(condition, true), () => this.region(yes));
    if (condition.at.lo < 1) values.assuming(values.follows(condition, false), () => this.region(no));
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
    const [variable] = body.arguments as [Value];
    let term: Known | null = null;
    this.values.assuming([[to.number, interval(from.at.lo + 1, Infinity)]], () => {
      const index = interval(from.at.lo, Math.max(from.at.lo, to.at.hi - 1));
      this.values.bind(variable, { at: index, within: { from, to } });
      this.region(body);
      const yielded = body.ops.at(-1)!.operands.map((v) => this.of(v));
      term =
        yielded.length === 1
          ? yielded[0]!
          : yielded.slice(1).reduce((product, y) => ({
              ...either(product, y),
              at: times(product, y),
              number: -1,
              wraps: product.wraps ?? y.wraps,
            }), yielded[0]!); // prettier-ignore
    });
    const { at, wraps, greatest, peak } = term! as Known;
    const { number } = this.of(variable);
    if (fn === "min" || fn === "max") {
      taken(term!, this.note);
      const { grain, inexact, holds } = term! as Known;
      const of = fn === "max" ? overAll(greatest, number, { from, to }) : undefined;
      return this.define(op, fewest > 0 ? at : hull(at, nothing), null, false, { grain, inexact, holds, greatest: of });
    }
    const whole = fn === "sum" ? total(at, fewest, most) : raised(at, fewest, most);
    if (isFloat(kind)) {
      // What is added in another order, or in parts, is no larger than all of one sign.
      const parts = fn === "sum" ? hull(whole, interval(Math.min(0, most * at.lo), Math.max(0, most * at.hi))) : whole;
      const times = Math.min(most, 2 ** 20);
      if (!fits(most > times ? UNLIMITED : rounded(parts, "f32", times), "f32")) this.note("overflow", "f32", op);
      // However many are added, the sum of what is never negative is not.
      const signed = fn === "sum" ? interval(at.lo >= 0 ? 0 : -Infinity, at.hi <= 0 ? 0 : Infinity) : UNLIMITED;
      const ends = most > times ? signed : rounded(whole, "f32", times);
      // Sums of what is never negative are as large as one term.
      const top = at.lo >= 0 && fn === "sum" && fewest > 0 ? summed(peak, number, { from, to }) : undefined;
      const fewer = top?.left.size === 0 ? Math.max(at.lo, top.least) : at.lo;
      const safe = at.lo >= 0 && fn === "sum" && fewest > 0 ? overlap(ends, interval(fewer, Infinity)) : ends;
      const result = within(safe, "f32");
      return this.define(op, result, null, false, {
        ...this.exactness(op, ofSum(op, whole, term!), [term!]),
        peak: top,
      });
    }
    if (fits(whole, kind)) return this.define(op, whole, wraps, false);
    this.define(op, allOf(kind), kind === "index" ? null : (wraps ?? op), false);
  }

  // -- arithmetic ---------------------------------------------------------------------------------------------------

  private scalar(op: Op): void {
    const [a, b, c] = op.operands.map((v) => this.of(v)) as [Known, Known, Known];
    const { values } = this;
    const isChosen = op.name === "select";
    const operands = isChosen ? [a, ...values.chosen(a, b, c)] : op.operands.map((v) => this.of(v));
    const fn = op.attributes["fn"];
    const isDifference = op.name === "binary" && fn === "sub" && isFloat(scalarOf(op.results[0]!.type));
    const equal = isDifference ? belowGreatest(a, b, this.values.numbered) : null;
    // Too much below 0 has an exponential of 0, as it is in mathematics when rounded.
    const isHarmless = equal !== null && this.comparisons.usesOf(op.results[0]!).every((u) => isExponential(u));
    const isSilent = isHarmless || ((op.name === "compare" || isTruth(op)) && this.comparisons.isChoice(op));
    const { at, wraps, ...exactness } = evaluate(op, operands, isSilent ? () => {} : this.note);
    const least = equal === null ? at : overlap(at, interval(-Infinity, 0));
    this.define(op, least, wraps, true, {
      ...this.exactness(op, exactness, operands),
      ...this.peakOf(op, operands, equal),
      ...sameAs(op, a),
      ...aboveOf(op, a, b),
    });
    if ((op.name === "cast" || op.name === "binary") && scalarOf(op.operands[0]!.type) === "index")
      this.values.madeOfIndices(op);
    if (op.name === "compare") this.values.compared(op, fn as Comparison, a, b);
    if (isChosen) values.chose(op, operands[1]!, operands[2]!);
    if (op.name === "binary" && (fn === "and" || fn === "or")) values.joined(op, fn, a, b);
    if (isTruth(op)) this.values.compared(op, "ne", a, KNOWN_ZERO);
  }

  /** What is known of a result; floats of a claim are rounded by casts alone. */
  private exactness(op: Op, known: Exactness, operands: readonly Exactness[]): Exactness {
    if (!this.isClaim || op.name === "cast") return known;
    return { ...known, inexact: operands.find((o) => o.inexact !== null)?.inexact ?? null };
  }

  /** Whether a result is large for some values of variables: a difference 0, its exponential 1, and that times something. */
  private peakOf(op: Op, [a, b]: readonly Known[], equal: ReadonlyMap<number, Within> | null): Pick<Known, "peak"> {
    if (equal !== null) return { peak: { least: 0, left: equal } };
    if (isExponential(op) && a?.peak?.least === 0) return { peak: { ...a.peak, least: 1 } };
    if (op.name !== "binary" || op.attributes["fn"] !== "mul") return {};
    for (const [x, y] of [
      [a!, b!],
      [b!, a!],
    ] as const)
      if (x.peak !== undefined && x.peak.least > 0 && y.at.lo > 0)
        return { peak: { ...x.peak, least: x.peak.least * y.at.lo * (1 - SLACK) } };
    return {};
  }
}

/** More than a product is rounded down by. */
const SLACK = 1e-6;

const isExponential = (op: Op): boolean => op.name === "unary" && op.attributes["fn"] === "exp";
