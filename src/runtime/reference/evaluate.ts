/**
 * Evaluates a specification over logical tensors in float64, together with a bound on the error that correct
 * float32 arithmetic may make (running error analysis; u = 2^-24). Rows are evaluated on demand.
 */
import {
  DTYPES,
  InternalCompilerError,
  type DimValues,
  type Manifest,
  type Specification,
} from "../../compiler/index.js";
import { FLOAT_FUNCTIONS, maximum, minimum, type BinaryFunction, type UnaryFunction } from "../numbers/functions.js";
import type { TypedArray } from "../numbers/index.js";
import type { InputReader } from "./inputs.js";
import { membersFor, readRows, rowLength, type Rows, shapeOf, U32 } from "./logical.js";
import { evaluateProduct } from "./product.js";
import { withRoundings } from "./roundings.js";

/** What an evaluation needs to know. */
export interface Context {
  readonly manifest: Manifest;
  readonly dims: DimValues;
  readonly read: InputReader;
  /** Relative error allowed in each product of a matmul, beyond float32: 2^-10 where TF32 tensor cores are used. */
  readonly productEpsilon: number;
}

/** Shape of a specification's value; [] for constants. Throws RangeError where operands do not fit. */
export function specificationShape(s: Specification, c: Context): number[] {
  switch (s.kind) {
    case "input":
      return shapeOf(tensorOf(s.name, c), c.dims);
    case "constant":
      return [];
    case "matmul":
      return [specificationShape(s.a, c)[0]!, specificationShape(s.b, c)[1]!];
    case "unary":
      return specificationShape(s.a, c);
    case "binary": {
      const a = specificationShape(s.a, c);
      const b = specificationShape(s.b, c);
      const [long, short] = a.length >= b.length ? [a, b] : [b, a];
      if (short.some((n, i) => n !== long[long.length - short.length + i]))
        throw new RangeError(`[${a.join(", ")}] and [${b.join(", ")}] do not fit in '${s.fn}'`);
      return long;
    }
  }
}

function tensorOf(name: string, c: Context): Manifest["inputs"][number] {
  const tensor = c.manifest.inputs.find((t) => t.name === name);
  if (tensor === undefined)
    throw new InternalCompilerError(`the specification names an input '${name}' that is not in the manifest`);
  return tensor;
}

/** Whether a value is computed in integers: its inputs are. */
export function isInteger(s: Specification, c: Context): boolean {
  switch (s.kind) {
    case "input":
      return DTYPES[tensorOf(s.name, c).dtype].kind === "int";
    case "constant":
      return Number.isInteger(s.value);
    case "unary":
      return isInteger(s.a, c);
    default:
      return isInteger(s.a, c) && isInteger(s.b, c);
  }
}

/** Largest unit roundoff among the inputs: how coarsely an intermediate tensor may be kept. */
export function inputEpsilon(c: Context): number {
  return Math.max(0, ...c.manifest.inputs.map((t) => DTYPES[t.dtype].epsilon));
}

/** Rows `first` … `last` (exclusive) of the value, for the rank `self` (it matters for `local` inputs only). */
export function evaluateRows(s: Specification, c: Context, first: number, last: number, self: number): Rows {
  switch (s.kind) {
    case "input": {
      const tensor = tensorOf(s.name, c);
      const read = (rank: number, from: number, to: number): TypedArray => c.read(s.name, rank, from, to);
      const rows = readRows(tensor, c.dims, c.manifest, read, first, last, self);
      return withRoundings(rows, tensor, c.manifest.roundings, membersFor(tensor, c.manifest, self).length);
    }
    case "constant":
      return { values: Float64Array.of(s.value), error: null, copied: false };
    case "matmul":
      return evaluateProduct(s, c, first, last, self);
    case "unary":
      return unary(s.fn as UnaryFunction, evaluateRows(s.a, c, first, last, self));
    case "binary": {
      const count = (last - first) * rowLength(specificationShape(s, c));
      const whole = specificationShape(s, c).length;
      const operand = (x: Specification): Rows => {
        const shape = specificationShape(x, c);
        // An operand of fewer dimensions is the same for every row: repeat it along the leading ones.
        return shape.length === whole
          ? evaluateRows(x, c, first, last, self)
          : repeat(evaluateRows(x, c, 0, shape[0] ?? 1, self), count);
      };
      return binary(s.fn as BinaryFunction, operand(s.a), operand(s.b), isInteger(s, c));
    }
  }
}

function repeat(rows: Rows, count: number): Rows {
  const tile = (x: Float64Array): Float64Array => {
    const out = new Float64Array(count);
    for (let at = 0; at < count; at += x.length) out.set(x.subarray(0, Math.min(x.length, count - at)), at);
    return out;
  };
  return { values: tile(rows.values), error: rows.error === null ? null : tile(rows.error), copied: false };
}

const EXACT_FUNCTIONS: readonly UnaryFunction[] = ["neg", "not", "abs", "relu"];

/** Errors a float32 implementation of a function may make, in units of u: of its argument and of its result. */
const FUNCTION_ULPS = 16;

function unary(fn: UnaryFunction, a: Rows): Rows {
  const f = FLOAT_FUNCTIONS[fn];
  if (f === undefined) throw new InternalCompilerError(`the reference has no function '${String(fn)}'`);
  const values = a.values.map(f);
  const exact = EXACT_FUNCTIONS.includes(fn);
  if (exact && a.error === null) return { values, error: null, copied: false };
  const own = exact ? 0 : FUNCTION_ULPS * U32;
  const error = values.map((y, i) => {
    const x = a.values[i]!;
    const d = (a.error?.[i] ?? 0) + own * Math.abs(x);
    // gelu subtracts nearly equal numbers for negative x, so its error goes with |x| and not with the result.
    const scale = fn === "gelu" ? Math.abs(x) : Math.abs(y);
    return maximum(Math.abs(f(x + d) - y), Math.abs(f(x - d) - y)) + own * scale;
  });
  return { values, error, copied: false };
}

const BINARY: Record<BinaryFunction, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  rem: (a, b) => a % b,
  min: minimum,
  max: maximum,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  shl: (a, b) => a * 2 ** b,
  shr: (a, b) => Math.floor(a / 2 ** b),
};

function binary(fn: BinaryFunction, a: Rows, b: Rows, integer: boolean): Rows {
  if (BINARY[fn] === undefined) throw new InternalCompilerError(`the reference has no function '${String(fn)}'`);
  const f = integer && fn === "div" ? (x: number, y: number) => Math.trunc(x / y) : BINARY[fn];
  const n = Math.max(a.values.length, b.values.length);
  const values = new Float64Array(n);
  for (let i = 0; i < n; i++) values[i] = f(a.values[i]!, b.values[i]!);
  const keeps = fn === "min" || fn === "max" || fn === "rem";
  if (integer || (keeps && a.error === null && b.error === null)) return { values, error: null, copied: false };
  const error = values.map((r, i) => {
    const ea = a.error?.[i] ?? 0;
    const eb = b.error?.[i] ?? 0;
    const x = Math.abs(a.values[i]!);
    const y = Math.abs(b.values[i]!);
    const size = Math.abs(r);
    switch (fn) {
      case "add":
      case "sub":
        return ea + eb + U32 * size;
      case "mul":
        return x * eb + y * ea + ea * eb + U32 * size;
      case "div":
        return y > eb ? (ea + size * eb) / (y - eb) + 4 * U32 * size : Infinity;
      case "rem":
        return ea + eb * Math.trunc(x / y);
      default:
        return Math.max(ea, eb);
    }
  });
  return { values, error, copied: false };
}
