/** Matrix products in float64, blocked for the cache, with their error bound. */
import { DTYPES, LAMBDA, partsOfSpecification, type Specification, U32 } from "../../compiler/index.js";
import { type Context, evaluateRows, evaluateWhole, keptRows, specificationShape, wholeOf } from "./evaluate.js";
import { epsilonOf, isSharded } from "./over-ranks.js";
import { type Rows, type Whole, wrap } from "./logical.js";
import { spreadRows, sub } from "./views.js";
import { wideOf, wideRows, wrapWide } from "./wide.js";

/** Rows of b that are held in float64 at a time. */
const PANEL = 128;
/** A b of at most so many elements is kept for the next rows of a: a few columns of a large one. */
const KEPT = 2 ** 18;

/** Terms of a product of f8 that tensor cores add up before f32 does. */
const STAGE = 128;

/**
 * Of ‖a_i‖·‖b_j‖, what tensor cores may err by in a product of f8 of `k` random terms: they keep 13 bits behind the first of the largest of
 * 33 addends (DeepSeek-V3 technical report, 2024, section 3.3.2), so that the 132 additions of a stage lose up to √132·2^-13 of its
 * largest partial sum, as they would in a random walk, and stages do not lose the same. An H200 showed up to 2^-10.6 at k = 256.
 */
function narrowEpsilon({ a, b }: Extract<Specification, { kind: "matmul" }>, c: Context, k: number): number {
  const isNarrow = (s: Specification): boolean => {
    if (s.kind !== "input") return partsOfSpecification(s).some(isNarrow);
    const { bytes, kind } = DTYPES[c.manifest.inputs.find(({ name }) => name === s.name)!.dtype];
    return bytes === 1 && kind === "float";
  };
  return isNarrow(a) && isNarrow(b) ? 2 ** -9 * Math.sqrt(STAGE / Math.max(k, STAGE)) : 0;
}

/** Rows `first` … `last` of a·b. Operands that are themselves computed may have been rounded to the input dtype. */
export function evaluateProduct(
  s: Extract<Specification, { kind: "matmul" }>,
  c: Context,
  first: number,
  last: number,
  self: number,
): Rows {
  const shape = specificationShape(s, c);
  const whole = wholeOf(s, c);
  if (whole !== null) return wholeProduct(s, shape, whole, c, first, last, self);
  if (shape.length > 2) return evaluateBatches(s, shape, c, first, last, self);
  const k = specificationShape(s.a, c)[1]!;
  const n = shape[1]!;
  const m = last - first;
  const isKept = k * n <= KEPT;
  const a = rounded(isKept ? keptRows(s.a, c, first, last, self) : evaluateRows(s.a, c, first, last, self), s.a, c);
  const wholeB = isKept ? rounded(evaluateWhole(s.b, c, self), s.b, c) : null;
  const values = new Float64Array(m * n);
  const columns = new Float64Array(n);
  const columnErrors = new Float64Array(n);
  let bErrs = false;
  // Of an operand that is a sum over ranks, each rank multiplies its part, and rounds what comes of it.
  let sizes: Float64Array | null = null;
  const parts = isSplit(s, c) && k % c.manifest.ranks === 0 ? new Parts(m * n) : null;
  const slice = k / c.manifest.ranks;
  for (let p = 0, end = 0; p < k; p = end) {
    end = Math.min(p + PANEL, k, parts === null ? k : (Math.floor(p / slice) + 1) * slice);
    const b = wholeB === null ? rounded(evaluateRows(s.b, c, p, end, self), s.b, c) : sub(wholeB, p * n, end * n);
    addPanel(parts?.values ?? values, a.values, b.values, m, n, k, p, end - p);
    if (a.sizes !== undefined || b.sizes !== undefined) {
      sizes ??= new Float64Array(m * n);
      addPanel(sizes, magnitudes(a), magnitudes(b), m, n, k, p, end - p);
    }
    if (parts !== null && end % slice === 0) parts.finish(values);
    addSquares(columns, b.sizes ?? b.values, n);
    if (b.error !== null) {
      addSquares(columnErrors, b.error, n);
      bErrs = true;
    }
  }
  const unit = LAMBDA * Math.sqrt(k) * U32 + narrowEpsilon(s, c, k);
  const norms = columns.map(Math.sqrt);
  const errorNorms = bErrs ? columnErrors.map(Math.sqrt) : null;
  const error = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    const length = norm(a.sizes ?? a.values, i * k, k);
    const off = a.error === null ? 0 : norm(a.error, i * k, k);
    for (let j = 0; j < n; j++) {
      const fromB = errorNorms === null ? 0 : (length + off) * errorNorms[j]!;
      error[i * n + j] = (unit * length + off) * norms[j]! + fromB;
    }
  }
  parts?.addErrors(error, epsilonOf(s, c) + c.manifest.ranks * U32);
  const partSizes = sizes ?? parts?.sizes;
  return { values, error, copied: false, ...(partSizes === undefined ? {} : { sizes: partSizes }) };
}

