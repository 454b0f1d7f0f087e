/**
 * Does every index stay inside its dimension? `y[i, n]` lies inside the buffer of y, as `y[i + 1, 0]`, and is a slip all
 * the same. Once indices are linear nobody can tell, so this looks at the kernel while it has one index a dimension.
 *
 * For given dimensions, one rank after the other: first with intervals, which costs as much as there are ops, however
 * many elements there are; then, only for accesses that intervals cannot excuse, iteration by iteration. Indices that
 * depend on data, and accesses under conditions that do, are looked at for data that is known.
 */
import { foldBinary, foldCompare, REDUCE } from "../ir/functions.js";
import { bufferOf, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../ir/module.js";
import type { BinaryFunction, Comparison, Reduction } from "../ir/ops.js";
import { scalarOf } from "../ir/types.js";
import { isInteger, type ScalarKind } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import { both, MAYBE, type Range, rangeOf } from "./ranges.js";

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

/** Elements of inputs, where they are known: of whose, at which launch, by linear index. */
export type KnownElements = (launch: number, buffer: string, rank: number, index: number) => number | undefined;

/** Iterations that are looked at one by one for one access; what has more is given up. */
const MOST_ITERATIONS = 1 << 18;

/**
 * The first access of some rank that leaves a dimension; null if none is found.
 * @param kernel of rank level, or of device level with an index a dimension: `programOf` a compilation
 * @param data for indices and conditions that are made of data; without it, these are not looked at
 */
export function outsideDimension(
  kernel: Kernel,
  dims: DimValues,
  data: KnownElements | null = null,
): OutsideDimension | null {
  for (let rank = 0; rank < kernel.world; rank++) {
    for (const suspect of suspectsOf(kernel, dims, rank, data !== null)) {
      const found = new Iterations(kernel, dims, rank, suspect, data).first();
      if (found !== null) return found;
    }
  }
  return null;
}

/** "index 7 of dimension 1 lies outside 'y', which has 7 there: store to 'y'[2, 7]". */
export function describeOutside({ op, buffer, indices, dimension, length, index }: OutsideDimension): string {
  const at = indices.map((i) => i ?? "…").join(", ");
  const what = op.name === "store" ? "a store to" : "a load of";
  return `index ${index} of dimension ${dimension} lies outside '${buffer}', which has ${length}: ${what} '${buffer}'[${at}]`;
}

/** Thrown to end the search. */
class Stop {
  constructor(readonly found: OutsideDimension | null) {}
}

/** One access, iteration by iteration. Values that depend on data are there as far as that is known. */
class Iterations {
  private readonly values = new Map<Value, number>();
  private readonly lengths = new Map<Op, readonly number[]>();
  private left = MOST_ITERATIONS;

  constructor(
    private readonly kernel: Kernel,
    private readonly dims: DimValues,
    private readonly rank: number,
    private readonly suspect: Suspect,
    private readonly data: KnownElements | null,
  ) {}

  first(): OutsideDimension | null {
    // Scratch in two copies is taken in turns, and another launch has other data.
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
    const { suspect } = this;
    for (const op of ops) {
      if (op === suspect.op) this.look(op);
      const [result] = op.results;
      if (op.regions.length > 0) {
        if (suspect.parents.has(op)) this.enter(op, parity);
        else if (op.name === "reduce" && this.data !== null && isWhole(result!)) this.fold(op, parity);
        continue;
      }
      if (result === undefined || !isWhole(result)) continue;
      this.keep(result, this.compute(op, parity));
    }
  }

  /** Enters a value, if it is known. */
  private keep(result: Value, computed: number | undefined): void {
    if (computed !== undefined && isOfKind(computed, scalarOf(result.type))) this.values.set(result, computed);
    else this.values.delete(result);
  }

  private enter(op: Op, parity: number): void {
    if (op.name === "if") {
      const condition = this.values.get(op.operands[0]!);
      if (condition !== undefined) this.region(op.regions[condition !== 0 ? 0 : 1]!, parity);
      return;
    }
    const [body] = op.regions as readonly [Region];
    const bounds = op.operands.map((v) => this.values.get(v));
    const iteration = (d: number): void => {
      const variable = body.arguments[d];
      if (variable === undefined) return this.region(body, parity);
      const [lo, hi] = [bounds[2 * d], bounds[2 * d + 1]];
      if (lo === undefined || hi === undefined) {
        this.values.delete(variable);
        return iteration(d + 1);
      }
      for (let i = lo; i < hi; i++) {
        if (this.left-- <= 0) throw new Stop(null);
        this.values.set(variable, i);
        iteration(d + 1);
      }
    };
    iteration(0);
  }

  /** A sum of counts, or another fold that an index is made of. */
  private fold(op: Op, parity: number): void {
    const { values } = this;
    const [body] = op.regions as readonly [Region];
    const [lo, hi] = op.operands.map((v) => values.get(v));
    const { fn, identity } = REDUCE[op.attributes["fn"] as Reduction];
    const kind = scalarOf(op.results[0]!.type);
    let total: number | undefined = lo === undefined || hi === undefined ? undefined : identity(kind);
    for (let i = lo ?? 0; i < (hi ?? 0) && total !== undefined; i++) {
      if (this.left-- <= 0) throw new Stop(null);
      values.set(body.arguments[0]!, i);
      this.region(body, parity);
      const term = values.get(body.ops.at(-1)!.operands[0]!);
      total = term === undefined ? undefined : foldBinary(fn, total, term);
      if (total !== undefined && !isOfKind(total, kind)) total = undefined;
    }
    this.keep(op.results[0]!, total);
  }

  private loaded(op: Op, parity: number): number | undefined {
    const { peer, indices } = memoryOperands(op);
    const whose = peer === null ? this.rank : this.values.get(peer);
    const lengths = this.lengthsOf(op);
    let at: number | undefined = 0;
    for (const [d, v] of indices.entries()) {
      const i = this.values.get(v);
      at = i === undefined || at === undefined ? undefined : at * lengths[d]! + i;
    }
    return at === undefined || whose === undefined ? undefined : this.data?.(parity, text(op, "buffer"), whose, at);
  }

  private look(op: Op): void {
    const lengths = this.lengthsOf(op);
    const { indices: at } = memoryOperands(op);
    const isOutside = (i: number | undefined, d: number): boolean => i !== undefined && (i < 0 || i >= lengths[d]!);
    const dimension = at.findIndex((v, d) => isOutside(this.values.get(v), d));
    if (dimension < 0) return;
    const indices = at.map((v) => this.values.get(v) ?? null);
    const [index, length] = [indices[dimension]!, lengths[dimension]!];
    throw new Stop({ op, rank: this.rank, buffer: text(op, "buffer"), indices, dimension, length, index });
  }

  private lengthsOf(op: Op): readonly number[] {
    let lengths = this.lengths.get(op);
    if (lengths === undefined) this.lengths.set(op, (lengths = lengthsOf(this.kernel, op, this.dims)));
    return lengths;
  }

  private compute(op: Op, parity: number): number | undefined {
    const operand = (k: number): number | undefined => {
      const v = op.operands[k];
      return v === undefined ? undefined : this.values.get(v);
    };
    const [a, b] = [operand(0), operand(1)];
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
        return a === undefined ? undefined : a !== 0 ? b : operand(2);
      case "binary":
        return a === undefined || b === undefined ? undefined : foldBinary(op.attributes["fn"] as BinaryFunction, a, b);
      case "compare":
        if (a === undefined || b === undefined) return undefined;
        return foldCompare(op.attributes["fn"] as Comparison, a, b) ? 1 : 0;
      case "unary":
        return a === undefined || op.attributes["fn"] !== "not" ? undefined : 1 - a;
      case "cast":
        return a;
      case "load":
        return this.loaded(op, parity);
      default:
        return undefined;
    }
  }
}

