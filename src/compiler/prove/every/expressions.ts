/**
 * What all threads of a rank compute alike, before it meets any element: lengths, bounds and bases, as expressions over the
 * dimensions. Equal expressions are one object, so that they may be compared and counted.
 */
import { foldBinary, foldCompare } from "../../ir/functions.js";
import type { BinaryFunction, Comparison } from "../../ir/ops.js";
import type { Extent } from "../../types/extent.js";
import { greatestCommon } from "../../types/requirement.js";
import { Unwinding } from "../../unwinding.js";
import {
  constant,
  constantOf,
  type Form,
  isAtLeastZero,
  isConstant,
  isZero,
  minus,
  ONE,
  parameter,
  plus,
  product,
  quotient,
  rangeOf,
  type Ranges,
  scaled,
  ZERO,
} from "./forms.js";

/**
 * `fn` is a binary function or a comparison; `not`; `select`. `symbol` is an address test, or anything else without a number. `unknown` stands
 * for a number of dimensions alone, whichever it is: see `abstraction.ts`.
 */
export type Expression =
  | { readonly id: number; readonly kind: "constant"; readonly value: number }
  | { readonly id: number; readonly kind: "dim"; readonly name: string }
  | { readonly id: number; readonly kind: "symbol"; readonly name: string }
  | {
      readonly id: number;
      readonly kind: "unknown";
      readonly number: number;
      readonly isNeverNegative: boolean;
      /** It is a multiple of that. */
      readonly divisor: number;
    }
  | { readonly id: number; readonly kind: "apply"; readonly fn: string; readonly of: readonly Expression[] };

/**
 * Whether a length is not looked into where a stretch is followed, which then holds for whatever it may be: one of dimensions
 * alone that is no sum.
 */
export function isAtom(e: Expression): boolean {
  if (e.kind === "dim" || e.kind === "unknown") return true;
  if (e.kind !== "apply" || !isPlain(e)) return false;
  return !(e.fn === "add" || e.fn === "sub" || (e.fn === "mul" && e.of.some((f) => f.kind === "constant")));
}

const plain = new WeakMap<Expression, boolean>();

/** Whether an expression has no tests of addresses, no block and no length of a loop in it. */
export function isPlain(e: Expression): boolean {
  if (e.kind !== "apply") return e.kind !== "symbol";
  let known = plain.get(e);
  if (known === undefined) plain.set(e, (known = e.of.every(isPlain) && !isRoot(e) && e.of.every((f) => !hasRoot(f))));
  return known;
}

/**
 * Whether it is the length of a loop over elements, as loops have it: what is held against 0 from below, or, where a loop has
 * several dimensions, a product of such.
 */
export function isRoot(e: Expression): boolean {
  if (e.kind !== "apply") return false;
  if (e.fn === "mul")
    return e.of.some(isRoot) && e.of.every((f) => isRoot(f) || (f.kind === "constant" && f.value > 0));
  return e.fn === "max" && e.of[1]!.kind === "constant" && e.of[1]!.value === 0;
}

/** What a length is where it is nothing but an expression that is never negative; else itself. */
export function withoutLimit(e: Expression): Expression {
  const isPlainLength = e.kind === "apply" && e.fn === "max" && isRoot(e) && isNeverNegative(e.of[0]!);
  return isPlainLength && isAtom(e.of[0]!) ? e.of[0]! : e;
}

/** What the length of a loop is without its limits, where they change nothing; null of others. */
export function unlimited(e: Expression, expressions: Expressions): Expression | null {
  if (e.kind !== "apply") return e.kind === "constant" ? e : null;
  if (e.fn === "max") return isRoot(e) && isNeverNegative(e.of[0]!) ? e.of[0]! : null;
  if (!isRoot(e)) return null;
  const of = e.of.map((x) => unlimited(x, expressions));
  return of.some((x) => x === null) ? null : expressions.apply("mul", ...(of as Expression[]));
}

const rooted = new WeakMap<Expression, boolean>();

function hasRoot(e: Expression): boolean {
  if (e.kind !== "apply") return false;
  let known = rooted.get(e);
  if (known === undefined) rooted.set(e, (known = isRoot(e) || e.of.some(hasRoot)));
  return known;
}

const COMPARED = new Set(["eq", "ne", "lt", "le", "gt", "ge"]);

/** Whether a function compares two numbers. */
export function isComparison(fn: string): boolean {
  return COMPARED.has(fn);
}

