/** How element types and scalar arithmetic are written in CUDA C. */
import { BINARY, COMPARE, UNARY } from "../ir/functions.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../ir/ops.js";
import type { Op } from "../ir/module.js";
import { lanesOf, scalarOf } from "../ir/types.js";
import { DTYPES, type ScalarKind } from "../types/dtype.js";
import type { PreludePart } from "./prelude.js";

/** C type that stores an element. 16- and 8-bit floats are bits. */
export const C_TYPE: Readonly<Record<ScalarKind, string>> = {
  f32: "float",
  f16: "u16",
  bf16: "u16",
  f8e4m3: "u8",
  f8e5m2: "u8",
  i64: "i64",
  i32: "int",
  u32: "u32",
  i8: "signed char",
  u8: "u8",
  index: "i64",
  bool: "bool",
};

/** Elements wrap; what overflows in a signed type of C may be anything, so they are computed with as unsigned numbers. */
const UNSIGNED: Partial<Record<ScalarKind, string>> = { i32: "u32", i64: "u64" };
const WRAPPING: readonly BinaryFunction[] = ["add", "sub", "mul"];

export function binaryText(fn: BinaryFunction, kind: ScalarKind, a: string, b: string): string {
  const { operator } = BINARY[fn];
  const unsigned = UNSIGNED[kind];
  if (unsigned !== undefined && WRAPPING.includes(fn))
    return `(${C_TYPE[kind]})((${unsigned})${a} ${operator} (${unsigned})${b})`;
  if (operator !== null) return `${a} ${operator} ${b}`;
  if (fn === "pow") return `powf(${a}, ${b})`;
  if (kind === "f32") return `f${fn}f(${a}, ${b})`;
  return `${a} ${fn === "min" ? "<" : ">"} ${b} ? ${a} : ${b}`;
}

export function compareText(fn: Comparison, a: string, b: string): string {
  return `${a} ${COMPARE[fn].cuda} ${b}`;
}

export function unaryText(fn: UnaryFunction, kind: ScalarKind, a: string, use: (part: PreludePart) => void): string {
  const { cuda, wholeCuda = cuda } = UNARY[fn];
  if (UNSIGNED[kind] !== undefined && (fn === "neg" || fn === "abs")) {
    const negative = binaryText("sub", kind, "0", a);
    return fn === "neg" ? negative : `(${a} < 0 ? ${negative} : ${a})`;
  }
  const text = kind === "f32" ? cuda(a) : wholeCuda(a);
  if (text.startsWith("fn_")) use("functions");
  return text;
}

export function castText(from: ScalarKind, to: ScalarKind, a: string, use: (part: PreludePart) => void): string {
  const bits = (kind: ScalarKind): PreludePart | null =>
    kind === "bf16" || kind === "f16" ? kind : kind.startsWith("f8") ? "f8" : null;
  const part = bits(from);
  if (part !== null) {
    use(part);
    const wide = `${from}_to_f32(${a})`;
    return to === "f32" ? wide : castText("f32", to, wide, use);
  }
  const target = bits(to);
  if (from === "f32" && to === "i64") {
    use("wide");
    return `f32_to_i64(${a})`;
  }
  if (target === null) return `(${C_TYPE[to]})${a}`;
  use(target);
  return `f32_to_${to}(${from === "f32" ? a : `(float)${a}`})`;
}

/** A number in brackets if it has a sign, which another may stand before. */
function signed(value: number, suffix: string): string {
  const digits = suffix === "f" ? value.toExponential() : String(value);
  return value < 0 ? `(${digits}${suffix})` : `${digits}${suffix}`;
}

/** A literal of the kind; f32 exactly, by its bits where decimal digits would not do. */
export function literalText(value: number, kind: ScalarKind, use: (part: PreludePart) => void): string {
  switch (kind) {
    case "bool":
      return value !== 0 ? "true" : "false";
    case "index":
      return signed(value, "ll");
    case "i64":
      // The ends of the range are no numbers of JavaScript: infinity stands for them.
      if (value === Infinity) return "0x7fffffffffffffffll";
      if (value <= -(2 ** 63)) return "(-0x7fffffffffffffffll - 1)";
      return signed(value, "ll");
    case "u32":
    case "u8":
      return `${value}u`;
    case "i32":
      // C has no literal for it: a minus sign comes after the number has been read.
      if (value === -(2 ** 31)) return "(-0x7fffffff - 1)";
      return signed(value, "");
    case "i8":
      return signed(value, "");
    case "f32":
      if (!Number.isFinite(value))
        return `__uint_as_float(${Number.isNaN(value) ? "0x7fffffffu" : value > 0 ? "0x7f800000u" : "0xff800000u"})`;
      return Object.is(value, -0) ? "(-0.0f)" : signed(Math.fround(value), "f");
    default:
      return castText("f32", kind, literalText(value, "f32", use), use);
  }
}

/** Whether one condition chooses between vectors that are whole words. */
export function choosesWords({ operands, results }: Op): boolean {
  const { type } = results[0]!;
  const kind = scalarOf(type);
  const bytes = kind === "index" || kind === "bool" ? 0 : DTYPES[kind].bytes * lanesOf(type);
  return lanesOf(type) > 1 && lanesOf(operands[0]!.type) === 1 && bytes > 0 && bytes % 4 === 0;
}
