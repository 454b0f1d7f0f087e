/** What the mathematics of a proof leaves out of what the machine does: where it rounds, overflows, divides. */
import { bufferOf, type Kernel, type Op, text, type Value } from "../ir/module.js";
import { scalarOf } from "../ir/types.js";
import { walkKernel } from "../ir/visit.js";
import type { Span } from "../source.js";
import { claimedKernel } from "./claimed.js";
import { type Lengths, type Obligation, openObligations } from "./obligations.js";
import { isF8 } from "./values.js";
import { evaluateExtent, type Extent } from "../types/extent.js";
import { type DType, DTYPES, isDType, type ScalarKind } from "../types/dtype.js";

export interface Caveats {
  /** Dtypes in which results are rounded. */
  readonly rounding: readonly DType[];
  /** Float dtypes in which nothing shows that results are small enough. */
  readonly overflow: readonly DType[];
  /** Whether something is divided by what may be 0. */
  readonly isDivided: boolean;
  /** Whether a root or a logarithm is taken of what may have none. */
  readonly hasNoRoot: boolean;
  /** Whether fractions are cut off what may have been rounded before. */
  readonly isCutOff: boolean;
  /** Whether rounded values are compared, of which the claim does not say that they are rounded so. */
  readonly isCompared: boolean;
  /** Kinds of integers that may wrap before they are compared, divided or made floats, as if they had not. */
  readonly integers: readonly DType[];
  /** What of this comes from where; see `openObligations`. */
  readonly open: readonly Obligation[];
}

const isFloat = (kind: ScalarKind): kind is DType => isDType(kind) && DTYPES[kind].kind === "float";

/** Functions that give one of their operands, but for its sign. */
const CHOOSES = new Set(["min", "max", "neg", "abs", "relu"]);

/**
 * @param program the kernel on rank level, as its author wrote it; null where only the kernel is known
 * @param lengths of the dimensions that the claim is about
 * @param isRoundedAsClaimed whether the outputs are made of the operations of the claim, with their roundings; asked where that matters
 * @param overflows f8 dtypes in which the proof of the answer could not show that values are small enough
 */
export function caveatsOf(
  kernel: Kernel,
  program: Kernel | null,
  lengths: Lengths,
  overflows: ReadonlySet<DType>,
  isRoundedAsClaimed: () => boolean,
): Caveats {
  const claimed = claimedKernel(kernel);
  const rounding = [...new Set([...roundingOf(kernel), ...(claimed === null ? [] : roundingOf(claimed, true))])];
  const all = openObligations(program ?? kernel, lengths).filter(
    ({ kind, dtype }) => kind !== "overflow" || !isF8(dtype) || overflows.has(dtype),
  );
  // What program and claim do alike is named once, where the program does it.
  for (const o of claimed === null ? [] : openObligations(claimed, whereClaimed(kernel, lengths), true))
    if (!all.some(({ kind, dtype }) => kind === o.kind && dtype === o.dtype)) all.push(o);
  // What no data is in is a number to both, whatever operations made it.
  const isCompared = ({ kind, isOfData }: Obligation): boolean => kind === "comparison" && isOfData;
  const open = all.some(isCompared) && isRoundedAsClaimed() ? all.filter((o) => !isCompared(o)) : all;
  const overflow = [...new Set(open.flatMap(({ kind, dtype }) => (kind === "overflow" ? [dtype] : [])))];
  const floats = overflow.filter(isFloat);
  return {
    rounding: narrowest(rounding),
    overflow: narrowest(floats),
    isDivided: open.some(({ kind }) => kind === "divisor"),
    hasNoRoot: open.some(({ kind }) => kind === "domain"),
    isCutOff: open.some(({ kind }) => kind === "exactness"),
    isCompared: open.some(({ kind }) => kind === "comparison"),
    integers: overflow.filter((d) => !isFloat(d)),
    open,
  };
}

/** What is said of less than f32 says more than of f32. */
const narrowest = (dtypes: readonly DType[]): DType[] =>
  dtypes.length > 1 ? dtypes.filter((d) => d !== "f32") : [...dtypes];

