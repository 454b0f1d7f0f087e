/** Folds along rows: which of them a block's threads share, and how. */
import type { Builder } from "../../ir/builder.js";
import { type Attributes, type Op, text, type Value } from "../../ir/module.js";
import { COMBINES, type Reduction } from "../../ir/ops.js";
import { scalar, scalarOf } from "../../ir/types.js";
import type { DType } from "../../types/dtype.js";
import type { Definitions } from "./analysis.js";

/** Longest row of known length that one thread folds by itself. */
const SHORT_ROW = 64;

/**
 * Whether the op folds a long row of elements in an order that is the compiler's to choose; the least and the greatest are the same in any.
 * Indices do not lie in memory, where threads would leave each other their parts.
 */
export function isRowFold(op: Op, definitions: Definitions): boolean {
  if (op.name !== "reduce" || scalarOf(op.results[0]!.type) === "index") return false;
  if (op.attributes["unordered"] !== true && op.attributes["fn"] !== "min" && op.attributes["fn"] !== "max")
    return false;
  const [lo, hi] = op.operands.map((v) => definitions.constant(v));
  return lo === undefined || hi === undefined || hi - lo > SHORT_ROW;
}

/**
 * The rows of one iteration of a block, `width` elements of each taken at once: by `threads`, each `lanes` neighbours; or, null, neighbouring rows
 * whose terms lie side by side, each element by a lane.
 */
export interface RowIteration {
  readonly count: Value;
  readonly width: Value;
  readonly threads: Value | null;
}

/** Which row of an iteration, and which place of `width` in it, number `q` of all its rows' is. */
export function rowAndPlace(
  build: Builder,
  { count, threads }: RowIteration,
  width: Value,
  q: Value,
): readonly [n: Value, place: Value] {
  if (threads === null) return [build.rem(q, count), build.div(q, count)];
  if (build.constantOf(count) === 1) return [build.constant(0), q];
  return [build.div(q, width), build.rem(q, width)];
}

/** A loop over threads in an iteration. Most have one iteration of it: written out several times, its invariants would fill the registers. */
export function rowThreads(build: Builder, count: Value, body: (q: Value) => void): void {
  build.for("threads", [[build.constant(0), count]], ([q]) => body(q!), { unroll: 1 });
}

/**
 * Steps of a thread in groups: as many of `together` as there are, of what is left as many of half of that, down to single ones.
 * @param at what is wanted of a step
 * @param group emits `count` groups; `each` gives what is wanted of the steps of one
 */
export function inGroups(
  build: Builder,
  steps: Value,
  together: number,
  at: (step: Value) => Value,
  group: (count: Value, each: (k: Value) => readonly Value[]) => void,
): void {
  let done = build.constant(0);
  for (let n = together; n >= 1; n = Math.floor(n / 2)) {
    const [from, size] = [done, build.constant(n)];
    const count = build.div(build.sub(steps, from), size);
    group(count, (k) => {
      const first = build.add(from, build.mul(k, size));
      return Array.from({ length: n }, (_, i) => at(build.add(first, build.constant(i))));
    });
    done = build.add(from, build.mul(count, size));
  }
}

/** What is left of the folded rows of an iteration: `count` parts a row, one row after the other; or the first part of each of `across` rows, then the second. */
export interface RowParts {
  readonly buffer: string;
  readonly dtype: DType;
  readonly count: Value;
  readonly across: Value | null;
}

/** Emits the terms `columns` of row `n` of an iteration. */
type Terms = (n: Value, columns: readonly Value[]) => readonly Value[];

/** Parts that a thread folds at a time. */
export const PARTS = 16;

export class RowFolds {
  /**
   * @param span elements of a row that threads take at once, neighbours `lanes` at a time
   * @param across most rows of an iteration whose terms lie side by side
   * @param shared declares shared memory under a name, once
   */
  constructor(
    private readonly build: Builder,
    private readonly span: number,
    private readonly lanes: number,
    private readonly across: number,
    private readonly shared: (name: string, dtype: DType, length: number) => string,
  ) {}

  /**
   * Folds `length` terms of each row of the iteration down to a few parts, in shared memory.
   * @param terms emits terms of row `n` of the iteration, their loads before what uses them, inside a loop over threads
   * @param together how many terms a thread should have in flight
   */
  parts(op: Op, iteration: RowIteration, length: Value, terms: Terms, together: number): RowParts {
    const { span } = this;
    const fn = text(op, "fn") as Reduction;
    const dtype = scalarOf(op.results[0]!.type) as DType;
    const buffer = this.shared("parts", dtype, span);
    const { count, width, threads } = iteration;
    const all = { buffer, dtype, count: width, across: threads === null ? count : null };
    this.ofRows(fn, all, iteration, length, terms, together);
    // 4096 parts become 512, then 32; across, 16 become one.
    const most = Math.max(span / this.lanes, Math.ceil(span / PARTS) + this.across);
    const fewer = this.shared("fewer_parts", dtype, most);
    const left = this.narrowed(fn, iteration, all, fewer, threads);
    return this.build.constantOf(left.count) === 1 ? left : this.narrowed(fn, iteration, left, buffer, null);
  }

