/**
 * Does every index stay inside its dimension? `y[i, n]` lies inside the buffer of y, as `y[i + 1, 0]`, and is a slip all
 * the same. Once indices are linear nobody can tell, so this looks at the kernel while it has one index a dimension.
 *
 * For given dimensions, one rank after the other: first with intervals, which costs as much as there are ops, however
 * many elements there are; then, only for accesses that intervals cannot excuse, iteration by iteration. Indices that
 * depend on data, and accesses under conditions that do, are left to those who have data: they see when one leaves its
 * buffer.
 */
import { foldBinary, foldCompare } from "../ir/functions.js";
import { bufferOf, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../ir/module.js";
import type { BinaryFunction, Comparison } from "../ir/ops.js";
import { scalarOf } from "../ir/types.js";
import { walk } from "../ir/visit.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";

/** An access with an index outside its dimension. */
export interface OutsideDimension {
  readonly op: Op;
  readonly rank: number;
  readonly buffer: string;
  readonly indices: readonly (number | null)[];
  /** The dimension that is left, its length and the index. */
  readonly dimension: number;
  readonly length: number;
  readonly index: number;
}

/** Iterations that are looked at one by one for one access; what has more is given up. */
const MOST_ITERATIONS = 1 << 18;

/** Turns of a loop that are looked at one by one in any case. */
const MOST_STEPS = 64;

/** Inclusive; null is anything. */
type Range = readonly [lo: number, hi: number] | null;

const YES: Range = [1, 1];
const MAYBE: Range = [0, 1];

/**
 * The first access of some rank that leaves a dimension; null if none is found.
 * @param kernel of rank level, or of device level with an index a dimension: `programOf` a compilation
 */
export function outsideDimension(kernel: Kernel, dims: DimValues): OutsideDimension | null {
  for (let rank = 0; rank < kernel.world; rank++) {
    for (const suspect of new Intervals(kernel, dims, rank).suspects()) {
      const found = new Iterations(kernel, dims, rank, suspect).first();
      if (found !== null) return found;
    }
  }
  return null;
}

/** What some rank gets to at some lengths, for all that intervals tell. */
export interface Reached {
  /** Loads and stores in loops that are entered, under conditions that may hold. */
  readonly accesses: ReadonlySet<Op>;
  /** Choices whose condition may hold, and those whose condition may not. */
  readonly holds: ReadonlySet<Op>;
  readonly fails: ReadonlySet<Op>;
}

export function reachedAt(kernel: Kernel, dims: DimValues): Reached {
  const [accesses, holds, fails] = [new Set<Op>(), new Set<Op>(), new Set<Op>()];
  for (let rank = 0; rank < kernel.world; rank++) {
    const intervals = new Intervals(kernel, dims, rank);
    intervals.suspects();
    intervals.reached.forEach((op) => accesses.add(op));
    for (const [op, range] of intervals.choices) {
      if (range[1] !== 0) holds.add(op);
      if (range[0] === 0) fails.add(op);
    }
  }
  return { accesses, holds, fails };
}

/** "index 7 of dimension 1 lies outside 'y', which has 7 there: store to 'y'[2, 7]". */
export function describeOutside({ op, buffer, indices, dimension, length, index }: OutsideDimension): string {
  const at = indices.map((i) => i ?? "…").join(", ");
  const what = op.name === "store" ? "a store to" : "a load of";
  return `index ${index} of dimension ${dimension} lies outside '${buffer}', which has ${length}: ${what} '${buffer}'[${at}]`;
}

interface Suspect {
  readonly op: Op;
  readonly parents: ReadonlySet<Op>;
}

/** What values may be, all iterations together. */
class Intervals {
  private readonly ranges = new Map<Value, Range>();
  private readonly found = new Map<Op, Suspect>();
  /** Accesses that are not behind a condition that fails, or in a loop that has no turns. */
  readonly reached = new Set<Op>();
  /** Conditions of choices. */
  readonly choices = new Map<Op, readonly [number, number]>();

  constructor(
    private readonly kernel: Kernel,
    private readonly dims: DimValues,
    private readonly rank: number,
  ) {}

  suspects(): readonly Suspect[] {
    this.region(this.kernel.body, []);
    return [...this.found.values()];
  }

  private of(v: Value): Range {
    return this.ranges.get(v) ?? null;
  }

  private region({ ops }: Region, parents: readonly Op[]): void {
    for (const op of ops) {
      const [result] = op.results;
      if (op.name === "if") this.branch(op, parents);
      else if (op.name === "for" || op.name === "reduce") this.loop(op, parents);
      else if (op.name === "load" || op.name === "store") this.access(op, parents);
      else if (result !== undefined) {
        if (op.name === "select") this.choose(op, this.of(op.operands[0]!));
        this.ranges.set(result, isWhole(result) ? this.range(op) : null);
      }
    }
  }

  private choose(op: Op, condition: Range): void {
    const [lo, hi] = condition ?? MAYBE!;
    const known = this.choices.get(op) ?? [lo, hi];
    this.choices.set(op, [Math.min(known[0], lo), Math.max(known[1], hi)]);
  }

  private branch(op: Op, parents: readonly Op[]): void {
    const condition = this.of(op.operands[0]!);
    // Where data decides, nobody knows here whether it is ever so.
    if (condition === null) {
      for (const region of op.regions)
        walk(region, (inner) => void ((inner.name === "load" || inner.name === "store") && this.reached.add(inner)));
      return;
    }
    if (condition[1] !== 0) this.region(op.regions[0]!, [...parents, op]);
    if (condition[0] === 0) this.region(op.regions[1]!, [...parents, op]);
  }

  private loop(op: Op, parents: readonly Op[]): void {
    const [body] = op.regions as readonly [Region];
    const ends = op.operands.map((v) => this.of(v));
    const [lo, hi] = ends;
    // Steps of an algorithm one by one, for indices and bounds inside are made of their number.
    const isInSteps = op.attributes["map"] !== "tiles" && body.arguments.length === 1;
    if (isInSteps && lo && hi && lo[0] === lo[1] && hi[0] === hi[1] && hi[0] - lo[0] <= MOST_STEPS) {
      for (let i = lo[0]; i < hi[0]; i++) {
        this.ranges.set(body.arguments[0]!, both(i));
        this.region(body, [...parents, op]);
      }
      return;
    }
    for (const [d, variable] of body.arguments.entries()) {
      const [from, to] = [ends[2 * d]!, ends[2 * d + 1]!];
      if (from !== null && to !== null && to[1] <= from[0]) return;
      this.ranges.set(variable, from === null || to === null ? null : [from[0], to[1] - 1]);
    }
    this.region(body, [...parents, op]);
  }

  private access(op: Op, parents: readonly Op[]): void {
    this.reached.add(op);
    const lengths = lengthsOf(this.kernel, op, this.dims);
    const isOutside = memoryOperands(op).indices.some((v, d) => {
      const range = this.of(v);
      return range !== null && (range[0] < 0 || range[1] >= lengths[d]!);
    });
    if (isOutside) this.found.set(op, { op, parents: new Set(parents) });
  }

  private range(op: Op): Range {
    const [a, b, c] = op.operands.map((v) => this.of(v));
    switch (op.name) {
      case "const":
        return both(op.attributes["value"] as number);
      case "dim":
        return both(this.dims[text(op, "name")]!);
      case "rank":
        return both(this.rank);
      case "launch_parity":
        return MAYBE;
      case "binary":
        return a && b ? binaryRange(op.attributes["fn"] as BinaryFunction, a, b) : null;
      case "compare":
        return a && b ? compareRange(op.attributes["fn"] as Comparison, a, b) : null;
      case "unary":
        return op.attributes["fn"] === "not" && a ? [1 - a[1], 1 - a[0]] : null;
      case "select":
        return a && b && c ? (a[0] === 1 ? b : a[1] === 0 ? c : [Math.min(b[0], c[0]), Math.max(b[1], c[1])]) : null;
      default:
        return null;
    }
  }
}

function both(n: number): Range {
  return [n, n];
}

/** Whether a value is an index or a condition: other numbers wrap, or are no whole numbers, and decide about no index. */
function isWhole(v: Value): boolean {
  if (v.type.kind !== "scalar") return false;
  const kind = scalarOf(v.type);
  return kind === "index" || kind === "bool";
}

function lengthsOf(kernel: Kernel, op: Op, dims: DimValues): number[] {
  return bufferOf(kernel, text(op, "buffer")).shape.map((e) => evaluateExtent(e, dims));
}

function binaryRange(fn: BinaryFunction, a: NonNullable<Range>, b: NonNullable<Range>): Range {
  const isOne = b[0] === b[1];
  switch (fn) {
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
      // add, mul, min, max and shifts: the ends lead to the ends.
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

/** Thrown to end the search. */
class Stop {
  constructor(readonly found: OutsideDimension | null) {}
}

/** One access, iteration by iteration. Values that depend on data are not there. */
class Iterations {
  private readonly values = new Map<Value, number>();
  private left = MOST_ITERATIONS;

  constructor(
    private readonly kernel: Kernel,
    private readonly dims: DimValues,
    private readonly rank: number,
    private readonly suspect: Suspect,
  ) {}

  first(): OutsideDimension | null {
    // Scratch in two copies is taken in turns.
    for (const parity of [0, 1])
      try {
        this.region(this.kernel.body, parity);
      } catch (e) {
        if (!(e instanceof Stop)) throw e;
        return e.found;
      }
    return null;
  }

  private region({ ops }: Region, parity: number): void {
    const { values, suspect } = this;
    for (const op of ops) {
      if (op === suspect.op) this.look(op);
      if (op.regions.length > 0) {
        if (suspect.parents.has(op)) this.enter(op, parity);
        continue;
      }
      const [result] = op.results;
      if (result === undefined || !isWhole(result)) continue;
      const value = this.compute(op, parity);
      if (value === undefined) values.delete(result);
      else values.set(result, value);
    }
  }

  private enter(op: Op, parity: number): void {
    if (op.name === "if") {
      const condition = this.values.get(op.operands[0]!);
      if (condition !== undefined) this.region(op.regions[condition !== 0 ? 0 : 1]!, parity);
      return;
    }
    const [body] = op.regions as readonly [Region];
    const bounds = op.operands.map((v) => this.values.get(v));
    const turn = (d: number): void => {
      const variable = body.arguments[d];
      if (variable === undefined) return this.region(body, parity);
      const [lo, hi] = [bounds[2 * d], bounds[2 * d + 1]];
      if (lo === undefined || hi === undefined) {
        this.values.delete(variable);
        return turn(d + 1);
      }
      for (let i = lo; i < hi; i++) {
        if (this.left-- <= 0) throw new Stop(null);
        this.values.set(variable, i);
        turn(d + 1);
      }
    };
    turn(0);
  }

  private look(op: Op): void {
    const lengths = lengthsOf(this.kernel, op, this.dims);
    const indices = memoryOperands(op).indices.map((v) => this.values.get(v) ?? null);
    const dimension = indices.findIndex((i, d) => i !== null && (i < 0 || i >= lengths[d]!));
    if (dimension < 0) return;
    const [index, length] = [indices[dimension]!, lengths[dimension]!];
    throw new Stop({ op, rank: this.rank, buffer: text(op, "buffer"), indices, dimension, length, index });
  }

  private compute(op: Op, parity: number): number | undefined {
    const operands = op.operands.map((v) => this.values.get(v));
    const [a, b, c] = operands;
    switch (op.name) {
      case "const":
        return op.attributes["value"] as number;
      case "dim":
        return this.dims[text(op, "name")];
      case "rank":
        return this.rank;
      case "launch_parity":
        return parity;
      case "select":
        return a === undefined ? undefined : a !== 0 ? b : c;
      case "binary":
        return a === undefined || b === undefined ? undefined : foldBinary(op.attributes["fn"] as BinaryFunction, a, b);
      case "compare":
        if (a === undefined || b === undefined) return undefined;
        return foldCompare(op.attributes["fn"] as Comparison, a, b) ? 1 : 0;
      case "unary":
        return a === undefined || op.attributes["fn"] !== "not" ? undefined : 1 - a;
      default:
        return undefined;
    }
  }
}
