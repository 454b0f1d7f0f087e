/** Arrays of float64, and what graphs do with them: plain loops, for references that nothing of the compiler is in. */

export interface Dense {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export function dense(shape: readonly number[], data: ArrayLike<number> = []): Dense {
  const size = sizeOf(shape);
  if (data.length !== 0 && data.length !== size)
    throw new RangeError(`${data.length} elements do not fill [${shape.join(", ")}]`);
  return { shape, data: data.length === 0 ? new Float64Array(size) : Float64Array.from(data) };
}

export const scalar = (value: number): Dense => dense([], [value]);

/** Row-major strides. */
export function stridesOf(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1);
  for (let d = shape.length - 2; d >= 0; d--) strides[d] = strides[d + 1]! * shape[d + 1]!;
  return strides;
}

/** An array whose element at each index is what `at` says. The index is the same object each time. */
export function build(shape: readonly number[], at: (index: readonly number[]) => number): Dense {
  const out = dense(shape);
  const index = shape.map(() => 0);
  for (let i = 0; i < out.data.length; i++) {
    out.data[i] = at(index);
    for (let d = shape.length - 1; d >= 0 && ++index[d]! === shape[d]; d--) index[d] = 0;
  }
  return out;
}

export function broadcastShape(shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(0, ...shapes.map((s) => s.length));
  return Array.from({ length: rank }, (_, d) => {
    const lengths = shapes.map((s) => s[d - rank + s.length] ?? 1);
    const long = lengths.find((n) => n !== 1) ?? 1;
    if (lengths.some((n) => n !== 1 && n !== long))
      throw new RangeError(`shapes ${shapes.map((s) => `[${s.join(", ")}]`).join(" and ")} do not go together`);
    return long;
  });
}

/** Element by element; dimensions are matched from the last one, and one of length 1 repeats. */
export function map(fn: (...xs: number[]) => number, ...operands: readonly Dense[]): Dense {
  const shape = broadcastShape(operands.map((x) => x.shape));
  const steps = operands.map(({ shape: own }) => {
    const strides = stridesOf(own);
    return shape.map((_, d) => (own[d - shape.length + own.length] ?? 1) === 1 ? 0 : strides[d - shape.length + own.length]!); // prettier-ignore
  });
  return build(shape, (index) =>
    fn(...operands.map((x, i) => x.data[index.reduce((sum, n, d) => sum + n * steps[i]![d]!, 0)]!)),
  );
}

/** Of the last two dimensions; those before them are batches, and broadcast. */
export function product(a: Dense, b: Dense): Dense {
  const [m, k] = a.shape.slice(-2) as [number, number];
  const [rows, n] = b.shape.slice(-2) as [number, number];
  if (rows !== k) throw new RangeError(`[${a.shape.join(", ")}] and [${b.shape.join(", ")}] cannot be multiplied`);
  const batches = broadcastShape([a.shape.slice(0, -2), b.shape.slice(0, -2)]);
  const offset = (x: Dense, batch: readonly number[], size: number): number => {
    const own = x.shape.slice(0, -2);
    const strides = stridesOf(own);
    return size * own.reduce((sum, length, d) => sum + (length === 1 ? 0 : batch[batch.length - own.length + d]! * strides[d]!), 0); // prettier-ignore
  };
  return build([...batches, m, n], (index) => {
    const batch = index.slice(0, -2);
    const [i, j] = index.slice(-2) as [number, number];
    const [left, right] = [offset(a, batch, m * k) + i * k, offset(b, batch, k * n) + j];
    let sum = 0;
    for (let x = 0; x < k; x++) sum += a.data[left + x]! * b.data[right + x * n]!;
    return sum;
  });
}

/** Along one dimension, which has length 1 afterwards. */
export function reduce(fn: (a: number, b: number) => number, first: number, a: Dense, dim: number): Dense {
  const strides = stridesOf(a.shape);
  return build(a.shape.with(dim, 1), (index) => {
    const base = index.reduce((sum, n, d) => sum + n * strides[d]!, 0);
    let value = first;
    for (let i = 0; i < a.shape[dim]!; i++) value = fn(value, a.data[base + i * strides[dim]!]!);
    return value;
  });
}

export function permuted(a: Dense, order: readonly number[]): Dense {
  const strides = stridesOf(a.shape);
  const shape = order.map((d) => a.shape[d]!);
  return build(shape, (index) => a.data[index.reduce((sum, n, d) => sum + n * strides[order[d]!]!, 0)]!);
}

