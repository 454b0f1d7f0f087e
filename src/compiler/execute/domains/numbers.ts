/**
 * Values as the machine has them: rounded and wrapped exactly. f32 is held as a number that is always a float32; narrow
 * floats as their codes, so that copies keep every bit; integers as numbers in range, of 64 bits as bigints; indices as exact
 * doubles; bool as boolean, in memory as a byte. Names the text uses: `F`/`I` (one word as f32 and as i32), `V_…` (values by code of each narrow float), `E_…`
 * (encoders), `U` (unary functions), `fround`, `fmin`, `fmax`, `wide` (and/or/xor of 64-bit indices), `i64` (wraps a bigint).
 */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import { BINARY, COMPARE, maximum, minimum, power, UNARY } from "../../ir/functions.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../../ir/ops.js";
import { isFloat, type LaunchDType, type ScalarKind } from "../../types/dtype.js";
import {
  encode,
  ENCODERS,
  F32_WORD,
  I32_WORD,
  isNarrowFloat,
  toI64,
  valuesOf,
  wideToF32,
} from "../../types/formats.js";
import { isGlobal } from "../../ir/module.js";
import { at, type Place } from "../semantics/memory.js";
import type { Domain, Form } from "../setting.js";
import type { Writer } from "../writer.js";

const known = (text: string): Form => ({ text, isKnown: true });

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
    case "i64":
      return `int64(${x})`;
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

/** Text of a number that the launch was given, as a register holds it. */
function given(kind: LaunchDType, x: string): string {
  return kind === "f32" ? `fround(${x})` : wrap(kind, x);
}

function literal(kind: ScalarKind, value: number): string {
  if (kind === "bool") return value === 0 ? "false" : "true";
  if (kind === "i64") return value < 0 ? `(${toI64(value)}n)` : `${toI64(value)}n`;
  const held = kind === "index" ? value : encode(kind, value);
  return held < 0 || Object.is(held, -0) ? `(${Object.is(held, -0) ? "-0" : held})` : String(held);
}

function unsupported(fn: string, kind: ScalarKind): never {
  throw new InternalCompilerError(`there is no '${fn}' of ${kind}`);
}