  /** The fold of what is left of row `n`. */
  rest(op: Op, parts: RowParts, n: Value): Value {
    const { buffer, dtype, count } = parts;
    const at = this.placesOf(parts, n);
    return this.reduce(text(op, "fn") as Reduction, count, (k) => this.build.load(buffer, [at(k)], scalar(dtype)));
  }

  /** Where the parts of row `n` lie. */
  private placesOf({ count, across }: RowParts, n: Value): (k: Value) => Value {
    const { build } = this;
    if (across !== null) return (k) => build.add(build.mul(k, across), n);
    const first = build.mul(n, count);
    return (k) => build.add(first, k);
  }

  /**
   * A thread takes terms of one row that are `width` apart, so that neighbours take neighbouring ones. All threads have equally
   * many, so that those are taken at once; the terms that are over come after.
   */
  private ofRows(
    fn: Reduction,
    parts: RowParts,
    iteration: RowIteration,
    length: Value,
    terms: Terms,
    together: number,
  ): void {
    const { build } = this;
    const { buffer, dtype } = parts;
    const { count, width } = iteration;
    const steps = build.div(length, width);
    this.threads(build.mul(count, width), (q) => {
      const [n, place] = rowAndPlace(build, iteration, width, q);
      const at = (step: Value): Value => build.add(build.mul(step, width), place);
      const folded = this.inFlight(fn, steps, at, (columns) => terms(n, columns), together);
      build.store(buffer, folded, [q]);
    });
    const covered = build.mul(steps, width);
    const rest = build.sub(length, covered);
    this.threads(build.mul(count, rest), (q) => {
      const [n, place] = rowAndPlace(build, iteration, rest, q);
      const [value] = terms(n, [build.add(covered, place)]);
      const slot = parts.across === null ? this.placesOf(parts, n)(place) : q;
      build.store(buffer, build.binary(COMBINES[fn], build.load(buffer, [slot], scalar(dtype)), value!), [slot]);
    });
  }

  /** What a lane folds of so many terms, `together` at a time. @param at which term a step takes */
  private inFlight(
    fn: Reduction,
    steps: Value,
    at: (step: Value) => Value,
    terms: (columns: readonly Value[]) => readonly Value[],
    together: number,
  ): Value {
    const combined = (values: readonly Value[]): Value =>
      values.reduce((a, b) => this.build.binary(COMBINES[fn], a, b));
    const parts: Value[] = [];
    inGroups(this.build, steps, together, at, (count, each) => {
      parts.push(this.reduce(fn, count, (k) => combined(terms(each(k))), { unroll: 1 }));
    });
    return combined(parts);
  }

  /** @param each to how many parts, each of `lanes` that are so many apart; null for as many as {@link PARTS} at a time make */
  private narrowed(
    fn: Reduction,
    iteration: RowIteration,
    from: RowParts,
    buffer: string,
    each: Value | null,
  ): RowParts {
    const { build } = this;
    const count = each ?? build.ceilDiv(from.count, build.constant(PARTS));
    this.threads(build.mul(iteration.count, count), (q) => {
      const [n, part] = rowAndPlace(build, iteration, count, q);
      const first = this.placesOf(from, n)(part);
      const terms = each === null ? build.ceilDiv(build.sub(from.count, part), count) : build.constant(this.lanes);
      const step = from.across === null ? count : build.mul(count, from.across);
      const at = (k: Value): Value => build.add(first, build.mul(k, step));
      build.store(
        buffer,
        this.reduce(fn, terms, (k) => build.load(from.buffer, [at(k)], scalar(from.dtype))),
        [q],
      );
    });
    return { ...from, buffer, count };
  }

  private reduce(fn: Reduction, count: Value, body: (k: Value) => Value, extra: Attributes = {}): Value {
    return this.build.reduce(fn, this.build.constant(0), count, body, { unordered: true, ...extra });
  }

  /** A loop over threads at whose end they meet. */
  private threads(count: Value, body: (q: Value) => void): void {
    rowThreads(this.build, count, body);
    this.build.op("block_sync", [], {}, null);
  }
}