export const reshaped = (a: Dense, shape: readonly number[]): Dense => dense(shape, a.data);

/** The part from `from` on, of that shape; every `step`-th element where steps are given. */
export function part(a: Dense, from: readonly number[], shape: readonly number[], step: readonly number[] = []): Dense {
  const strides = stridesOf(a.shape);
  return build(shape, (index) => a.data[index.reduce((sum, n, d) => sum + (n * (step[d] ?? 1) + from[d]!) * strides[d]!, 0)]!); // prettier-ignore
}

/** The `i`-th of `count` equal parts along a dimension. */
export function shard(a: Dense, dim: number, i: number, count: number): Dense {
  const length = a.shape[dim]! / count;
  return part(a, a.shape.map((_, d) => (d === dim ? i * length : 0)), a.shape.with(dim, length)); // prettier-ignore
}

/** One after the other along a dimension. */
export function joined(parts: readonly Dense[], dim: number): Dense {
  const [first] = parts as [Dense];
  const ends = parts.reduce<number[]>((all, p) => [...all, (all.at(-1) ?? 0) + p.shape[dim]!], []);
  const strides = parts.map((p) => stridesOf(p.shape));
  return build(first.shape.with(dim, ends.at(-1)!), (index) => {
    const which = ends.findIndex((end) => index[dim]! < end);
    const start = which === 0 ? 0 : ends[which - 1]!;
    return parts[which]!.data[index.reduce((sum, n, d) => sum + (d === dim ? n - start : n) * strides[which]![d]!, 0)]!;
  });
}

/** Abramowitz and Stegun, 7.1.26, refined by the series where it converges fast: exact to 1e-12 or so. */
export function erf(x: number): number {
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  if (a < 3) {
    let [term, sum] = [a, a];
    for (let n = 1; n < 80; n++) {
      term *= -(a * a) / n;
      sum += term / (2 * n + 1);
    }
    return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
  }
  // Continued fraction of erfc.
  let f = 0;
  for (let n = 60; n > 0; n--) f = n / 2 / (a + f);
  return Math.sign(x) * (1 - Math.exp(-a * a) / Math.sqrt(Math.PI) / (a + f));
}

/** Of two whole numbers that are as near, the even one. */
const halfToEven = (x: number): number =>
  Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.sign(x) * Math.round(Math.abs(x));

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** Functions of one element, by the names that the language and aten share. */
export const FUNCTIONS: Readonly<Record<string, (x: number) => number>> = {
  neg: (x) => -x,
  not: (x) => (x === 0 ? 1 : 0),
  exp: Math.exp,
  exp2: (x) => 2 ** x,
  expm1: Math.expm1,
  log: Math.log,
  log1p: Math.log1p,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  sin: Math.sin,
  cos: Math.cos,
  tanh: Math.tanh,
  erf,
  sigmoid,
  silu: (x) => x * sigmoid(x),
  gelu: (x) => (x / 2) * (1 + erf(x / Math.SQRT2)),
  floor: Math.floor,
  ceil: Math.ceil,
  round: halfToEven,
  trunc: Math.trunc,
  abs: Math.abs,
  relu: (x) => (x <= 0 ? 0 : x),
};

/** Functions of two. */
export const PAIRS: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  pow: Math.pow,
  min: Math.min,
  max: Math.max,
  and: (a, b) => (a !== 0 && b !== 0 ? 1 : 0),
  or: (a, b) => (a !== 0 || b !== 0 ? 1 : 0),
  eq: (a, b) => Number(a === b),
  ne: (a, b) => Number(a !== b),
  lt: (a, b) => Number(a < b),
  le: (a, b) => Number(a <= b),
  gt: (a, b) => Number(a > b),
  ge: (a, b) => Number(a >= b),
};

/** Reductions along a dimension; `mean` is a sum, divided. */
export function reduction(fn: string, a: Dense, dim: number): Dense {
  if (fn === "mean") return map((x) => x / a.shape[dim]!, reduction("sum", a, dim));
  const [pair, first] =
    fn === "sum" ? ["add", 0] as const : fn === "prod" ? ["mul", 1] as const : fn === "min" ? ["min", Infinity] as const : ["max", -Infinity] as const; // prettier-ignore
  return reduce(PAIRS[pair]!, first, a, dim);
}