/** Iterations of a loop that are looked at one by one in any case. */
const MOST_STEPS = 64;

/** An access that may leave a dimension, and the loops and conditions around it. */
interface Suspect {
  readonly op: Op;
  readonly parents: ReadonlySet<Op>;
}

/** Accesses of a rank that intervals cannot excuse. */
function suspectsOf(kernel: Kernel, dims: DimValues, rank: number, hasData: boolean): readonly Suspect[] {
  return new Intervals(kernel, dims, rank, hasData).suspects();
}

/** What values may be, all iterations together: that costs as much as there are ops. */
class Intervals {
  private readonly ranges = new Map<Value, Range>();
  private readonly found = new Map<Op, Suspect>();
  private readonly parents: Op[] = [];

  constructor(
    private readonly kernel: Kernel,
    private readonly dims: DimValues,
    private readonly rank: number,
    /** Whether what depends on data is looked at, too. */
    private readonly hasData: boolean,
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
        if (isWhole(result)) this.ranges.set(result, this.range(op));
      }
    }
  }

  private branch(op: Op): void {
    const condition = this.of(op.operands[0]!);
    // Where data decides, nobody knows here whether it is ever so.
    if (condition === null && !this.hasData) return;
    this.parents.push(op);
    if (condition === null || condition[1] !== 0) this.region(op.regions[0]!);
    if (condition === null || condition[0] === 0) this.region(op.regions[1]!);
    this.parents.pop();
  }

  private loop(op: Op): void {
    this.parents.push(op);
    this.iterations(op);
    this.parents.pop();
  }

  private iterations(op: Op): void {
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
    const lengths = lengthsOf(this.kernel, op, this.dims);
    const isOutside = memoryOperands(op).indices.some((v, d) => {
      const range = this.of(v);
      return range === null ? this.hasData : range[0] < 0 || range[1] >= lengths[d]!;
    });
    if (isOutside) this.found.set(op, { op, parents: new Set(this.parents) });
  }

  private range(op: Op): Range {
    switch (op.name) {
      case "dim":
        return both(this.dims[text(op, "name")]!);
      case "rank":
        return both(this.rank);
      case "launch_parity":
        return MAYBE;
      default:
        return rangeOf(
          op,
          op.operands.map((v) => this.of(v)),
        );
    }
  }
}

/** Whether a value is an index, a condition or a whole number: others decide about no index. */
function isWhole(v: Value): boolean {
  if (v.type.kind !== "scalar") return false;
  const kind = scalarOf(v.type);
  return kind === "index" || kind === "bool" || isInteger(kind);
}

/** Whether a number is one of its kind: what wraps is another, and what doubles do not count may be. */
function isOfKind(x: number, kind: ScalarKind): boolean {
  return Number.isSafeInteger(x) && x >= REDUCE.max.identity(kind) && x <= REDUCE.min.identity(kind);
}

/** Lengths of the dimensions that an access goes to. */
function lengthsOf(kernel: Kernel, op: Op, dims: DimValues): number[] {
  return bufferOf(kernel, text(op, "buffer")).shape.map((e) => evaluateExtent(e, dims));
}
