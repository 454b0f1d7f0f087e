/**
 * What a program gets to at some lengths, and what its indices may be there: intervals, all iterations together. That costs as much as
 * there are ops, however many elements there are.
 */
import { foldBinary, foldCompare } from "../ir/functions.js";
import { bufferOf, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../ir/module.js";
import type { BinaryFunction, Comparison } from "../ir/ops.js";
import { scalarOf } from "../ir/types.js";
import { walk } from "../ir/visit.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";

/** Turns of a loop that are looked at one by one in any case. */
const MOST_STEPS = 64;

/** Inclusive; null is anything. */
type Range = readonly [lo: number, hi: number] | null;

const YES: Range = [1, 1];
const MAYBE: Range = [0, 1];

/** What some rank gets to at some lengths, for all that intervals tell. */
export interface Reached {
  /** Loads and stores in loops that are entered, under conditions that may hold. */
  readonly accesses: ReadonlySet<Op>;
  /** Choices whose condition may hold, and those whose condition may not. */
  readonly holds: ReadonlySet<Op>;
  readonly fails: ReadonlySet<Op>;
}

export function reachedAt(kernel: Kernel, dims: DimValues): Reached {
  return reachedIn(kernel, pointsOf(dims), false);
}

/** What some rank gets to at some of the lengths from 1 to `most`, and perhaps more: no less than `reachedAt` says of any. */
export function reachedUpTo(kernel: Kernel, most: number): Reached {
  return reachedIn(kernel, new Map(kernel.dims.map((name): [string, Range] => [name, [1, most]])), true);
}

function reachedIn(kernel: Kernel, lengths: ReadonlyMap<string, Range>, isOfMany: boolean): Reached {
  const [accesses, holds, fails] = [new Set<Op>(), new Set<Op>(), new Set<Op>()];
  for (let rank = 0; rank < kernel.world; rank++) {
    const intervals = new Intervals(kernel, lengths, rank, null, isOfMany);
    intervals.suspects();
    intervals.reached.forEach((op) => accesses.add(op));
    for (const [op, range] of intervals.choices) {
      if (range[1] !== 0) holds.add(op);
      if (range[0] === 0) fails.add(op);
    }
  }
  return { accesses, holds, fails };
}

function pointsOf(dims: DimValues): ReadonlyMap<string, Range> {
  return new Map(Object.entries(dims).map(([name, n]) => [name, both(n)]));
}

/** An access that may leave a dimension, and the loops and conditions around it. */
export interface Suspect {
  readonly op: Op;
  readonly parents: ReadonlySet<Op>;
}

/** Accesses of a rank that intervals cannot excuse. */
export function suspectsOf(kernel: Kernel, dims: DimValues, rank: number): readonly Suspect[] {
  return new Intervals(kernel, pointsOf(dims), rank, dims).suspects();
}

/** What values may be, all iterations together. */
class Intervals {
  private readonly ranges = new Map<Value, Range>();
  private readonly found = new Map<Op, Suspect>();
  private readonly parents: Op[] = [];
  /** Accesses that are not behind a condition that fails, or in a loop that has no turns. */
  readonly reached = new Set<Op>();
  /** Conditions of choices. */
  readonly choices = new Map<Op, readonly [number, number]>();

  /**
   * @param inside lengths for which accesses are held against their dimensions; null where nobody asks
   * @param isOfMany whether `lengths` are of several launches, so that what is not known here may be known in one of them
   */
  constructor(
    private readonly kernel: Kernel,
    private readonly lengths: ReadonlyMap<string, Range>,
    private readonly rank: number,
    private readonly inside: DimValues | null,
    private readonly isOfMany = false,
  ) {}

  suspects(): readonly Suspect[] {
    this.region(this.kernel.body);
    return [...this.found.values()];
  }

  private of(v: Value): Range {
    return this.ranges.get(v) ?? null;
  }

  private region({ ops }: Region): void {
    for (const op of ops) {
      if (op.name === "if") this.branch(op);
      else if (op.name === "for" || op.name === "reduce") this.loop(op);
      else if (op.name === "load" || op.name === "store") this.access(op);
      else if (op.results.length > 0) {
        const result = op.results[0]!;
        if (op.name === "select") this.choose(op, this.of(op.operands[0]!));
        if (isWhole(result)) this.ranges.set(result, this.range(op));
      }
    }
  }

  private choose(op: Op, condition: Range): void {
    const [lo, hi] = condition ?? MAYBE!;
    const known = this.choices.get(op);
    if (known === undefined) this.choices.set(op, [lo, hi]);
    else if (lo < known[0] || hi > known[1]) this.choices.set(op, [Math.min(known[0], lo), Math.max(known[1], hi)]);
  }

  private branch(op: Op): void {
    const condition = this.of(op.operands[0]!);
    // Where data decides, nobody knows here whether it is ever so.
    if (condition === null) {
      for (const region of op.regions)
        walk(region, (inner) => {
          if (inner.name === "load" || inner.name === "store") this.reached.add(inner);
          if (inner.name === "select" && this.isOfMany) this.choose(inner, MAYBE);
        });
      return;
    }
    this.parents.push(op);
    if (condition[1] !== 0) this.region(op.regions[0]!);
    if (condition[0] === 0) this.region(op.regions[1]!);
    this.parents.pop();
  }

  private loop(op: Op): void {
    this.parents.push(op);
    this.turns(op);
    this.parents.pop();
  }

  private turns(op: Op): void {
    const [body] = op.regions as readonly [Region];
    const ends = op.operands.map((v) => this.of(v));
    const [lo, hi] = ends;
    // Steps of an algorithm one by one, for indices and bounds inside are made of their number.
    const isInSteps = op.attributes["map"] !== "tiles" && body.arguments.length === 1;
    if (isInSteps && lo && hi && lo[0] === lo[1] && hi[0] === hi[1] && hi[0] - lo[0] <= MOST_STEPS) {
      for (let i = lo[0]; i < hi[0]; i++) {
        this.ranges.set(body.arguments[0]!, both(i));
        this.region(body);
      }
      return;
    }
    for (const [d, variable] of body.arguments.entries()) {
      const [from, to] = [ends[2 * d]!, ends[2 * d + 1]!];
      if (from !== null && to !== null && to[1] <= from[0]) return;
      this.ranges.set(variable, from === null || to === null ? null : [from[0], to[1] - 1]);
    }
    this.region(body);
  }

  private access(op: Op): void {
    this.reached.add(op);
    if (this.inside === null) return;
    const lengths = lengthsOf(this.kernel, op, this.inside);
    const isOutside = memoryOperands(op).indices.some((v, d) => {
      const range = this.of(v);
      return range !== null && (range[0] < 0 || range[1] >= lengths[d]!);
    });
    if (isOutside) this.found.set(op, { op, parents: new Set(this.parents) });
  }

  private range(op: Op): Range {
    const { operands } = op;
    switch (op.name) {
      case "const":
        return both(op.attributes["value"] as number);
      case "dim":
        return this.lengths.get(text(op, "name"))!;
      case "rank":
        return both(this.rank);
      case "launch_parity":
        return MAYBE;
      case "binary":
      case "compare": {
        const a = this.of(operands[0]!);
        const b = this.of(operands[1]!);
        if (a === null || b === null) return null;
        return op.name === "binary"
          ? binaryRange(op.attributes["fn"] as BinaryFunction, a, b)
          : compareRange(op.attributes["fn"] as Comparison, a, b);
      }
      case "unary": {
        const a = this.of(operands[0]!);
        return op.attributes["fn"] === "not" && a !== null ? [1 - a[1], 1 - a[0]] : null;
      }
      case "select": {
        const [a, b, c] = [this.of(operands[0]!), this.of(operands[1]!), this.of(operands[2]!)];
        return a && b && c ? (a[0] === 1 ? b : a[1] === 0 ? c : [Math.min(b[0], c[0]), Math.max(b[1], c[1])]) : null;
      }
      default:
        return null;
    }
  }
}

function both(n: number): Range {
  return [n, n];
}

/** Whether a value is an index or a condition: other numbers wrap, or are no whole numbers, and decide about no index. */
export function isWhole(v: Value): boolean {
  if (v.type.kind !== "scalar") return false;
  const kind = scalarOf(v.type);
  return kind === "index" || kind === "bool";
}

/** Lengths of the dimensions that an access goes to. */
export function lengthsOf(kernel: Kernel, op: Op, dims: DimValues): number[] {
  return bufferOf(kernel, text(op, "buffer")).shape.map((e) => evaluateExtent(e, dims));
}

function binaryRange(fn: BinaryFunction, a: NonNullable<Range>, b: NonNullable<Range>): Range {
  const isOne = b[0] === b[1];
  switch (fn) {
    case "add":
      return [a[0] + b[0], a[1] + b[1]];
    case "min":
      return [Math.min(a[0], b[0]), Math.min(a[1], b[1])];
    case "max":
      return [Math.max(a[0], b[0]), Math.max(a[1], b[1])];
    case "mul": {
      const [w, x, y, z] = [a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]];
      return [Math.min(w, x, y, z), Math.max(w, x, y, z)];
    }
    case "sub":
      return [a[0] - b[1], a[1] - b[0]];
    case "rem":
      if (b[0] <= 0 || a[0] < 0) return null;
      if (isOne && Math.floor(a[0] / b[0]) === Math.floor(a[1] / b[0])) return [a[0] % b[0], a[1] % b[0]];
      return [0, Math.min(a[1], b[1] - 1)];
    case "div":
      if (b[0] <= 0 || a[0] < 0) return null;
      return [Math.floor(a[0] / b[1]), Math.floor(a[1] / b[0])];
    case "and":
      // Of conditions; bits of other numbers only where they are known.
      if (a[1] <= 1 && b[1] <= 1 && a[0] >= 0 && b[0] >= 0) return [a[0] & b[0], a[1] & b[1]];
      return exact(fn, a, b) ?? (a[0] >= 0 && b[0] >= 0 ? [0, Math.min(a[1], b[1])] : null);
    case "or":
      if (a[1] <= 1 && b[1] <= 1 && a[0] >= 0 && b[0] >= 0) return [a[0] | b[0], a[1] | b[1]];
      return exact(fn, a, b);
    case "xor":
      return exact(fn, a, b);
    default: {
      // Powers and shifts: the ends lead to the ends, but where signs alternate.
      if (fn === "pow" && a[0] < 0 && (a[0] !== a[1] || !isOne)) return null;
      const ends = [a[0], a[1]].flatMap((x) => [b[0], b[1]].map((y) => foldBinary(fn, x, y)));
      return ends.includes(undefined) ? null : [Math.min(...(ends as number[])), Math.max(...(ends as number[]))];
    }
  }
}

function exact(fn: BinaryFunction, a: NonNullable<Range>, b: NonNullable<Range>): Range {
  if (a[0] !== a[1] || b[0] !== b[1]) return null;
  const value = foldBinary(fn, a[0], b[0]);
  return value === undefined ? null : both(value);
}

function compareRange(fn: Comparison, a: NonNullable<Range>, b: NonNullable<Range>): Range {
  const isPoint = a[0] === a[1] && b[0] === b[1];
  if (isPoint) return foldCompare(fn, a[0], b[0]) ? YES : both(0);
  const isApart = a[1] < b[0] || b[1] < a[0];
  if (fn === "eq" || fn === "ne") return isApart ? both(fn === "ne" ? 1 : 0) : MAYBE;
  // An order holds for all if it holds for the ends that are least in favour of it.
  const [x, y] = fn === "lt" || fn === "le" ? [a, b] : [b, a];
  const relation = fn === "lt" || fn === "gt" ? "lt" : "le";
  if (foldCompare(relation, x[1], y[0])) return YES;
  return foldCompare(relation, x[0], y[1]) ? MAYBE : both(0);
}
