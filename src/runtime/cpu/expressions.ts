/**
 * JavaScript text of scalar operations, per element kind, exactly as the machine rounds and wraps them.
 *
 * How a value is held in generated code: f32 as a number that is always a float32; narrow floats as their
 * codes, so that copies keep every bit; integers as numbers in range; indices as exact doubles; bool as boolean.
 * Names the text uses: `F`/`I` (one word as f32 and as i32), `V` (values by code of each narrow float),
 * `E` (encoders), `U` (unary functions), `fround`, `fmin`, `fmax`, `wide` (and/or/xor of 64-bit indices).
 */
import { InternalCompilerError, type ScalarKind } from "../../compiler/index.js";
import { encode, isNarrowFloat } from "../numbers/index.js";
import type { BinaryFunction, Comparison, Reduction, UnaryFunction } from "../numbers/functions.js";

function isFloat(kind: ScalarKind): boolean {
  return kind === "f32" || isNarrowFloat(kind);
}

/** Text of the float32 value of a lane. */
function toFloat(kind: ScalarKind, x: string): string {
  if (kind === "bf16") return `(I[0]=${x}<<16,F[0])`;
  return isNarrowFloat(kind) ? `V_${kind}[${x}]` : x;
}

/** Text that holds the float32 value `x` as an element of a float kind. */
function fromFloat(kind: ScalarKind, x: string): string {
  return isNarrowFloat(kind) ? `(F[0]=${x},E_${kind}(I[0]))` : x;
}

/** Text that brings the exact number `x` into the range of an integer kind. */
function wrap(kind: ScalarKind, x: string): string {
  switch (kind) {
    case "i32":
      return `(${x}|0)`;
    case "u32":
      return `(${x}>>>0)`;
    case "i8":
      return `((${x})<<24>>24)`;
    case "u8":
      return `((${x})&255)`;
    default:
      return `(${x})`;
  }
}

/** A literal of an element kind. */
export function literal(kind: ScalarKind, value: number): string {
  if (kind === "bool") return value === 0 ? "false" : "true";
  const held = kind === "index" ? value : encode(kind, value);
  return held < 0 || Object.is(held, -0) ? `(${Object.is(held, -0) ? "-0" : held})` : String(held);
}

const OPERATORS: Partial<Record<BinaryFunction, string>> = {
  add: "+", sub: "-", mul: "*", div: "/", rem: "%", and: "&", or: "|", xor: "^", shl: "<<", shr: ">>",
}; // prettier-ignore

function unsupported(fn: string, kind: ScalarKind): never {
  throw new InternalCompilerError(`the cpu backend has no '${fn}' of ${kind}`);
}

/** Text of `fn(a, b)`. Divisors of integers and indices must have been checked before. */
export function binaryText(fn: BinaryFunction, kind: ScalarKind, a: string, b: string): string {
  const operator = OPERATORS[fn];
  if (isFloat(kind)) {
    if (["and", "or", "xor", "shl", "shr"].includes(fn)) unsupported(fn, kind);
    const x = toFloat(kind, a);
    const y = toFloat(kind, b);
    if (operator === undefined) return fromFloat(kind, `f${fn}(${x},${y})`);
    return fromFloat(kind, `fround(${x}${operator}${y})`);
  }
  if (kind === "bool") {
    if (fn === "and" || fn === "min" || fn === "mul") return `(${a}&&${b})`;
    if (fn === "or" || fn === "max") return `(${a}||${b})`;
    return fn === "xor" ? `(${a}!==${b})` : unsupported(fn, kind);
  }
  if (fn === "min") return `(${a}<${b}?${a}:${b})`;
  if (fn === "max") return `(${a}>${b}?${a}:${b})`;
  if (kind === "index") {
    if (fn === "div") return `trunc(${a}/${b})`;
    if (fn === "shl") return `(${a}*2**${b})`;
    if (fn === "shr") return `floor(${a}/2**${b})`;
    return fn === "and" || fn === "or" || fn === "xor" ? `wide.${fn}(${a},${b})` : `(${a}${operator}${b})`;
  }
  if (fn === "mul") return wrap(kind, `imul(${a},${b})`);
  return wrap(kind, `(${a}${operator}${b})`);
}

/** Text of a function of one lane. */
export function unaryText(fn: UnaryFunction, kind: ScalarKind, a: string): string {
  if (isFloat(kind)) {
    const x = toFloat(kind, a);
    if (fn === "not") unsupported(fn, kind);
    if (fn === "neg") return fromFloat(kind, `(-${x})`);
    return fromFloat(kind, `fround(U.${fn}(${x}))`);
  }
  if (kind === "bool") return fn === "not" ? `(!${a})` : unsupported(fn, kind);
  if (fn === "neg") return kind === "index" ? `(0-${a})` : wrap(kind, `(0-${a})`);
  if (fn === "not") return `(${a}===0?1:0)`;
  if (fn === "abs") return wrap(kind, `(${a}<0?0-${a}:${a})`);
  if (fn === "relu") return `(${a}>0?${a}:0)`;
  return unsupported(fn, kind);
}

const COMPARISON_OPERATORS: Record<Comparison, string> = {
  eq: "===", ne: "!==", lt: "<", le: "<=", gt: ">", ge: ">=",
}; // prettier-ignore

export function compareText(fn: Comparison, kind: ScalarKind, a: string, b: string): string {
  const x = isFloat(kind) ? toFloat(kind, a) : a;
  const y = isFloat(kind) ? toFloat(kind, b) : b;
  return `(${x}${COMPARISON_OPERATORS[fn]}${y})`;
}

/**
 * Text of a conversion. Floats go to integers towards zero, saturated to 32 bits, NaN to 0, then wrapped to
 * 8 bits if need be (as CUDA converts); integers go to narrow floats by way of float32.
 */
export function castText(from: ScalarKind, to: ScalarKind, a: string): string {
  if (from === to) return a;
  if (isFloat(from)) {
    const x = toFloat(from, a);
    if (isFloat(to)) return fromFloat(to, x);
    if (to === "bool") return `(${x}!==0)`;
    if (to === "index") return `trunc(${x})`;
    return wrap(to, to === "u32" || to === "u8" ? `toU32(${x})` : `toI32(${x})`);
  }
  const x = from === "bool" ? `(${a}?1:0)` : a;
  if (isFloat(to)) return fromFloat(to, `fround(${x})`);
  return to === "bool" ? `(${x}!==0)` : wrap(to, x);
}

const FOLDS: Record<Reduction, BinaryFunction> = { sum: "add", min: "min", max: "max", prod: "mul" };

/** The binary function a reduction folds with. */
export function foldFunction(fn: Reduction): BinaryFunction {
  return FOLDS[fn];
}

/** What a reduction starts from, and its value over nothing; the CUDA printer starts from the same. */
export function identityOf(fn: Reduction, kind: ScalarKind): number {
  if (fn === "sum") return 0;
  if (fn === "prod") return 1;
  const high =
    isFloat(kind) || kind === "index"
      ? Infinity
      : { i32: 2 ** 31 - 1, u32: 2 ** 32 - 1, i8: 127, u8: 255, bool: 1 }[kind as "i32"];
  if (fn === "min") return high;
  return isFloat(kind) || kind === "index" ? -Infinity : kind === "i32" || kind === "i8" ? -high - 1 : 0;
}