/** Of an output without elements nothing is claimed: dimensions that all outputs with a claim have are at least 1. */
function whereClaimed({ outputs, specification, dims }: Kernel, lengths: Lengths): Lengths {
  const long = Object.fromEntries(dims.map((name) => [name, 2 ** 20]));
  const isEmptyAt = (name: string, shape: readonly Extent[]): boolean =>
    shape.some((e) => evaluateExtent(e, { ...long, [name]: 0 }) <= 0);
  const claimed = outputs.filter((_, o) => specification[o] != null);
  const isNeeded = (name: string): boolean => claimed.every(({ localShape }) => isEmptyAt(name, localShape));
  const raised = Object.entries(lengths).map(([name, [least, most]]): [string, Lengths[string]] =>
    isNeeded(name) ? [name, [Math.max(least, 1), Math.max(most, 1)]] : [name, [least, most]],
  );
  return Object.fromEntries(raised);
}

/**
 * Float dtypes in which results of a kernel are rounded.
 * @param isClaim whether it is a claim, of which casts alone round
 */
function roundingOf(kernel: Kernel, isClaim = false): DType[] {
  /** The float dtype whose numbers values are. */
  const held = new Map<Value, DType>();
  const rounding = new Set<DType>();
  const hold = (op: Op, dtype: DType | undefined): void => {
    if (dtype !== undefined) for (const r of op.results) held.set(r, dtype);
  };
  walkKernel(kernel, (op) => {
    const result = op.results[0];
    if (op.name === "mma" && isFloat(bufferOf(kernel, text(op, "accumulator")).dtype)) rounding.add("f32");
    if (result === undefined) return;
    const kind = scalarOf(result.type);
    const operands = op.operands.map((v) => held.get(v));
    const fn = op.attributes["fn"] as string | undefined;
    const from = op.operands.length === 0 ? kind : scalarOf(op.operands[0]!.type);
    switch (op.name) {
      case "load": {
        const { dtype } = bufferOf(kernel, text(op, "buffer"));
        return hold(op, isFloat(dtype) ? dtype : undefined);
      }
      case "cast":
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
        if (!isFloat(kind)) return;
        if (fn !== undefined && CHOOSES.has(fn)) {
          const yielded = op.name === "reduce" ? held.get(op.regions[0]!.ops.at(-1)!.operands[0]!) : operands[0];
          return hold(op, operands.every((d) => d === yielded) ? yielded : undefined);
        }
        if (!isClaim) rounding.add("f32");
      }
    }
  });
  return [...rounding];
}

const isWithin = (inner: Span, outer: Span): boolean => inner.start >= outer.start && inner.end <= outer.end;

/** Scratch that values may not fit in. */
export interface Saturating {
  readonly span: Span;
  readonly dtype: DType;
  /** Whether what is stored was divided, or multiplied, before: by a scale that is too small, perhaps. */
  readonly isScaled: boolean;
}

/**
 * Where values are made narrower on the way, though nothing shows that they are small enough, and no input has that dtype. f32 is what
 * is computed in, and bf16 holds what f32 holds, but for numbers within a percent of the largest: those are for the summary.
 */
export function saturating(kernel: Kernel, { overflow, open }: Caveats): Saturating[] {
  const places = new Map<string, Saturating>();
  const makers = new Map<Value, Op>();
  walkKernel(kernel, (op) => {
    for (const v of op.results) makers.set(v, op);
    if (op.name !== "store") return;
    const { role, dtype } = bufferOf(kernel, text(op, "buffer"));
    if (role !== "scratch" || dtype === "f32" || dtype === "bf16" || !overflow.includes(dtype)) return;
    if (kernel.inputs.some((t) => t.dtype === dtype)) return;
    const isOpen = ({ kind, dtype: of, span }: Obligation): boolean =>
      kind === "overflow" && of === dtype && (isWithin(span, op.span) || isWithin(op.span, span));
    if (!open.some(isOpen)) return;
    let made = makers.get(op.operands[0]!);
    while (made?.name === "cast" || made?.name === "pack" || made?.name === "splat")
      made = makers.get(made.operands[0]!);
    const isScaled = made?.name === "binary" && ["div", "mul"].includes(String(made.attributes["fn"]));
    const key = `${op.span.start}-${op.span.end}`;
    places.set(key, { span: op.span, dtype, isScaled: isScaled || places.get(key)?.isScaled === true });
  });
  return [...places.values()];
}
