/**
 * Whether one number is less than another at no length at all: by bounds that are linear in the lengths, where intervals of both
 * say nothing. `min(rank * ((m + 1) / 2), m)` of 2 ranks is never `m`: the other is `(m + 1) / 2` at most, which comes past m nowhere.
 */
import { type Kernel, type Op, text, type Value } from "../ir/module.js";
import { divisorOf, greatestCommon, type Requirement } from "../types/requirement.js";
import type { Extent } from "../types/extent.js";
import { constant, constantOf, type Form, isConstant, minus, ONE, parameter, plus, scaled } from "./every/forms.js";

/** By how much fractions of bounds may be rounded. */
const ROUNDING = 1e-9;

/**
 * Whether `less < than` holds on no rank and in no iteration, whatever the lengths are.
 * @param makers the ops that give values, and the loops of variables
 */
export function isNeverLess(
  less: Value,
  than: Value,
  { world, requirements }: Pick<Kernel, "world" | "requirements">,
  makers: ReadonlyMap<Value, Op>,
): boolean {
  const steps = stepsOf(requirements);
  for (let rank = 0; rank < world; rank++) {
    const bounds = new Bounds(rank, makers, steps);
    const [least, most] = [bounds.of(less, -1), bounds.of(than, 1)];
    if (least === null || most === null || !isBelow(minus(most, least), 1)) return false;
  }
  return true;
}

/**
 * Whether an index comes to the end of its dimension on no rank and in no iteration, whatever the lengths are.
 * @param past the length of the dimension; null where the question is whether the index is below 0
 */
export function isNeverPast(
  index: Value,
  past: Extent | null,
  { world, requirements }: Pick<Kernel, "world" | "requirements">,
  makers: ReadonlyMap<Value, Op>,
): boolean {
  const steps = stepsOf(requirements);
  for (let rank = 0; rank < world; rank++) {
    const bounds = new Bounds(rank, makers, steps);
    if (past === null) {
      if (bounds.mayBeNegative(index)) return false;
      continue;
    }
    const [most, end] = [bounds.of(index, 1), bounds.ofExtent(past, -1)];
    if (most === null || end === null || !isBelow(minus(most, end), 0)) return false;
  }
  return true;
}

/** Whether a sum of lengths is less than a number, whatever they are. */
function isBelow(sum: Form, limit: number): boolean {
  return constantOf(sum) <= limit - ROUNDING && [...sum].every(([key, n]) => key === "" || n <= 0);
}

/** What the signature asks each length to be a multiple of. */
function stepsOf(requirements: readonly Requirement[]): ReadonlyMap<string, number> {
  const steps = new Map<string, number>();
  for (const r of requirements) {
    const { length, divisor } = divisorOf(r) ?? {};
    if (typeof length !== "string" || divisor === undefined) continue;
    const step = steps.get(length) ?? 1;
    steps.set(length, (step * divisor) / greatestCommon(step, divisor));
  }
  return steps;
}

/** -1: no more than the value; 1: no less. */
type Side = -1 | 1;

/** Bounds of values on one rank, as sums of lengths, each times a fraction. */
class Bounds {
  private readonly known = new Map<Value, Map<Side, Form | null>>();

  constructor(
    private readonly rank: number,
    private readonly makers: ReadonlyMap<Value, Op>,
    private readonly steps: ReadonlyMap<string, number>,
  ) {}

  /** Null where there is none that is linear. */
  of(v: Value, side: Side): Form | null {
    const sides = this.known.get(v) ?? new Map<Side, Form | null>();
    this.known.set(v, sides);
    let bound = sides.get(side);
    if (bound === undefined) sides.set(side, (bound = this.found(v, side)));
    return bound;
  }

  private found(v: Value, side: Side): Form | null {
    const op = this.makers.get(v);
    if (op === undefined) return null;
    const d = op.regions[0]?.arguments.indexOf(v) ?? -1;
    if (d >= 0) return this.ofVariable(op, d, side);
    const fn = op.name === "binary" ? op.attributes["fn"] : op.name;
    const [a, b] = op.operands as [Value, Value];
    const both = (x: Form | null, y: Form | null, times: 1 | -1): Form | null => x && y && plus(x, y, times);
    switch (fn) {
      case "const":
        return constant(op.attributes["value"] as number);
      case "dim":
        return parameter(text(op, "name"));
      case "rank":
        return constant(this.rank);
      case "add":
        return both(this.of(a, side), this.of(b, side), 1);
      case "sub":
        return both(this.of(a, side), this.of(b, opposite(side)), -1);
      case "mul":
        return this.times(a, b, side) ?? this.times(b, a, side);
      case "div":
        return this.quotient(a, this.numberOf(b), side);
      case "rem":
        return this.rest(a, this.numberOf(b), side);
      case "min":
        // No less than it is either of both.
        return side === 1 ? (this.of(a, side) ?? this.of(b, side)) : null;
      case "max":
        return side === -1 ? (this.of(a, side) ?? this.of(b, side)) : null;
      default:
        return null;
    }
  }

