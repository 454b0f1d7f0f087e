/** What kernels have that decides how they are looked at: where data lie, which functions choose, what is stored where. */
import { CUTS_FRACTIONS } from "../ir/functions.js";
import { type Kernel, text } from "../ir/module.js";
import { printKernel } from "../ir/print.js";
import { scalarOf } from "../ir/types.js";
import { walkKernel } from "../ir/visit.js";
import type { SignatureTensor } from "../manifest.js";
import type { Span } from "../source.js";
import { type DType, DTYPES, isDType, isFloat, type ScalarKind } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import type { ComputedIn } from "./evaluate.js";
import { keyOf, type Places, placesOf } from "./residues.js";
import type { Place } from "./results.js";
import type { RangeOf } from "./whole-numbers.js";

/** Whether a kernel compares data, or cuts fractions off. */
export function hasChoices(kernel: Kernel): boolean {
  let found = false;
  walkKernel(kernel, ({ name, attributes, operands, results }) => {
    found ||= name === "select" || CHOOSING.has(attributes["fn"] as string);
    if (name !== "cast" && attributes["fn"] !== "div") return;
    const [from, to] = [operands[0]!, results[0]!].map((v) => scalarOf(v.type)) as [ScalarKind, ScalarKind];
    found ||= isDType(to) && DTYPES[to].kind === "int" && isDType(from) && (name !== "cast" || isFloat(from));
  });
  return found;
}

const CHOOSING = new Set(["min", "max", "relu", "abs", ...CUTS_FRACTIONS]);

export const EXPONENTIALS = new Set(["exp", "log"]);
export const MADE_OF_EXPONENTIALS = new Set(["sigmoid", "silu", "tanh", "expm1", "log1p"]);

export function hasFunction(kernel: Kernel, names: ReadonlySet<string>): boolean {
  let has = false;
  walkKernel(kernel, (op) => void (has ||= op.name === "unary" && names.has(op.attributes["fn"] as string)));
  return has;
}

/** What the elements of inputs may be, by the clauses of the signature and by their dtypes. */
export function rangesOf(kernel: Kernel, dims: DimValues): RangeOf {
  const ranges = new Map([
    ...kernel.inputs.map((t) => [t.name, rangeOf(t, dims)] as const),
    ...kernel.scalars.map((s) => [s.name, INTEGER_LIMITS[s.dtype] ?? null] as const),
  ]);
  return (leaf) => ranges.get(leaf.buffer) ?? null;
}

/** From where to where, without that, the signature says that floats lie; null where it says nothing. */
export function limitsOf(kernel: Kernel, dims: DimValues): RangeOf {
  const limits = new Map(
    kernel.inputs.flatMap(({ name, dtype, values }) =>
      values === undefined || INTEGER_LIMITS[dtype] !== undefined
        ? []
        : [[name, [evaluateExtent(values.from, dims), evaluateExtent(values.to, dims)] as const] as const],
    ),
  );
  return (leaf) => limits.get(leaf.buffer) ?? null;
}

/** Whether the signature says, whatever the lengths are, that the elements of an input are greater than 0. */
export function positiveInputsOf({ inputs }: Kernel): (buffer: string) => boolean {
  const names = new Set(
    inputs.flatMap(({ name, values }) => (typeof values?.from === "number" && values.from > 0 ? [name] : [])),
  );
  return (buffer) => names.has(buffer);
}

/** What the elements of inputs are computed in. */
export function computedInOf(kernel: Kernel): ComputedIn {
  const dtypes = new Map<string, DType>([...kernel.inputs, ...kernel.scalars].map((t) => [t.name, t.dtype]));
  return (leaf) => DTYPES[dtypes.get(leaf.buffer)!].compute;
}

function rangeOf({ dtype, values }: SignatureTensor, dims: DimValues): readonly [number, number] | null {
  const limits = INTEGER_LIMITS[dtype];
  if (limits === undefined || values === undefined) return limits ?? null;
  return [evaluateExtent(values.from, dims), evaluateExtent(values.to, dims)];
}

const INTEGER_LIMITS: Partial<Record<DType, readonly [number, number]>> = {
  i8: [-(2 ** 7), 2 ** 7],
  u8: [0, 2 ** 8],
  i64: [-(2 ** 63), 2 ** 63],
  i32: [-(2 ** 31), 2 ** 31],
  u32: [0, 2 ** 32],
  bool: [0, 2],
};

/** Whether an input has elements of so few values that all of them can be tried. */
export function isOfFewIntegers({ inputs }: Kernel): boolean {
  return inputs.some(
    ({ dtype, values }) => DTYPES[dtype].kind !== "float" && (values !== undefined || DTYPES[dtype].bytes === 1),
  );
}

/** By name of inputs and of numbers that launches are given. */
export function dtypesOf({ inputs, scalars }: Kernel): ReadonlyMap<string, DType> {
  return new Map([...inputs, ...scalars].map((t) => [t.name, t.dtype]));
}

/** The fields of the kernel that was asked about last: one proof asks for each shape. */
let latest: { readonly kernel: Kernel; readonly seed: number; readonly places: Places } | null = null;

/** Where values are: random members that the text of the kernel and the seed decide about. */
export function randomPlaces(kernel: Kernel, seed: number): Places {
  if (latest?.kernel !== kernel || latest.seed !== seed)
    latest = { kernel, seed, places: placesOf(keyOf(printKernel(kernel), seed)) };
  return latest.places;
}

/** The places in the source that store to a buffer. */
export function storesOf(kernel: Kernel, name: string): Span[] {
  const spans = new Map<number, Span>();
  walkKernel(kernel, (op) => {
    if (op.name === "store" && text(op, "buffer") === name) spans.set(op.span.start, op.span);
  });
  return [...spans.values()];
}

export function storePlace(name: string, rank: number, launch: number, span: Span): Place {
  return { rank, block: -1, launch, span, what: `'${name}' is stored here` };
}
