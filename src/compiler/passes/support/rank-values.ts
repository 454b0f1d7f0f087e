/**
 * Values as one rank computes them, in one iteration of the loops around: the rank, the world and counters of constant loops are
 * numbers, dimensions are symbols, and other loop variables are symbols with bounds.
 */
import type { Op, Value } from "../../ir/module.js";
import { foldBinary, foldCompare } from "../../ir/functions.js";
import type { BinaryFunction, Comparison } from "../../ir/ops.js";
import type { Definitions } from "./analysis.js";
import { Form, type Interval } from "./forms.js";

/** What ranks have in common. */
export interface CommonValues {
  /** Values that are the same on all ranks. */
  readonly values: RankValues;
  /** Of values of loops, the iterations that give a number (`iterations.ts`); null where some give none. */
  readonly places: Map<Value, ReadonlyMap<number, readonly number[]> | null>;
}

/** Whose values they are that no rank's number is in. */
const NO_RANK = -1;

export class RankValues {
  // There are as many scopes as iterations of all loops around, and most of them need none of these.
  private forms: Map<Value, Form | null> | null = null;
  /** Scopes inside, so that what they know is found again. */
  private iterations: Map<Op, Map<number, RankValues>> | null = null;
  private loops: Map<Op, RankValues | null> | null = null;
  private found: Map<Op, unknown> | null = null;
  /** Bounds of rows and columns of what loops count, by the name of their symbol. */
  private places: Map<string, Interval> | null = null;

  private constructor(
    readonly definitions: Definitions,
    readonly rank: number,
    private readonly outer: RankValues | null,
    /** Values given in this scope: loop variables, and what is known to equal something simpler here. */
    private readonly given: ReadonlyMap<Value, Form>,
    /** Loop variables of unknown value by the name of their symbol. */
    private readonly bounds: ReadonlyMap<string, Interval>,
    /** What is worked out for all ranks together; null inside loops, and where nobody does. */
    readonly common: CommonValues | null,
  ) {}

  /** @param known values with their numbers */
  static of(
    definitions: Definitions,
    rank: number,
    known: ReadonlyMap<Value, number> = new Map(),
    common: CommonValues | null = null,
  ): RankValues {
    const given = new Map([...known].map(([v, n]): [Value, Form] => [v, Form.of(n)]));
    return new RankValues(definitions, rank, null, given, new Map(), common);
  }

  /**
   * Values of each rank, for who goes through many: what they have in common is kept as long as the function is.
   */
  static ofEach(definitions: Definitions, known: ReadonlyMap<Value, number> = new Map()): (rank: number) => RankValues {
    const common = { values: RankValues.of(definitions, NO_RANK, known), places: new Map() };
    return (rank) => RankValues.of(definitions, rank, known, common);
  }

  /** Ranks of the kernel. */
  get world(): number {
    return this.definitions.world;
  }

  /** What somebody finds of an op with these values, found once. */
  once<T>(op: Op, find: () => T): T {
    const found = (this.found ??= new Map<Op, unknown>());
    if (!found.has(op)) found.set(op, find());
    return found.get(op) as T;
  }

  /** The scope of the body of a loop or fold in the iteration where its one variable is `iteration`, kept for who comes again. */
  inIteration(loop: Op, iteration: number): RankValues {
    const ofLoops = (this.iterations ??= new Map<Op, Map<number, RankValues>>());
    const iterations = ofLoops.get(loop) ?? new Map<number, RankValues>();
    ofLoops.set(loop, iterations);
    let scope = iterations.get(iteration);
    if (scope === undefined) iterations.set(iteration, (scope = this.atIteration(loop, iteration)));
    return scope;
  }

  /** The same for who comes once: nothing keeps the scope, and there may be many. */
  atIteration(loop: Op, iteration: number): RankValues {
    const given = new Map([[loop.regions[0]!.arguments[0]!, Form.of(iteration)]]);
    return new RankValues(this.definitions, this.rank, this, given, this.bounds, null);
  }

  /** What the variable of a loop is called where its value is not known. */
  symbolOf(variable: Value): string {
    return `@${this.definitions.key(variable)}`;
  }

  /** The scope of a loop's body whose variables may be any in their ranges; null if the loop surely has no iteration. */
  insideLoop(loop: Op): RankValues | null {
    const loops = (this.loops ??= new Map<Op, RankValues | null>());
    let scope = loops.get(loop);
    if (scope === undefined) loops.set(loop, (scope = this.anyIteration(loop)));
    return scope;
  }

