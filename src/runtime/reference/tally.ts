/** Element by element comparison of outputs with reference rows. */
import { DTYPES, type DType, InternalCompilerError, type SignatureTensor, U32 } from "../../compiler/index.js";
import {
  decode,
  distance,
  encode,
  isNarrowFloat,
  LARGEST_FINITE,
  SMALLEST_STEP,
  type TypedArray,
} from "../numbers/index.js";
import { isMeant, type ProgramElement, type SignatureElement } from "./program-roundings.js";
import { type Rows } from "./logical.js";

/** The first element outside its tolerance. */
export interface Mismatch {
  readonly rank: number;
  /** Linear index in the rank's local array. */
  readonly index: number;
  /** The float64 reference. */
  readonly expected: number;
  readonly actual: number;
  readonly tolerance: number;
}

export interface Tally {
  maxError: number;
  /** Error allowed where `maxError` was seen. */
  tolerance: number;
  first: Mismatch | null;
  /** Elements that were compared, and those of them at which nothing bounds the error, so that whatever stands there is let pass. */
  compared: number;
  unbounded: number;
  /** An element of the output as the program means it; null where that is not known. */
  readonly program: ((rank: number, index: number, signature: SignatureElement) => ReturnType<ProgramElement>) | null;
}

export function newTally(program: Tally["program"] = null): Tally {
  return { maxError: 0, tolerance: 0, first: null, compared: 0, unbounded: 0, program };
}

/** The error that the program's own roundings allow at an element; null where they do not explain what it is. */
function ownRoundings(
  { program }: Tally,
  rank: number,
  index: number,
  actual: number,
  says: SignatureElement,
): number | null {
  const own = program?.(rank, index, says) ?? null;
  if (own === null || !isMeant(own, says) || !(Math.abs(actual - own.value) <= own.error)) return null;
  return own.error + Math.abs(own.value - says.value);
}

/** Compares `length` elements of `actual` from `local` with `expected` from `logical`. */
export function tallyRun(
  tally: Tally,
  dtype: DType,
  expected: Rows,
  logical: number,
  actual: TypedArray,
  local: number,
  length: number,
  rank: number,
): void {
  if (actual instanceof BigInt64Array) return tallyWide(tally, expected, logical, actual, local, length, rank);
  tally.compared += length;
  const { values, error, copied, sizes } = expected;
  const constant = values.length === 1;
  const isFloat = dtype === "f32" || isNarrowFloat(dtype);
  const { epsilon } = DTYPES[dtype];
  const half = isFloat ? SMALLEST_STEP[dtype] / 2 : 0;
  const largest = isFloat ? LARGEST_FINITE[dtype] : Infinity;
  const saturates = dtype === "f8e4m3" || dtype === "f8e5m2";
  for (let i = 0; i < length; i++) {
    let reference = values[constant ? 0 : logical + i]!;
    const element = actual[local + i]!;
    if (error === null) {
      // One rounding of an exact value: there is one right answer.
      const wanted = encode(dtype, reference);
      // A copy keeps the sign of zero too; codes of narrow floats show it, float32 zeros are equal as numbers.
      if (element === wanted && !(copied && dtype === "f32" && !Object.is(element, wanted))) {
        const d = isFloat ? distance(decode(dtype, element), reference) : 0;
        // Overflow to infinity, saturation and wrapping are right answers too, and no error to speak of.
        if (d > tally.maxError && d < Infinity && Math.abs(reference) <= largest) note(tally, d, d);
        continue;
      }
      const number = decode(dtype, element);
      const target = decode(dtype, wanted);
      if (number !== number && target !== target) continue;
      if (number === target && (!copied || dtype === "bool")) continue; // the other zero, another byte that is true
      const d = distance(number, target);
      const says = { value: reference, tolerance: 0, size: Math.abs(reference), distance: d };
      // After the first wrong element nobody asks what others may be.
      const own = isFloat && tally.first === null ? ownRoundings(tally, rank, local + i, number, says) : null;
      if (d > tally.maxError) note(tally, d, own ?? 0);
      if (own === null)
        // What is stored of a whole number is what is left of it there.
        tally.first ??= {
          rank,
          index: local + i,
          expected: isFloat ? reference : target,
          actual: number,
          tolerance: 0,
        };
      continue;
    }
    const number = decode(dtype, element);
    const e = error[constant ? 0 : logical + i]!;
    if (saturates) reference = Math.min(Math.max(reference, -largest), largest);
    const tolerance = toleranceOf(reference, e, epsilon * (Math.abs(reference) + e) + half);
    const overflown =
      Math.abs(number) === Infinity &&
      Math.sign(number) === Math.sign(reference) &&
      Math.abs(reference) + e >= largest * (1 + epsilon / 2);
    if (overflown) continue;
    if (tolerance === Infinity) {
      tally.unbounded++;
      continue;
    }
    const d = distance(number, reference);
    let own: number | null = null;
    if (isFloat && d > tolerance && tally.first === null) {
      // Errors of float32 go with the size of the terms that it adds up, too.
      const size = Math.max(sizes?.[constant ? 0 : logical + i] ?? 0, Math.abs(reference), e / U32);
      own = ownRoundings(tally, rank, local + i, number, { value: reference, tolerance, size, distance: d });
    }
    if (d > tally.maxError) note(tally, d, own ?? tolerance);
    if (d > tolerance && own === null)
      tally.first ??= { rank, index: local + i, expected: reference, actual: number, tolerance };
  }
}

