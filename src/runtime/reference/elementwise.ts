/** Elementwise operations on rows in float64, each with the error that correct float32 arithmetic may add. */
import { DTYPES, FUNCTION_ULPS, InternalCompilerError, type DType, U32 } from "../../compiler/index.js";
import {
  carriedErrors,
  UNARY,
  maximum,
  minimum,
  power,
  type BinaryFunction,
  type Comparison,
  type UnaryFunction,
} from "../../compiler/index.js";
import { decode, encode, isNarrowFloat, SMALLEST_STEP, toI32 } from "../numbers/index.js";
import { type Rows, timesWhole, type Whole, type Whole32, wrap } from "./logical.js";
import { heldRows, wideBinary, wideOf, wideRows, wideUnary } from "./wide.js";

/** Below it float32 has no more bits the smaller a number is, but steps of 2⁻¹⁴⁹. */
const LEAST_NORMAL = 2 ** -126;

/** What rounding a number to float32 changes it by, at most. */
export function rounding(x: number): number {
  const size = Math.abs(x);
  return U32 * size + (size > 0 && size < LEAST_NORMAL ? 2 ** -150 : 0);
}

/** What a literal number among floats is off by, where float32 has no such number. */
export function constantError(x: number): number {
  return Number.isFinite(x) && Number.isFinite(Math.fround(x)) ? Math.abs(x - Math.fround(x)) : 0;
}

/** What a function of `x` that is `y` is off by, at most; where it goes through numbers below normal ones, as e⁻¹⁰⁰ is, by those steps times `x`. */
export function functionError(fn: UnaryFunction, x: number, y: number): number {
  // gelu subtracts nearly equal numbers for negative x, so its error goes with |x| and not with the result.
  const scale = fn === "gelu" ? Math.abs(x) : Math.abs(y);
  const isSmall = y !== 0 && Math.abs(y) < LEAST_NORMAL * (1 + Math.abs(x));
  return FUNCTION_ULPS * U32 * scale + (isSmall ? 2 ** -149 * (1 + Math.abs(x)) : 0);
}

/** @param whole how whole numbers wrap; null for floats */
export function unaryRows(fn: UnaryFunction, a: Rows, whole: Whole | null): Rows {
  const f = UNARY[fn].value;
  if (f === undefined) throw new InternalCompilerError(`the reference has no function '${String(fn)}'`);
  if (whole === "i64" && fn !== "not") return wideRows(wideOf(a).map(wideUnary(fn)));
  const values = a.values.map(whole === null || whole === "i64" || fn === "not" ? f : (x) => wrap(whole, f(x)));
  const exact = UNARY[fn].isExact === true;
  const sizes = fn === "neg" && a.sizes !== undefined ? { sizes: a.sizes } : {};
  if (exact && a.error === null) return { values, error: null, copied: false, ...sizes };
  const error = values.map((y, i) => {
    const x = a.values[i]!;
    const spread = maximum(...carriedErrors(fn, x, y, a.error?.[i] ?? 0, FUNCTION_ULPS * U32));
    return exact ? spread : spread + functionError(fn, x, y);
  });
  return { values, error, copied: false, ...sizes };
}

const BINARY: Record<BinaryFunction, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  rem: (a, b) => a % b,
  min: minimum,
  max: maximum,
  pow: power,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  shl: (a, b) => a * 2 ** b,
  shr: (a, b) => Math.floor(a / 2 ** b),
};