/** What constants add to the symbols in a sum that has each symbol once and nothing else; null of other expressions, and below 0. */
export function addedTo(e: Expression, ...symbols: readonly string[]): number | null {
  const missing = new Set(symbols);
  let constants = 0;
  const isSum = (x: Expression): boolean => {
    if (x.kind === "symbol") return missing.delete(x.name);
    if (x.kind === "constant") constants += x.value;
    return x.kind === "constant" || (x.kind === "apply" && x.fn === "add" && x.of.every(isSum));
  };
  return isSum(e) && missing.size === 0 && constants >= 0 ? constants : null;
}

/** Multiples beyond it are not looked for: all that is divided by is less. */
const MOST_MULTIPLE = 2 ** 30;

/** A number of dimensions alone: `times` · the product of `dims` / `by`, which leaves nothing. */
interface Monomial {
  readonly times: number;
  readonly dims: readonly string[];
  readonly by: number;
}

export class Expressions {
  private readonly all = new Map<string, Expression>();
  private readonly byId: Expression[] = [];
  private readonly multiples = new Map<Expression, number>();
  private readonly monomials = new Map<Expression, Monomial | null>();

  /** @param divisors numbers that dimensions are known to be multiples of */
  constructor(private readonly divisors: ReadonlyMap<string, number> = new Map()) {}

  /** What a product of dimensions is a multiple of. */
  divisorOf(dims: readonly string[]): number {
    return dims.reduce((n, dim) => n * (this.divisors.get(dim) ?? 1), 1);
  }

  /** The expression of a number. */
  numbered(id: number): Expression {
    return this.byId[id]!;
  }

  private made(key: string, make: (id: number) => Expression): Expression {
    let found = this.all.get(key);
    if (found === undefined) {
      found = make(this.byId.length);
      this.all.set(key, found);
      this.byId.push(found);
    }
    return found;
  }

  constant(value: number): Expression {
    return this.made(`${value}`, (id) => ({ id, kind: "constant", value }));
  }

  dim(name: string): Expression {
    return this.made(`dim ${name}`, (id) => ({ id, kind: "dim", name }));
  }

  symbol(name: string): Expression {
    return this.made(`symbol ${name}`, (id) => ({ id, kind: "symbol", name }));
  }

  /**
   * @param isNeverNegative whether it is known to be 0 or more
   * @param divisor what it is known to be a multiple of
   */
  unknown(number: number, isNeverNegative: boolean, divisor: number): Expression {
    const key = `unknown ${number} ${isNeverNegative} ${divisor}`;
    return this.made(key, (id) => ({ id, kind: "unknown", number, isNeverNegative, divisor }));
  }

  /** What an expression is a multiple of, whatever the dimensions are: at least 1; 0 where it is 0. */
  multipleOf(e: Expression): number {
    let known = this.multiples.get(e);
    if (known === undefined) this.multiples.set(e, (known = this.commonMultiple(e)));
    return known;
  }

  private commonMultiple(e: Expression): number {
    if (e.kind === "constant") return Math.abs(e.value);
    if (e.kind === "dim") return this.divisorOf([e.name]);
    if (e.kind === "unknown") return e.divisor;
    if (e.kind === "symbol") return 1;
    const of = (e.fn === "select" ? e.of.slice(1) : e.of).map((x) => this.multipleOf(x));
    if (e.fn === "mul") {
      const all = of.reduce((a, b) => a * b, 1);
      return all <= MOST_MULTIPLE ? all : Math.max(...of);
    }
    return ["add", "sub", "min", "max", "rem", "select"].includes(e.fn) ? of.reduce(greatestCommon) : 1;
  }

  /** How many times one length is another, which is a part of it that divides it; null where that is not seen. */
  timesOf(length: Expression, part: Expression): number | null {
    const [a, b] = [withoutLimit(length), withoutLimit(part)];
    if (a === b) return 1;
    if (b.kind !== "apply") return null;
    const [of, by] = b.of;
    if (b.fn !== "div" || by!.kind !== "constant" || withoutLimit(of!) !== a) return null;
    return by!.value > 0 && this.multipleOf(a) % by!.value === 0 ? by!.value : null;
  }

  extent(e: Extent): Expression {
    if (typeof e === "number") return this.constant(e);
    if (typeof e === "string") return this.dim(e);
    const [a, b] = [this.extent(e.a), this.extent(e.b)];
    if (e.op === "ceildiv") return this.apply("div", this.apply("sub", this.apply("add", a, b), this.constant(1)), b);
    return this.apply(e.op === "mod" ? "rem" : e.op, a, b);
  }

