/** What the mathematics of a proof leaves out of what the machine does: where it rounds, overflows, divides. */
import { bufferOf, type Kernel, type Op, text, type Value } from "../ir/module.js";
import { scalarOf } from "../ir/types.js";
import { walkKernel } from "../ir/visit.js";
import type { Span } from "../source.js";
import { type DType, DTYPES, isDType, type ScalarKind } from "../types/dtype.js";

export interface Caveats {
  /** Dtypes in which results are rounded. */
  readonly rounding: readonly DType[];
  /** Those of them in which they may be too large. */
  readonly overflow: readonly DType[];
  /** Whether something is divided by data. */
  readonly isDivided: boolean;
  /** Kinds of integers of which sums or products are compared, divided or made floats, as if they had not wrapped. */
  readonly integers: readonly DType[];
}

const isFloat = (kind: ScalarKind): kind is DType => isDType(kind) && DTYPES[kind].kind === "float";
const isWhole = (kind: ScalarKind): kind is DType => isDType(kind) && DTYPES[kind].kind === "int";

/** Functions that give one of their operands, but for its sign. */
const CHOOSES = new Set(["min", "max", "neg", "abs", "relu"]);
const WRAPS = new Set(["add", "sub", "mul", "shl", "sum", "prod"]);

/** @param overflows dtypes in which the proof could not show that values are small enough; null: all */
export function caveatsOf(kernel: Kernel, overflows: ReadonlySet<DType>): Caveats {
  /** The float dtype whose numbers values are. */
  const held = new Map<Value, DType>();
  /** Whether an integer is a sum or a product. */
  const sums = new Set<Value>();
  const rounding = new Set<DType>();
  const integers = new Set<DType>();
  let isDivided = false;
  const hold = (op: Op, dtype: DType | undefined): void => {
    if (dtype !== undefined) for (const r of op.results) held.set(r, dtype);
  };
  walkKernel(kernel, (op) => {
    const result = op.results[0];
    if (op.name === "mma") rounding.add("f32");
    if (result === undefined) return;
    const kind = scalarOf(result.type);
    const operands = op.operands.map((v) => held.get(v));
    const fn = op.attributes["fn"] as string | undefined;
    const from = op.operands.length === 0 ? kind : scalarOf(op.operands[0]!.type);
    const isSum = op.operands.some((v) => sums.has(v));
    if (isWhole(from) && isSum && (op.name === "compare" || (op.name === "cast" && isFloat(kind)))) integers.add(from);
    switch (op.name) {
      case "load":
        return hold(
          op,
          isFloat(bufferOf(kernel, text(op, "buffer")).dtype) ? bufferOf(kernel, text(op, "buffer")).dtype : undefined,
        );
      case "cast":
        if (isWhole(kind) && isSum) sums.add(result);
        if (!isFloat(kind)) return;
        if (isFloat(from) && DTYPES[from].bytes <= DTYPES[kind].bytes) return hold(op, operands[0] ?? from);
        if (operands[0] !== kind) rounding.add(kind);
        return hold(op, kind);
      case "splat":
        return hold(op, operands[0]);
      case "select":
        return hold(op, operands[1] === operands[2] ? operands[1] : undefined);
      case "binary":
      case "unary":
      case "reduce": {
        if (isWhole(kind)) {
          if (fn !== undefined && WRAPS.has(fn)) sums.add(result);
          else if (isSum) integers.add(kind);
          return;
        }
        if (!isFloat(kind)) return;
        if (fn === "div" && !isConstant(kernel, op.operands[1]!)) isDivided = true;
        if (fn !== undefined && CHOOSES.has(fn)) {
          const yielded = op.name === "reduce" ? held.get(op.regions[0]!.ops.at(-1)!.operands[0]!) : operands[0];
          return hold(op, operands.every((d) => d === yielded) ? yielded : undefined);
        }
        rounding.add("f32");
      }
    }
  });
  // What is rounded to less than f32 says more than f32 does.
  const said = rounding.size > 1 ? [...rounding].filter((d) => d !== "f32") : [...rounding];
  return {
    rounding: said,
    overflow: said.filter((d) => DTYPES[d].bytes > 1 || overflows.has(d)),
    isDivided,
    integers: [...integers],
  };
}

const constants = new WeakMap<Kernel, ReadonlySet<Value>>();

function isConstant(kernel: Kernel, v: Value): boolean {
  let known = constants.get(kernel);
  if (known === undefined) {
    const found = new Set<Value>();
    walkKernel(kernel, (op) => {
      const isOne =
        op.name === "const" || (op.name !== "load" && op.operands.length > 0 && op.operands.every((o) => found.has(o)));
      if (isOne) for (const r of op.results) found.add(r);
    });
    constants.set(kernel, (known = found));
  }
  return known.has(v);
}

/** Where values are made 8 bits wide on the way, though nothing shows that they are small enough, and no input has that dtype. */
export function saturating(
  kernel: Kernel,
  overflows: ReadonlySet<DType>,
): { readonly span: Span; readonly dtype: DType }[] {
  const places = new Map<string, { readonly span: Span; readonly dtype: DType }>();
  walkKernel(kernel, (op) => {
    if (op.name !== "store") return;
    const { role, dtype } = bufferOf(kernel, text(op, "buffer"));
    if (role !== "scratch" || !overflows.has(dtype) || kernel.inputs.some((t) => t.dtype === dtype)) return;
    places.set(`${op.span.start}-${op.span.end}`, { span: op.span, dtype });
  });
  return [...places.values()];
}