const magnitudes = ({ values, sizes }: Rows): Float64Array => sizes ?? values.map(Math.abs);

/** Products of more than two dimensions: each pair of matrices by itself, operands broadcast along the batches. */
function evaluateBatches(
  s: Extract<Specification, { kind: "matmul" }>,
  shape: readonly number[],
  c: Context,
  first: number,
  last: number,
  self: number,
): Rows {
  const k = specificationShape(s.a, c).at(-1)!;
  const [m, n] = shape.slice(-2) as [number, number];
  const batches = shape.slice(0, -2);
  const a = rounded(spreadRows(s.a, [...batches, m, k], c, first, last, self), s.a, c);
  const b = rounded(spreadRows(s.b, [...batches, k, n], c, first, last, self), s.b, c);
  const count = batches.slice(1).reduce((x, y) => x * y, last - first);
  const values = new Float64Array(count * m * n);
  const error = new Float64Array(count * m * n);
  const isSum = a.sizes !== undefined || b.sizes !== undefined;
  const [sizesA, sizesB] = isSum ? [magnitudes(a), magnitudes(b)] : [a.values, b.values];
  const sizes = isSum ? new Float64Array(count * m * n) : null;
  const slice = isSplit(s, c) && k % c.manifest.ranks === 0 ? k / c.manifest.ranks : k;
  const partError = slice < k ? epsilonOf(s, c) + c.manifest.ranks * U32 : 0;
  const unit = LAMBDA * Math.sqrt(k) * U32 + narrowEpsilon(s, c, k);
  for (let at = 0; at < values.length; at++) {
    const j = at % n;
    const row = Math.floor(at / n);
    const ofA = row * k;
    const ofB = Math.floor(row / m) * k * n + j;
    let [sumA, sumB, errA, errB, parts, part] = [0, 0, 0, 0, 0, 0];
    for (let q = 0; q < k; q++) {
      const [x, y] = [a.values[ofA + q]!, b.values[ofB + q * n]!];
      part += x * y;
      const [sizeA, sizeB] = [sizesA[ofA + q]!, sizesB[ofB + q * n]!];
      sumA += sizeA * sizeA;
      sumB += sizeB * sizeB;
      if (sizes !== null) sizes[at] = sizes[at]! + sizeA * sizeB;
      errA += (a.error?.[ofA + q] ?? 0) ** 2;
      errB += (b.error?.[ofB + q * n] ?? 0) ** 2;
      if ((q + 1) % slice === 0) {
        values[at] = values[at]! + part;
        parts += Math.abs(part);
        part = 0;
      }
    }
    const [lengthA, lengthB, offA, offB] = [sumA, sumB, errA, errB].map(Math.sqrt) as [number, number, number, number];
    error[at] = (unit * lengthA + offA) * lengthB + (lengthA + offA) * offB + partError * parts;
  }
  return { values, error, copied: false, ...(sizes === null ? {} : { sizes }) };
}

/** A product of whole numbers, which wrap: what float64 cannot hold, `Math.imul` can. */
function wholeProduct(
  s: Extract<Specification, { kind: "matmul" }>,
  shape: readonly number[],
  whole: Whole,
  c: Context,
  first: number,
  last: number,
  self: number,
): Rows {
  const k = specificationShape(s.a, c).at(-1)!;
  const [m, n] = shape.slice(-2) as [number, number];
  const batches = shape.slice(0, -2);
  const isPlain = batches.length === 0;
  const rows = isPlain ? last - first : m;
  const left = spreadRows(s.a, [...batches, m, k], c, first, last, self);
  const right = isPlain ? evaluateRows(s.b, c, 0, k, self) : spreadRows(s.b, [...batches, k, n], c, first, last, self);
  const [a, b] = [left.values, right.values];
  const count = isPlain ? 1 : batches.slice(1).reduce((x, y) => x * y, last - first);
  const placeOfB = (at: number): number => Math.floor(Math.floor(at / n) / rows) * k * n + (at % n);
  if (whole === "i64") {
    const [x, y] = [wideOf(left), wideOf(right)];
    const wide = new BigInt64Array(count * rows * n);
    for (let at = 0; at < wide.length; at++) {
      let sum = 0n;
      for (let q = 0; q < k; q++) sum += x[Math.floor(at / n) * k + q]! * y[placeOfB(at) + q * n]!;
      wide[at] = wrapWide(sum);
    }
    return wideRows(wide);
  }
  const values = new Float64Array(count * rows * n);
  for (let at = 0; at < values.length; at++) {
    const row = Math.floor(at / n);
    const ofB = placeOfB(at);
    let sum = 0;
    for (let q = 0; q < k; q++) sum = (sum + Math.imul(a[row * k + q]!, b[ofB + q * n]!)) | 0;
    values[at] = wrap(whole, sum);
  }
  return { values, error: null, copied: false };
}