  /** A loop's variable is at least where the loop begins, and below where it ends. */
  private ofVariable(op: Op, d: number, side: Side): Form | null {
    const [low, high] = [op.operands[2 * d], op.operands[2 * d + 1]];
    if (low === undefined || high === undefined) return null;
    const end = this.of(side === 1 ? high : low, side);
    return end && side === 1 ? minus(end, ONE) : end;
  }

  private numberOf(v: Value): number | null {
    const [low, high] = [this.of(v, -1), this.of(v, 1)];
    const isOne = low !== null && high !== null && isConstant(low) && isConstant(high);
    return isOne && constantOf(low) === constantOf(high) ? constantOf(low) : null;
  }

  private times(v: Value, by: Value, side: Side): Form | null {
    const number = this.numberOf(by);
    if (number === null) {
      // A product of what is never negative is the largest where both are.
      const factor = this.of(by, side);
      const bound = this.of(v, side);
      const isKnown = factor !== null && isConstant(factor) && !this.mayBeNegative(by) && !this.mayBeNegative(v);
      // A bound from below may be a number below 0, of what never is: that of two such is above what they come to.
      return isKnown && bound ? scaled(bound, Math.max(constantOf(factor), 0)) : null;
    }
    const bound = this.of(v, number < 0 ? opposite(side) : side);
    return bound && scaled(bound, number);
  }

  /** The same of a length. */
  ofExtent(e: Extent, side: Side): Form | null {
    if (typeof e === "number") return constant(e);
    if (typeof e === "string") return parameter(e);
    const [a, b] = [this.ofExtent(e.a, side), this.ofExtent(e.b, e.op === "sub" ? opposite(side) : side)];
    if (a === null || b === null) return null;
    if (e.op === "add" || e.op === "sub") return plus(a, b, e.op === "add" ? 1 : -1);
    if (typeof e.b !== "number" || e.b <= 0) return null;
    if (e.op === "mul") return scaled(a, e.b);
    // Lengths are rounded down.
    return e.op === "div" ? this.divided(a, e.b, side === -1 ? 1 - e.b : 0) : null;
  }

  /** Quotients are cut off towards 0. */
  private quotient(v: Value, by: number | null, side: Side): Form | null {
    if (by === null || by <= 0) return null;
    const number = this.numberOf(v);
    if (number !== null) return constant(Math.trunc(number / by));
    const bound = this.of(v, side);
    if (bound === null) return null;
    const isCutUp = side === 1 && this.mayBeNegative(v);
    const cut = side === -1 ? 1 - by : isCutUp ? by - 1 : 0;
    return isCutUp ? scaled(plus(bound, constant(cut)), 1 / by) : this.divided(bound, by, cut);
  }

  /** @param cut what rounding may take off, at most */
  private divided(bound: Form, by: number, cut: number): Form {
    if (!this.isDivisible(bound, by)) return scaled(plus(bound, constant(cut)), 1 / by);
    // Lengths that are divided without a rest leave one of what is added to them alone.
    const added = constantOf(bound);
    return plus(scaled(minus(bound, constant(added)), 1 / by), constant(Math.floor(added / by)));
  }

  /** Whether each length in a sum, times its number, is a multiple of a divisor. */
  private isDivisible(bound: Form, by: number): boolean {
    return [...bound].every(([name, n]) => name === "" || Number.isInteger((n * (this.steps.get(name) ?? 1)) / by));
  }

  /** Remainders have the sign of what is divided. */
  private rest(v: Value, by: number | null, side: Side): Form | null {
    if (by === null || by <= 0) return null;
    const number = this.numberOf(v);
    if (number !== null) return constant(number % by);
    return constant(side === 1 ? by - 1 : this.mayBeNegative(v) ? 1 - by : 0);
  }

  mayBeNegative(v: Value): boolean {
    const least = this.of(v, -1);
    if (least !== null && [...least].every(([, n]) => n >= 0)) return false;
    // Bounds of quotients have fractions: the least that n / 4 is known to be is below 0.
    const op = this.makers.get(v);
    const fn = op?.name === "binary" ? text(op, "fn") : "";
    return !["add", "mul", "div", "rem", "min"].includes(fn) || op!.operands.some((w) => this.mayBeNegative(w));
  }
}

function opposite(side: Side): Side {
  return side === 1 ? -1 : 1;
}