  private anyIteration(loop: Op): RankValues | null {
    const variables = loop.regions[0]!.arguments;
    const given = new Map<Value, Form>();
    const bounds = new Map(this.bounds);
    for (let d = 0; d < variables.length; d++) {
      const [lo, hi] = [loop.operands[2 * d]!, loop.operands[2 * d + 1]!];
      const length = this.form(lo)?.number === 0 ? this.lengthOf(hi, given) : null;
      const start = this.startOf(lo, hi);
      if (start !== null) given.set(lo, start);
      const end = length ?? this.endOf(lo, hi, start);
      if (start !== null && end !== null && start.exceeds(end, 0)) return null;
      const name = this.symbolOf(variables[d]!);
      given.set(variables[d]!, Form.symbol(name));
      bounds.set(name, { lo: start, hi: end?.plus(Form.of(-1)) ?? null });
    }
    return new RankValues(this.definitions, this.rank, this, given, bounds, null);
  }

  /** The length of a range, max(end - start, 0), as the end of a loop from 0; where the loop has iterations, the start is known. */
  private lengthOf(hi: Value, given: Map<Value, Form>): Form | null {
    const range = this.definitions.binary(this.definitions.binary(hi, "max")?.operands[0] ?? hi, "sub");
    if (range === undefined) return null;
    const [to, from] = range.operands as [Value, Value];
    const start = this.startOf(from, to);
    const end = this.endOf(from, to, start);
    if (start !== null) given.set(from, start);
    return start === null || end === null ? null : end.minus(start);
  }

  /** A loop from min(s, n) to min(s + p, n) that has iterations at all starts at s: where it does not, s ≥ n. */
  private startOf(lo: Value, hi: Value): Form | null {
    const [from, to] = [this.definitions.binary(lo, "min"), this.definitions.binary(hi, "min")];
    if (from !== undefined && to !== undefined) {
      const limits = [from, to].map((op) => this.form(op.operands[1]!)?.key);
      if (limits[0] !== undefined && limits[0] === limits[1]) return this.form(from.operands[0]!);
    }
    return this.form(lo);
  }

  private endOf(lo: Value, hi: Value, start: Form | null): Form | null {
    const clamp = this.definitions.binary(hi, "min");
    const limit = clamp?.operands[0] ?? hi;
    const sum = this.definitions.binary(limit, "add");
    const at = sum?.operands.indexOf(lo) ?? -1;
    const length = at < 0 ? null : this.form(sum!.operands[1 - at]!);
    if (start !== null && length !== null) return start.plus(length);
    return this.form(limit) ?? this.form(hi);
  }

  /** The number a value is; null if it is not known. */
  number(v: Value): number | null {
    return this.form(v)?.number ?? null;
  }

  /** Bounds of a value that hold for all iterations of the loops whose variables are not known. */
  interval(v: Value): Interval {
    const form = this.form(v);
    return form === null ? { lo: null, hi: null } : this.boundsOf(form);
  }

  /** Least and greatest, with variables of loops, which other ranks have too, taken out. */
  private boundsOf(form: Form): Interval {
    let [lo, hi]: [Form | null, Form | null] = [form, form];
    for (const [symbol, factor] of form.terms) {
      const range = this.bounds.get(symbol) ?? this.placeOf(symbol);
      if (range === undefined) {
        if (symbol.includes("@")) return { lo: null, hi: null };
        continue;
      }
      const replace = (f: Form | null, by: Form | null): Form | null =>
        f === null || by === null ? null : f.plus(Form.symbol(symbol), -factor).plus(by, factor);
      lo = replace(lo, factor > 0 ? range.lo : range.hi);
      hi = replace(hi, factor > 0 ? range.hi : range.lo);
    }
    return { lo, hi };
  }

  private placeOf(symbol: string): Interval | undefined {
    return this.places?.get(symbol) ?? this.outer?.placeOf(symbol);
  }

  /**
   * Bounds of the row that a place is in, and of its column there. A place below rows · columns is in a row below rows; where there are no columns, there is no place.
   */
  private boundsOfPlace(fn: BinaryFunction, place: Form, columns: Form): Interval | null {
    const { lo, hi } = this.boundsOf(place);
    if (lo === null || !lo.isAtLeast(0)) return null;
    if (fn === "rem") return { lo: Form.of(0), hi: columns.plus(Form.of(-1)) };
    if (fn !== "div" || hi === null) return null;
    const end = hi.plus(Form.of(1));
    const rows = columns.number === null ? end.over(columns) : end.dividedBy(columns.number);
    return rows === null ? null : { lo: Form.of(0), hi: rows.plus(Form.of(-1)) };
  }