/**
 * Whether the contracted dimension lies over the ranks, of one operand at least: the other may have been cut on the way. Then each rank computes a part of the product:
 * a `partial(sum)` tensor, whose elements are of the operands' dtype, each rounded once before the sum.
 */
function isSplit(s: Extract<Specification, { kind: "matmul" }>, c: Context): boolean {
  const [rankA, rankB] = [specificationShape(s.a, c).length, specificationShape(s.b, c).length];
  return c.manifest.ranks > 1 && (isSharded(s.a, rankA - 1, c) || isSharded(s.b, rankB - 2, c));
}

/** The part of a product that one rank computes, and the sum of all parts' magnitudes. */
class Parts {
  readonly values: Float64Array;
  readonly sizes: Float64Array;

  constructor(n: number) {
    this.values = new Float64Array(n);
    this.sizes = new Float64Array(n);
  }

  /** Adds the part to the total, and starts the next one. */
  finish(total: Float64Array): void {
    const { values, sizes } = this;
    for (let i = 0; i < values.length; i++) {
      total[i] = total[i]! + values[i]!;
      sizes[i] = sizes[i]! + Math.abs(values[i]!);
    }
    values.fill(0);
  }

  addErrors(error: Float64Array, relative: number): void {
    for (let i = 0; i < error.length; i++) error[i] = error[i]! + relative * this.sizes[i]!;
  }
}

/** A computed operand of a product (a sum over ranks, too) is an intermediate tensor of its own dtype: one more rounding. */
function rounded(rows: Rows, s: Specification, c: Context): Rows {
  const u = epsilonOf(s, c);
  if (rows.copied || u === 0) return rows;
  return { ...rows, error: rows.values.map((v, i) => (rows.error?.[i] ?? 0) + u * (rows.sizes?.[i] ?? Math.abs(v))) };
}

/** c[m, n] += a[:, p … p + depth] · b, with b the panel's rows. Four rows of b at a time keep c in registers longer. */
function addPanel(
  c: Float64Array,
  a: Float64Array,
  b: Float64Array,
  m: number,
  n: number,
  k: number,
  p: number,
  depth: number,
): void {
  const whole = depth & ~3;
  for (let i = 0; i < m; i++) {
    const row = i * n;
    const from = i * k + p;
    for (let q = 0; q < whole; q += 4) {
      const a0 = a[from + q]!;
      const a1 = a[from + q + 1]!;
      const a2 = a[from + q + 2]!;
      const a3 = a[from + q + 3]!;
      const b0 = q * n;
      const b1 = b0 + n;
      const b2 = b1 + n;
      const b3 = b2 + n;
      for (let j = 0; j < n; j++)
        c[row + j] = c[row + j]! + a0 * b[b0 + j]! + a1 * b[b1 + j]! + a2 * b[b2 + j]! + a3 * b[b3 + j]!;
    }
    for (let q = whole; q < depth; q++) {
      const factor = a[from + q]!;
      for (let j = 0; j < n; j++) c[row + j] = c[row + j]! + factor * b[q * n + j]!;
    }
  }
}

function addSquares(sums: Float64Array, x: Float64Array, n: number): void {
  for (let at = 0; at < x.length; at += n) for (let j = 0; j < n; j++) sums[j] = sums[j]! + x[at + j]! * x[at + j]!;
}

function norm(x: Float64Array, from: number, n: number): number {
  let sum = 0;
  for (let i = from; i < from + n; i++) sum += x[i]! * x[i]!;
  return Math.sqrt(sum);
}