/** Text of `fn(a, b)`. Divisors of integers and indices must have been checked before. */
function binary(fn: BinaryFunction, kind: ScalarKind, a: string, b: string): string {
  const { operator, isOfFloats } = BINARY[fn];
  if (isFloat(kind)) {
    if (!isOfFloats) unsupported(fn, kind);
    const x = toFloat(kind, a);
    const y = toFloat(kind, b);
    if (operator === null) return fromFloat(kind, `f${fn}(${x},${y})`);
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
  if (kind === "i64") return wrap(kind, `${a}${operator}${b}`);
  if (fn === "mul") return wrap(kind, `imul(${a},${b})`);
  // Unsigned numbers are filled with zeros from the left.
  if (fn === "shr" && kind === "u32") return `(${a}>>>${b})`;
  return wrap(kind, `(${a}${operator}${b})`);
}

function unary(fn: UnaryFunction, kind: ScalarKind, a: string): string {
  if (isFloat(kind)) {
    const x = toFloat(kind, a);
    if (fn === "not") unsupported(fn, kind);
    if (fn === "neg") return fromFloat(kind, `(-${x})`);
    return fromFloat(kind, `fround(U.${fn}(${x}))`);
  }
  if (kind === "bool") return fn === "not" ? `(!${a})` : unsupported(fn, kind);
  if (kind === "i64") return WIDE_UNARY[fn]?.(a) ?? unsupported(fn, kind);
  return wrap(kind, UNARY[fn].wholeText?.(a) ?? unsupported(fn, kind));
}

const WIDE_UNARY: Partial<Record<UnaryFunction, (a: string) => string>> = {
  neg: (a) => `int64(-${a})`,
  abs: (a) => `(${a}<0n?int64(-${a}):${a})`,
  relu: (a) => `(${a}>0n?${a}:0n)`,
};

function compare(fn: Comparison, kind: ScalarKind, a: string, b: string): string {
  const x = isFloat(kind) ? toFloat(kind, a) : a;
  const y = isFloat(kind) ? toFloat(kind, b) : b;
  return `(${x}${COMPARE[fn].javascript}${y})`;
}

/**
 * Text of a conversion. Floats go to integers towards zero, saturated to 32 or 64 bits, NaN to 0, then wrapped to
 * 8 bits if need be (as CUDA converts); integers go to narrow floats by way of float32.
 */
function cast(from: ScalarKind, to: ScalarKind, a: string): string {
  if (from === to) return a;
  if (isFloat(from)) {
    const x = toFloat(from, a);
    if (isFloat(to)) return fromFloat(to, x);
    if (to === "bool") return `(${x}!==0)`;
    if (to === "index") return `trunc(${x})`;
    if (to === "i64") return `toI64(${x})`;
    return wrap(to, to === "u32" || to === "u8" ? `toU32(${x})` : `toI32(${x})`);
  }
  if (from === "i64") {
    if (to === "bool") return `(${a}!==0n)`;
    if (isFloat(to)) return fromFloat(to, `wideToF32(${a})`);
    // Of bits that a narrower number drops, none counts.
    return to === "index" ? `Number(${a})` : wrap(to, `Number(BigInt.asIntN(32,${a}))`);
  }
  const x = from === "bool" ? `(${a}?1:0)` : a;
  if (to === "i64") return `BigInt(${x})`;
  if (isFloat(to)) return fromFloat(to, `fround(${x})`);
  return to === "bool" ? `(${x}!==0)` : wrap(to, x);
}

/** Whether an access goes through an observer that hides stores. */
function isHidden(w: Writer, p: Place): boolean {
  return w.setting.hides && isGlobal(p.buffer);
}

export const NUMBERS: Domain = {
  hasData: true,
  isSymbolic: false,
  checksDivisors: true,
  literal: (kind, value) => known(literal(kind, value)),
  scalar: (kind, name) => known(given(kind, `M.dims[${JSON.stringify(name)}]`)),
  binary: (fn, kind, a, b) => known(binary(fn, kind, a.text, b.text)),
  unary: (fn, kind, a) => known(unary(fn, kind, a.text)),
  compare: (fn, kind, a, b) => known(compare(fn, kind, a.text, b.text)),
  select: (c, a, b) => known(`(${c.text}?${a.text}:${b.text})`),
  cast: (from, to, a) => known(cast(from, to, a.text)),
  helpers: numberHelpers,
  condition: (x) => x,
  truth: (condition) => known(condition),
  load(w, p, lane) {
    const index = at(p.index, lane);
    const held = isHidden(w, p) ? `T.held(f,${p.number},${p.owner},${index})` : `${p.memory}[${index}]`;
    return known(p.buffer.dtype === "bool" ? `(${held}!==0)` : held);
  },
  store(w, p, lane, stored) {
    const index = at(p.index, lane);
    const value = p.buffer.dtype === "bool" ? `(${stored}?1:0)` : stored;
    if (isHidden(w, p)) w.line(`T.hide(f,${p.strand},${p.number},${p.owner},${index},${value});`);
    else w.line(`${p.memory}[${index}]=${value};`);
  },
};

/** Bitwise functions of indices: 64-bit two's complement, quick where 32 bits do. */
const wide = {
  and: (a: number, b: number): number =>
    (a | 0) === a && (b | 0) === b ? a & b : Number(BigInt.asIntN(64, BigInt(a) & BigInt(b))),
  or: (a: number, b: number): number =>
    (a | 0) === a && (b | 0) === b ? a | b : Number(BigInt.asIntN(64, BigInt(a) | BigInt(b))),
  xor: (a: number, b: number): number =>
    (a | 0) === a && (b | 0) === b ? a ^ b : Number(BigInt.asIntN(64, BigInt(a) ^ BigInt(b))),
};

/** Float to integer towards zero; out of range saturates and NaN gives 0, as `cvt.rzi` does. */
function toI32(x: number): number {
  return x >= 2147483647 ? 2147483647 : x <= -2147483648 ? -2147483648 : x | 0;
}

function toU32(x: number): number {
  return x >= 4294967295 ? 4294967295 : x > 0 ? x >>> 0 : 0;
}

/** What the text of numbers calls. */
function numberHelpers(text: string): Record<string, unknown> {
  const helpers: Record<string, unknown> = {
    F: F32_WORD,
    I: I32_WORD,
    fround: Math.fround,
    trunc: Math.trunc,
    imul: Math.imul,
    fmin: minimum,
    fmax: maximum,
    fpow: (a: number, b: number) => Math.fround(power(a, b)),
    U: Object.fromEntries(Object.entries(UNARY).map(([fn, { value }]) => [fn, value])),
    wide,
    toI32,
    toU32,
    toI64,
    // Not i64: that is the name of an index, the 64th.
    int64: (x: bigint) => BigInt.asIntN(64, x),
    wideToF32,
  };
  for (const format of ["f16", "bf16", "f8e4m3", "f8e5m2"] as const) {
    helpers[`E_${format}`] = ENCODERS[format];
    if (text.includes(`V_${format}`)) helpers[`V_${format}`] = valuesOf(format);
  }
  return helpers;
}