  apply(fn: string, ...of: readonly Expression[]): Expression {
    const values = of.map((e) => (e.kind === "constant" ? e.value : undefined));
    const [a, b] = values;
    if (fn === "select" && a !== undefined) return of[a !== 0 ? 1 : 2]!;
    if (fn === "not" && a !== undefined) return this.constant(1 - a);
    if (of.length === 2 && a !== undefined && b !== undefined) {
      const folded = COMPARED.has(fn)
        ? Number(foldCompare(fn as Comparison, a, b))
        : foldBinary(fn as BinaryFunction, a, b);
      if (folded !== undefined) return this.constant(folded);
    }
    if (fn === "and" && (a === 0 || b === 0)) return this.constant(0);
    if (fn === "and" && (a === 1 || b === 1)) return of[a === 1 ? 1 : 0]!;
    if (fn === "or" && (a === 0 || b === 0)) return of[a === 0 ? 1 : 0]!;
    if ((fn === "mul" && (a === 0 || b === 0)) || (fn === "rem" && b === 1)) return this.constant(0);
    if ((fn === "mul" || fn === "div") && b === 1) return of[0]!;
    if (fn === "mul" && a === 1) return of[1]!;
    if ((fn === "add" || fn === "sub") && b === 0) return of[0]!;
    if (fn === "add" && a === 0) return of[1]!;
    const [sum] = of as [Expression];
    if (fn === "sub" && sum.kind === "apply" && sum.fn === "add") {
      // What was added is taken off again.
      const at = sum.of.indexOf(of[1]!);
      if (at >= 0) return sum.of[1 - at]!;
    }
    if (fn === "div" && b !== undefined && b > 0) {
      const merged = this.nested(of[0]!, b);
      if (merged !== null) return merged;
    }
    return this.ordered(this.plain(fn, ...of));
  }

  private plain(fn: string, ...of: readonly Expression[]): Expression {
    return this.made(`${fn} ${of.map((e) => e.id).join(" ")}`, (id) => ({ id, kind: "apply", fn, of }));
  }

  /** One expression for all ways to write a product of dimensions that is divided without rest: (m / 2) · n is (m · n) / 2. */
  private ordered(e: Expression): Expression {
    const monomial = this.monomial(e);
    if (monomial === null || (monomial.dims.length < 2 && (monomial.times === 1 || monomial.by === 1))) return e;
    const common = greatestCommon(monomial.times, monomial.by);
    const [by, times] = [monomial.by / common, monomial.times / common];
    const dims = monomial.dims.map((name) => this.dim(name));
    const whole = dims.reduce((a, b) => this.plain("mul", a, b));
    const part = by === 1 ? whole : this.plain("div", whole, this.constant(by));
    const made = times === 1 ? part : this.plain("mul", part, this.constant(times));
    this.monomials.set(made, { times, dims: monomial.dims, by });
    return made;
  }

  private monomial(e: Expression): Monomial | null {
    let known = this.monomials.get(e);
    if (known === undefined) this.monomials.set(e, (known = this.monomialOf(e)));
    return known;
  }

  private monomialOf(e: Expression): Monomial | null {
    if (e.kind === "constant") return e.value > 0 ? { times: e.value, dims: [], by: 1 } : null;
    if (e.kind === "dim") return { times: 1, dims: [e.name], by: 1 };
    if (e.kind !== "apply" || (e.fn !== "mul" && e.fn !== "div")) return null;
    const [a, b] = e.of.map((x) => this.monomial(x));
    if (a == null || b == null) return null;
    if (e.fn === "mul") return { times: a.times * b.times, dims: [...a.dims, ...b.dims].sort(), by: a.by * b.by };
    if (b.dims.length > 0 || a.dims.length === 0) return null;
    return (this.divisorOf(a.dims) * a.times) % (a.by * b.times) === 0 ? { ...a, by: a.by * b.times } : null;
  }

  /** (x / a + b) / c is (x + a·b) / (a·c), of numbers that are rounded down. */
  private nested(of: Expression, by: number): Expression | null {
    if (of.kind !== "apply") return null;
    const [x, y] = of.of;
    if (of.fn === "div" && y!.kind === "constant" && y!.value > 0)
      return this.apply("div", x!, this.constant(y!.value * by));
    if (of.fn !== "add" || y!.kind !== "constant" || x!.kind !== "apply" || x!.fn !== "div") return null;
    const [inner, divisor] = x!.of;
    if (divisor!.kind !== "constant" || divisor!.value <= 0) return null;
    const sum = this.apply("add", inner!, this.constant(y!.value * divisor!.value));
    return this.apply("div", sum, this.constant(divisor!.value * by));
  }
}