/** @param whole how whole numbers wrap; null for floats */
export function binaryRows(fn: BinaryFunction, a: Rows, b: Rows, whole: Whole | null): Rows {
  if (BINARY[fn] === undefined) throw new InternalCompilerError(`the reference has no function '${String(fn)}'`);
  if (whole === "i64") {
    const [x, y, wideFn] = [wideOf(a), wideOf(b), wideBinary(fn)];
    return wideRows(BigInt64Array.from(x, (v, i) => wideFn(v, y[i]!)));
  }
  const f = whole === null ? BINARY[fn] : wholeFunction(fn, whole);
  const n = Math.max(a.values.length, b.values.length);
  const values = new Float64Array(n);
  for (let i = 0; i < n; i++) values[i] = f(a.values[i]!, b.values[i]!);
  const keeps = fn === "min" || fn === "max" || fn === "rem";
  if (whole !== null || (keeps && a.error === null && b.error === null)) return { values, error: null, copied: false };
  const error = values.map((r, i) => {
    const ea = a.error?.[i] ?? 0;
    const eb = b.error?.[i] ?? 0;
    const x = Math.abs(a.values[i]!);
    const y = Math.abs(b.values[i]!);
    const size = Math.abs(r);
    switch (fn) {
      case "add":
      case "sub":
        // With the size of its terms, as they may be sums that are added up in another order.
        return ea + eb + U32 * (x + y);
      case "mul":
        return x * eb + y * ea + ea * eb + rounding(size);
      case "div":
        if (y > eb) return (ea + size * eb) / (y - eb) + 4 * rounding(size);
        return ea === 0 && eb === 0 ? 0 : Infinity;
      case "pow": {
        const base = a.values[i]!;
        if (base > ea)
          return size * (y * (ea / (base - ea)) + Math.abs(Math.log(base)) * eb + powerUlps(base, y) * U32);
        return ea === 0 && eb === 0 ? powerUlps(x, y) * U32 * size : Infinity;
      }
      case "rem":
        return ea + eb * Math.trunc(x / y);
      default:
        return Math.max(ea, eb);
    }
  });
  return { values, error, copied: false, ...sizesOf(fn, a, b) };
}

/** Errors of a power in units of u: those of a function, with what it makes of the error of its argument. */
export function powerUlps(base: number, exponent: number): number {
  return FUNCTION_ULPS * (1 + exponent * (1 + (base > 0 ? Math.abs(Math.log(base)) : 0)));
}

function wholeFunction(fn: BinaryFunction, whole: Whole32): (a: number, b: number) => number {
  if (fn === "mul") return (a, b) => timesWhole(whole, a, b);
  const f = BINARY[fn];
  return fn === "div" ? (a, b) => wrap(whole, Math.trunc(a / b)) : (a, b) => wrap(whole, f(a, b));
}

/** Of what is linear in a sum over ranks. */
function sizesOf(fn: BinaryFunction, a: Rows, b: Rows): { readonly sizes?: Float64Array } {
  if (a.sizes === undefined && b.sizes === undefined) return {};
  const [x, y] = [a.sizes ?? a.values.map(Math.abs), b.sizes ?? b.values.map(Math.abs)];
  if (fn === "add" || fn === "sub") return { sizes: x.map((size, i) => size + y[i]!) };
  if (fn === "mul") return { sizes: x.map((size, i) => size * y[i]!) };
  return fn === "div" && b.sizes === undefined ? { sizes: x.map((size, i) => size / y[i]!) } : {};
}

const COMPARE: Record<Comparison, <N extends number | bigint>(a: N, b: N) => boolean> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

/** 1 where it holds, else 0. Where the errors leave it open, the error is 1. */
export function compareRows(fn: Comparison, a: Rows, b: Rows): Rows {
  if ((a.wide !== undefined || b.wide !== undefined) && a.error === null && b.error === null) {
    const [x, y] = [wideOf(a), wideOf(b)];
    const values = Float64Array.from(a.values, (_, i) => Number(COMPARE[fn](x[i]!, y[i]!)));
    return { values, error: null, copied: false };
  }
  const values = a.values.map((x, i) => Number(COMPARE[fn](x, b.values[i]!)));
  if (a.error === null && b.error === null) return { values, error: null, copied: false };
  const error = values.map((_, i) =>
    Math.abs(a.values[i]! - b.values[i]!) <= (a.error?.[i] ?? 0) + (b.error?.[i] ?? 0) ? 1 : 0,
  );
  return { values, error: error.some((e) => e > 0) ? error : null, copied: false };
}