  /** The value as a form; loop variables of unknown value are symbols whose names begin with `@`. */
  form(v: Value): Form | null {
    const given = this.given.get(v);
    if (given !== undefined) return given;
    if (this.outer !== null && !this.definitions.argumentsOf(v).some((a) => this.given.has(a)))
      return this.outer.form(v);
    const forms = (this.forms ??= new Map<Value, Form | null>());
    let form = forms.get(v);
    if (form === undefined) forms.set(v, (form = this.evaluate(v)));
    return form;
  }

  private evaluate(v: Value): Form | null {
    const op = this.definitions.of(v);
    switch (op?.name) {
      case "const":
        return Form.of(op.attributes["value"] as number);
      case "dim":
        return Form.symbol(op.attributes["name"] as string);
      case "rank":
        return Form.of(this.rank);
      case "binary":
        return this.binary(op);
      case "compare":
        return this.compare(op);
      case "select": {
        const condition = this.number(op.operands[0]!);
        if (condition !== null) return this.form(op.operands[condition !== 0 ? 1 : 2]!);
        const [a, b] = [this.form(op.operands[1]!), this.form(op.operands[2]!)];
        return a !== null && a.key === b?.key ? a : null;
      }
      case "unary": {
        const a = this.number(op.operands[0]!);
        return op.attributes["fn"] === "not" && a !== null ? Form.of(1 - a) : null;
      }
      default:
        return null;
    }
  }

  private binary(op: Op): Form | null {
    const fn = op.attributes["fn"] as BinaryFunction;
    const [a, b] = op.operands.map((v) => this.form(v));
    const isBool = op.results[0]!.type.kind === "scalar" && op.results[0]!.type.scalar === "bool";
    if (isBool && (fn === "and" || fn === "or")) {
      const decisive = fn === "and" ? 0 : 1;
      if (a?.number === decisive || b?.number === decisive) return Form.of(decisive);
    }
    if (a == null || b == null) return null;
    const [na, nb] = [a.number, b.number];
    if (na !== null && nb !== null) {
      const folded = foldBinary(fn, na, nb);
      return folded === undefined ? null : Form.of(folded);
    }
    if (fn === "add") return a.plus(b);
    if (fn === "sub") return a.minus(b);
    if (fn === "mul" && (na ?? nb) !== null) return na !== null ? b.times(na) : a.times(nb!);
    if (fn === "div" && nb !== null && nb > 0) {
      const exact = a.dividedBy(nb);
      if (exact !== null) return exact;
    }
    if (fn === "min" || fn === "max") {
      if (a.exceeds(b, 0)) return fn === "min" ? b : a;
      if (b.exceeds(a, 0)) return fn === "min" ? a : b;
    }
    // Some number that is not negative, the same wherever it is computed from the same.
    if (!a.isAtLeast(0) || !b.isAtLeast(0)) return null;
    if (fn === "mul") return Form.product(a, b);
    const keys = ["add", "min", "max"].includes(fn) ? [a.key, b.key].sort() : [a.key, b.key];
    const name = `${fn}(${keys.join(",")})`;
    const bounds = name.includes("@") ? this.boundsOfPlace(fn, a, b) : null;
    if (bounds !== null) (this.places ??= new Map<string, Interval>()).set(name, bounds);
    return Form.symbol(name);
  }

  private compare(op: Op): Form | null {
    const fn = op.attributes["fn"] as Comparison;
    const [a, b] = op.operands.map((v) => this.form(v));
    if (a == null || b == null) return null;
    const [na, nb] = [a.number, b.number];
    if (na !== null && nb !== null) return Form.of(foldCompare(fn, na, nb) ? 1 : 0);
    // All that matters is the difference.
    const { lo, hi } = this.boundsOf(a.minus(b));
    const isPositive = lo?.isAtLeast(1) ?? false;
    const isNegative = hi !== null && hi.times(-1).isAtLeast(1);
    const signs = [-1, 0, 1].filter(
      (s) =>
        (s >= 0 || !(lo?.isAtLeast(0) ?? false)) &&
        (s <= 0 || !(hi?.times(-1).isAtLeast(0) ?? false)) &&
        (s !== 0 || !(isPositive || isNegative)),
    );
    const outcomes = new Set(signs.map((s) => foldCompare(fn, s, 0)));
    return outcomes.size === 1 ? Form.of([...outcomes][0]! ? 1 : 0) : null;
  }
}