/** What stands for some expressions while others are evaluated; null leaves one to be evaluated. */
export type Stand = (e: Expression, evaluate: (e: Expression) => Form) => Form | null;

/**
 * The value of expressions in one box. Divisions and comparisons may need the box to be cut: `Cut`, `Digits`, `Undecided`
 * of `forms.ts`. Comparisons and conditions are 0 or 1.
 */
export class Evaluation {
  private readonly values = new Map<number, Form>();

  constructor(
    readonly ranges: Ranges,
    private readonly stand: Stand,
  ) {}

  readonly of = (e: Expression): Form => {
    let value = this.values.get(e.id);
    if (value === undefined) this.values.set(e.id, (value = this.stand(e, this.of) ?? this.value(e)));
    return value;
  };

  private value(e: Expression): Form {
    if (e.kind === "constant") return constant(e.value);
    if (e.kind !== "apply") return parameter(`@${e.id}`);
    if (e.fn === "select") return this.of(e.of[constantOf(this.of(e.of[0]!)) !== 0 ? 1 : 2]!);
    const [a, b] = e.of;
    return applied(e.fn, this.of(a!), b === undefined ? ZERO : this.of(b), this.ranges);
  }
}

/** Whether an expression is 0 or more, whatever the dimensions are. */
export function isNeverNegative(e: Expression): boolean {
  if (e.kind === "unknown") return e.isNeverNegative;
  if (e.kind !== "apply") return e.kind === "dim" || (e.kind === "constant" && e.value >= 0);
  if (e.fn === "max") return e.of.some(isNeverNegative);
  return ["add", "mul", "div", "rem", "min"].includes(e.fn) && e.of.every(isNeverNegative);
}

/**
 * A function of the device level on numbers of a box.
 * @param signs as `quotient` has it
 */
export function applied(fn: string, a: Form, b: Form, ranges: Ranges, signs: Pick<Ranges, "get"> = ranges): Form {
  const truth = (holds: boolean): Form => (holds ? ONE : ZERO);
  switch (fn) {
    case "add":
      return plus(a, b);
    case "sub":
      return minus(a, b);
    case "mul":
      return product(a, b);
    case "shl":
      return scaled(a, 2 ** known(b));
    case "div":
      return quotient(a, divisor(b, ranges), ranges, signs);
    case "rem":
      return minus(a, product(quotient(a, divisor(b, ranges), ranges, signs), b));
    case "min":
      return isAtLeastZero(minus(b, a), ranges) ? a : b;
    case "max":
      return isAtLeastZero(minus(a, b), ranges) ? a : b;
    case "and":
    case "or": {
      // Of conditions alone: of other numbers these are bits.
      const [x, y] = [truthOf(a), truthOf(b)];
      return truth(fn === "and" ? x && y : x || y);
    }
    case "not":
      return truth(!truthOf(a));
    case "eq":
      return truth(isZero(minus(a, b), ranges));
    case "ne":
      return truth(!isZero(minus(a, b), ranges));
    case "ge":
      return truth(isAtLeastZero(minus(a, b), ranges));
    case "le":
      return truth(isAtLeastZero(minus(b, a), ranges));
    case "gt":
      return truth(!isAtLeastZero(minus(b, a), ranges));
    case "lt":
      return truth(!isAtLeastZero(minus(a, b), ranges));
    default:
      throw new NotAffine(fn);
  }
}

/** An operation that is not followed. */
export class NotAffine extends Unwinding {
  constructor(readonly what: string) {
    super(what);
  }
}

function known(f: Form): number {
  if (!isConstant(f)) throw new NotAffine("a shift by what is not constant");
  return constantOf(f);
}

function divisor(f: Form, ranges: Ranges): Form {
  const isNumber = isConstant(f) && constantOf(f) > 0;
  if (!isNumber && !(f.size === 1 && rangeOf(f, ranges).low > 0))
    throw new NotAffine("a division by what is not constant");
  return f;
}

function truthOf(f: Form): boolean {
  if (!isConstant(f) || (constantOf(f) !== 0 && constantOf(f) !== 1)) throw new NotAffine("bits of a number");
  return constantOf(f) === 1;
}