/** Whole numbers of 64 bits are equal or wrong, but for those that are made of floats; no float64 number is asked. */
function tallyWide(
  tally: Tally,
  { wide, error }: Rows,
  logical: number,
  actual: BigInt64Array,
  local: number,
  length: number,
  rank: number,
): void {
  if (wide === undefined) throw new InternalCompilerError("elements of i64 have no exact reference");
  tally.compared += length;
  for (let i = 0; i < length; i++) {
    const at = wide.length === 1 ? 0 : logical + i;
    const [wanted, found] = [wide[at]!, actual[local + i]!];
    if (wanted === found) continue;
    const [d, tolerance] = [Math.abs(Number(found - wanted)), error?.[at] ?? 0];
    if (d > tally.maxError) note(tally, d, tolerance);
    if (d > tolerance) tally.first ??= { rank, index: local + i, expected: Number(wanted), actual: Number(found), tolerance }; // prettier-ignore
  }
}

/**
 * Compares a `partial` output, put together from all ranks, with expected rows that start at element `from`.
 * Each rank's output was rounded once, so that errors of ε·Σ|y_r|, or half of the dtype's smallest step for each rank
 * where that is more, are allowed. Mismatches name rank 0.
 */
export function tallyReduced(
  tally: Tally,
  tensor: SignatureTensor,
  world: number,
  expected: Rows,
  actual: Rows,
  from: number,
): void {
  if (actual.wide !== undefined) return tallyWide(tally, expected, 0, actual.wide, 0, actual.wide.length, 0);
  tally.compared += actual.values.length;
  const { epsilon, kind } = DTYPES[tensor.dtype];
  const isProduct = tensor.layout.kind === "partial" && tensor.layout.op === "prod";
  const isFloat = tensor.dtype === "f32" || isNarrowFloat(tensor.dtype);
  const half = isFloat ? (world * SMALLEST_STEP[tensor.dtype]) / 2 : 0;
  for (let i = 0; i < actual.values.length; i++) {
    const reference = expected.values[expected.values.length === 1 ? 0 : i]!;
    const value = actual.values[i]!;
    if (kind !== "float" && encode(tensor.dtype, value) === encode(tensor.dtype, reference)) continue;
    // `readRows` bounds the error of the sum by (world - 1)·u·Σ|y_r|; see there.
    const size = actual.error === null ? Math.abs(value) : actual.error[i]! / (Math.max(world - 1, 1) * U32);
    const rounding = epsilon * size * (isProduct ? world : 1) + half;
    const tolerance = toleranceOf(reference, expected.error?.[i] ?? 0, rounding);
    if (tolerance === Infinity) {
      tally.unbounded++;
      continue;
    }
    const d = distance(value, reference);
    if (d > tally.maxError) note(tally, d, tolerance);
    if (d > tolerance) tally.first ??= { rank: 0, index: from + i, expected: reference, actual: value, tolerance };
  }
}

/**
 * The error that is allowed. NaN and infinity are right answers that no error leads away from. A bound that is no number,
 * as where infinities cancel, bounds nothing.
 */
function toleranceOf(reference: number, error: number, rounding: number): number {
  if (!Number.isFinite(reference)) return error === Infinity ? Infinity : 0;
  return error + rounding === error + rounding ? error + rounding : Infinity;
}

function note(tally: Tally, error: number, tolerance: number): void {
  if (error < tally.maxError) return;
  tally.maxError = error;
  tally.tolerance = tolerance;
}