/** Where the condition is open, either side is right. */
export function selectRows(condition: Rows, a: Rows, b: Rows): Rows {
  if (a.wide !== undefined || b.wide !== undefined) {
    const [x, y] = [wideOf(a), wideOf(b)];
    const chosen = wideRows(x.map((v, i) => (condition.values[i] !== 0 ? v : y[i]!)));
    if (condition.error === null) return { ...chosen, copied: a.copied && b.copied };
    const error = condition.error.map((e, i) => (e === 0 ? 0 : Math.abs(Number(x[i]! - y[i]!))));
    return { ...chosen, error };
  }
  const values = a.values.map((x, i) => (condition.values[i] !== 0 ? x : b.values[i]!));
  if (condition.error === null && a.error === null && b.error === null)
    return { values, error: null, copied: a.copied && b.copied };
  const sizes =
    a.sizes === undefined && b.sizes === undefined
      ? {}
      : { sizes: values.map((_, i) => sizeAt(condition.values[i] !== 0 ? a : b, i)) };
  const error = values.map((_, i) => {
    const own = (condition.values[i] !== 0 ? a : b).error?.[i] ?? 0;
    if ((condition.error?.[i] ?? 0) === 0) return own;
    return Math.abs(a.values[i]! - b.values[i]!) + Math.max(a.error?.[i] ?? 0, b.error?.[i] ?? 0);
  });
  return { values, error, copied: false, ...sizes };
}

const sizeAt = ({ sizes, values }: Rows, i: number): number => sizes?.[i] ?? Math.abs(values[i]!);

/**
 * Rounds to the dtype; a value that is not known exactly may be rounded to a neighbour. Of a sum over ranks, each rank
 * rounds its part: the error goes with the sizes of the parts, which may cancel.
 * @param ranks how many parts a sum over ranks has
 * @param isFloat whether it was a float before: one that is out of range becomes the last integer of 32 bits, where integers wrap
 */
export function castRows(dtype: DType, a: Rows, ranks: number, isFloat: boolean): Rows {
  if (a.wide !== undefined) return dtype === "i64" ? a : heldRows(dtype, a);
  if (dtype === "i64")
    return {
      values: a.values.map(Math.trunc),
      error: a.error && a.error.map(Math.ceil),
      copied: false,
      wide: wideOf(a),
    };
  if (a.sizes !== undefined && DTYPES[dtype].kind === "float") return roundedRows(dtype, a, ranks);
  const { epsilon, kind } = DTYPES[dtype];
  const isCutOff = isFloat && kind === "int";
  const values = a.values.map((x) => decode(dtype, encode(dtype, isCutOff ? toI32(x) : x)));
  if (a.error === null) return { values, error: null, copied: false };
  const error = values.map((y, i) => {
    const e = a.error![i]!;
    if (e === 0) return 0;
    return kind !== "float" ? Math.ceil(e) : e + 2 * epsilon * (Math.abs(y) + e);
  });
  return { values, error, copied: false };
}

/** What may have been rounded to the dtype once; of a sum over `ranks`, each part. */
export function roundedRows(dtype: DType, a: Rows, ranks: number): Rows {
  const { epsilon } = DTYPES[dtype];
  if (a.copied || epsilon === 0) return a;
  const sizes = a.sizes ?? a.values;
  // Below the normal numbers, the error goes with the step between neighbours.
  const half = isNarrowFloat(dtype) ? ((a.sizes === undefined ? 1 : ranks) * SMALLEST_STEP[dtype]) / 2 : 0;
  return { ...a, error: a.values.map((_, i) => (a.error?.[i] ?? 0) + epsilon * Math.abs(sizes[i]!) + half) };
}
