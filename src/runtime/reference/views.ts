/** Broadcasts, parts, and other arrangements of tensors: elements move, and none is computed. */
import { evaluateExtent, type Specification } from "../../compiler/index.js";
import { type Context, evaluateRows, evaluateWhole, specificationShape, wholeOf } from "./evaluate.js";
import { rowLength, type Rows } from "./logical.js";
import { wideOf } from "./wide.js";

type Node<K extends Specification["kind"]> = Extract<Specification, { kind: K }>;

/** Row-major steps of each dimension. */
function stepsOf(shape: readonly number[]): number[] {
  const steps = new Array<number>(shape.length);
  for (let d = shape.length - 1, step = 1; d >= 0; d--) {
    steps[d] = step;
    step *= shape[d]!;
  }
  return steps;
}

/** The elements of `shape` in order, each taken from `start` + Σ index · step. */
function gather(rows: Rows, shape: readonly number[], steps: readonly number[], start = 0): Rows {
  const count = shape.reduce((a, n) => a * n, 1);
  const from = new Int32Array(count);
  const index = new Array<number>(shape.length).fill(0);
  let at = start;
  for (let i = 0; i < count; i++) {
    from[i] = at;
    for (let d = shape.length - 1; d >= 0; d--) {
      at += steps[d]!;
      if (++index[d]! < shape[d]!) break;
      at -= index[d]! * steps[d]!;
      index[d] = 0;
    }
  }
  return taken(rows, count, (i) => from[i]!);
}

/** `count` elements, each the one at its place among the rows. */
function taken({ values, error, copied, sizes, wide }: Rows, count: number, place: (i: number) => number): Rows {
  const take = (x: Float64Array): Float64Array => Float64Array.from({ length: count }, (_, i) => x[place(i)]!);
  const whole = wide && { wide: BigInt64Array.from({ length: count }, (_, i) => wide[place(i)]!) };
  return { values: take(values), error: error && take(error), copied, ...(sizes && { sizes: take(sizes) }), ...whole };
}

/** Rows of an operand, broadcast to the rows of a value of that shape. */
export function spreadRows(
  s: Specification,
  shape: readonly number[],
  c: Context,
  first: number,
  last: number,
  self: number,
): Rows {
  const own = specificationShape(s, c);
  const isRowByRow = own.length === shape.length && own[0] === shape[0];
  const rows = isRowByRow ? evaluateRows(s, c, first, last, self) : evaluateWhole(s, c, self);
  const wanted = shape.length === 0 ? [] : [last - first, ...shape.slice(1)];
  if (isRowByRow && own.every((n, d) => n === shape[d])) return rows;
  const held = isRowByRow ? [last - first, ...own.slice(1)] : own;
  const steps = stepsOf(held);
  const missing = shape.length - own.length;
  return gather(
    rows,
    wanted,
    shape.map((_, d) => (d < missing || held[d - missing] === 1 ? 0 : steps[d - missing]!)),
  );
}

export function permuteRows(s: Node<"permute">, c: Context, first: number, last: number, self: number): Rows {
  const own = specificationShape(s.a, c);
  const keepsRows = s.order[0] === 0;
  const rows = keepsRows ? evaluateRows(s.a, c, first, last, self) : evaluateWhole(s.a, c, self);
  const steps = stepsOf(keepsRows ? [last - first, ...own.slice(1)] : own);
  const shape = specificationShape(s, c);
  const start = keepsRows ? 0 : first * steps[s.order[0]!]!;
  return gather(
    rows,
    [last - first, ...shape.slice(1)],
    s.order.map((d) => steps[d]!),
    start,
  );
}

/** A run of elements of the rows, where they lie. */
export function sub(rows: Rows, from: number, to: number): Rows {
  return {
    values: rows.values.subarray(from, to),
    error: rows.error === null ? null : rows.error.subarray(from, to),
    copied: rows.copied,
    ...(rows.sizes && { sizes: rows.sizes.subarray(from, to) }),
    ...(rows.wide && { wide: rows.wide.subarray(from, to) }),
  };
}

export function reshapeRows(s: Node<"reshape">, c: Context, first: number, last: number, self: number): Rows {
  const row = rowLength(specificationShape(s, c));
  const own = rowLength(specificationShape(s.a, c));
  const [from, to] = [first * row, last * row];
  if (own > 0 && from % own === 0 && to % own === 0) return evaluateRows(s.a, c, from / own, to / own, self);
  return sub(evaluateWhole(s.a, c, self), from, to);
}

export function repeatRows(s: Node<"repeat">, c: Context, first: number, last: number, self: number): Rows {
  const { dim, times } = s;
  const from = dim === 0 ? Math.floor(first / times) : first;
  const rows = evaluateRows(s.a, c, from, dim === 0 ? Math.ceil(last / times) : last, self);
  const shape = [last - first, ...specificationShape(s, c).slice(1)];
  const inner = shape.slice(dim + 1).reduce((a, n) => a * n, 1);
  const start = dim === 0 ? first - from * times : 0;
  return taken(rows, shape.reduce((a, n) => a * n, 1), (i) => {
    const line = Math.floor(i / inner) + start;
    return Math.floor(line / times) * inner + (i % inner);
  }); // prettier-ignore
}

export function sliceRows(s: Node<"slice">, c: Context, first: number, last: number, self: number): Rows {
  const from = s.from.map((e) => evaluateExtent(e, c.dims));
  const own = specificationShape(s.a, c);
  const rows = evaluateRows(s.a, c, first + from[0]!, last + from[0]!, self);
  const steps = stepsOf(own);
  const start = from.slice(1).reduce((sum, n, d) => sum + n * steps[d + 1]!, 0);
  return gather(rows, [last - first, ...specificationShape(s, c).slice(1)], steps, start);
}

export function concatRows(s: Node<"concat">, c: Context, first: number, last: number, self: number): Rows {
  const shape = specificationShape(s, c);
  const count = (last - first) * rowLength(shape);
  const values = new Float64Array(count);
  const error = new Float64Array(count);
  const sizes = new Float64Array(count);
  const wide = wholeOf(s, c) === "i64" ? new BigInt64Array(count) : null;
  let [isExact, copied, isWhole] = [true, true, true];
  const inner = shape.slice(s.dim + 1).reduce((a, n) => a * n, 1);
  const whole = shape[s.dim]! * inner;
  let start = 0;
  for (const part of s.parts) {
    const length = specificationShape(part, c)[s.dim]!;
    const [lo, hi] = s.dim === 0 ? [Math.max(first - start, 0), Math.min(last - start, length)] : [first, last];
    if (hi > lo) {
      const rows = evaluateRows(part, c, lo, hi, self);
      const width = s.dim === 0 ? rows.values.length : length * inner;
      const offset = s.dim === 0 ? (lo + start - first) * inner : start * inner;
      for (let at = 0, to = offset; at < rows.values.length; at += width, to += whole) {
        values.set(rows.values.subarray(at, at + width), to);
        wide?.set(wideOf(rows).subarray(at, at + width), to);
        if (rows.error !== null) error.set(rows.error.subarray(at, at + width), to);
        sizes.set(rows.sizes?.subarray(at, at + width) ?? rows.values.subarray(at, at + width).map(Math.abs), to);
      }
      isExact &&= rows.error === null;
      isWhole &&= rows.sizes === undefined;
      copied &&= rows.copied;
    }
    start += length;
  }
  return { values, error: isExact ? null : error, copied, ...(isWhole ? {} : { sizes }), ...(wide && { wide }) };
}
