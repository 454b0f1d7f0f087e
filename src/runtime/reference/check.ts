/** Checks what the ranks computed against the specification in the manifest. */
import {
  type DimValues,
  type ElementSpecification,
  evaluateExtent,
  hasAxes,
  isHolder,
  type Manifest,
  partsOfRank,
  type SignatureTensor,
  specificationsOf,
  type Specification,
} from "../../compiler/index.js";
import { randomKey, randomStream, sameBytes, type TypedArray } from "../numbers/index.js";
import { columnsOf, hasProduct } from "./columns.js";
import { type Context, evaluateRows, forgetRows, newKnowledge, specificationShape } from "./evaluate.js";
import { evaluateElements } from "./elements.js";
import { heldInputs, type InputReader } from "./inputs.js";
import {
  type Columns,
  inColumns,
  membersFor,
  readRows,
  rowLength,
  type Rows,
  shapeOf,
  visitGridSegments,
  visitSegments,
} from "./logical.js";
import type { ProgramElement } from "./program-roundings.js";
import { heldRows } from "./wide.js";
import { type Mismatch, newTally, type Tally, tallyReduced, tallyRun } from "./tally.js";

export interface CheckOptions {
  /** Check at most about this many elements of each output, chosen by `seed`: whole rows, or of products rows and columns all over them. Default: all. */
  readonly maxElements?: number;
  readonly seed?: number;
  /** What the program's own roundings come to; asked about elements that the signature's do not explain. See `programElements`. */
  readonly program?: ProgramElement;
}

export interface CheckResult {
  /** Every element that was checked lies within its tolerance. */
  readonly correct: boolean;
  /** Largest |actual - reference|, the last rounding included. Infinity if a NaN or infinity stands where it should not. */
  readonly maxError: number;
  /** Error that was allowed at the element with `maxError`. */
  readonly tolerance: number;
  readonly firstMismatch: (Mismatch & { readonly output: string }) | null;
  /** Whether replicated outputs have the same bytes on all ranks at hand; null if there is nothing to compare. */
  readonly bitwiseEqualAcrossRanks: boolean | null;
  /** Logical elements of the outputs that were checked, and how many there are. */
  readonly checked: number;
  readonly total: number;
  /**
   * The part of them, from 0 to 1, at which nothing bounds the error of the operations at this data, as of a root of what may be negative, or of a
   * divisor that may be 0. Nothing is said of those.
   */
  readonly unbounded: number;
  /** Outputs without a specification: nothing is known of their values. */
  readonly unspecified: readonly string[];
}

/** One rank's outputs by name; undefined for a rank that is not at hand, which is then not checked. */
export type RankOutputs = { readonly outputs: Readonly<Record<string, TypedArray>> } | undefined;

/**
 * Compares outputs with the float64 reference of the signature.
 *
 * Tolerances, all per element, u = 2^-24 and ε the unit roundoff of the output's dtype. They go with the operations and
 * the size of their terms, never with what is left of a sum whose terms cancel:
 * - elements that only move must be equal bit for bit (any NaN equals any NaN);
 * - min, max and whole numbers, which wrap, must be equal in value; so must NaN and infinity;
 * - elements that the kernel sends through a narrower dtype (`manifest.roundings`): one rounding to it each
 *   (see `roundings.ts`);
 * - sums of n terms: (n - 1)·u·Σ|x_i|, or 6·√n·u·s where that is less, s a bound on partial sums (see `PartialSums`), then one rounding, ε·|y|; each rank's part of a
 *   sum over ranks that is computed may be rounded once to its dtype before it travels;
 * - products: 6·√K·u·‖a_i‖·‖b_j‖, more of f8 (see `product.ts`), then one rounding; computed operands, and the parts that ranks
 *   compute of a product whose contracted dimension is sharded, may each be rounded once to their dtype;
 * - functions: 16 u of argument and of result; other arithmetic one u each, carried through (see `evaluate.ts`).
 *
 * An element of floats beyond that is right, too, where the program means what the signature says and its own operations
 * round: where they come, at this data, in float64, to what the signature says, within the tolerance above, and to what was
 * computed within a bound on their roundings (see `programElements`). Of long tensors that is seen at a sample of elements, and at each that is
 * farther off than those; the others are taken to be rounded as they are.
 *
 * @param inputs arrays of all ranks, or a reader of them (`generatedInputs`)
 * @param ranks outputs in order of rank; all must be at hand for outputs that are `partial`
 */
export function checkOutputs(
  manifest: Manifest,
  dims: DimValues,
  inputs: InputReader | readonly { readonly inputs: Readonly<Record<string, TypedArray>> }[],
  ranks: readonly RankOutputs[],
  options: CheckOptions = {},
): CheckResult {
  const read = typeof inputs === "function" ? inputs : heldInputs(inputs);
  const context: Context = { manifest, dims, read, known: newKnowledge() };
  const unspecified: string[] = [];
  let maxError = 0;
  let tolerance = 0;
  let firstMismatch: CheckResult["firstMismatch"] = null;
  let checked = 0;
  let total = 0;
  const seen = { compared: 0, unbounded: 0 };
  const count = (tally: Tally): void => {
    seen.compared += tally.compared;
    seen.unbounded += tally.unbounded;
  };
  const specifications = specificationsOf(manifest.specification);
  manifest.outputs.forEach((tensor, o) => {
    const specification = specifications[o] ?? null;
    if (specification === null) {
      unspecified.push(tensor.name);
      return;
    }
    const tally = newTally(
      options.program === undefined ? null : (r, i, says) => options.program!(tensor.name, r, i, says),
    );
    if (specification.kind === "elements") {
      const counts = checkElements(tensor, specification, context, ranks, options, tally);
      checked += counts.checked;
      total += counts.total;
      count(tally);
      if (tally.maxError >= maxError) ({ maxError, tolerance } = tally);
      if (tally.first !== null) firstMismatch ??= { ...tally.first, output: tensor.name };
      return;
    }
    const shape = shapeOf(tensor, dims);
    const value = specificationShape(specification, context);
    if (value.length > 0 && value.join() !== shape.join())
      throw new RangeError(
        `the specification of '${tensor.name}' has shape [${value.join(", ")}], not [${shape.join(", ")}]`,
      );
    const distinct = withoutCopies(tensor, ranks);
    const { ranges, parts } = sampleOf(tensor, specification, context, options);
    for (const [first, last] of ranges) {
      for (const { s, columns } of parts) {
        checked += ((last - first) * rowLength(shape) * (columns?.count ?? 1)) / (columns === null ? 1 : shape.at(-1)!);
        checkRows(tensor, s, context, distinct, [first, last], columns, tally);
      }
      forgetRows(context);
    }
    total += shape.reduce((a, n) => a * n, 1);
    count(tally);
    if (tally.maxError >= maxError) ({ maxError, tolerance } = tally);
    if (tally.first !== null) firstMismatch ??= { ...tally.first, output: tensor.name };
  });
  return {
    correct: firstMismatch === null,
    maxError,
    tolerance,
    firstMismatch,
    bitwiseEqualAcrossRanks: replicatedEqual(manifest, ranks),
    checked,
    total,
    unbounded: seen.compared === 0 ? 0 : seen.unbounded / seen.compared,
    unspecified,
  };
}

/** The ranks with the same bytes as an earlier one of a replicated output left out: they are right or wrong together. */
function withoutCopies(tensor: SignatureTensor, ranks: readonly RankOutputs[]): readonly RankOutputs[] {
  if (tensor.layout.kind !== "replicated" || tensor.layout.axis !== undefined) return ranks;
  const first = ranks.find((r) => r !== undefined);
  return ranks.map((r) => (r === first || !same(r, first, tensor.name) ? r : undefined));
}

function same(a: RankOutputs, b: RankOutputs, name: string): boolean {
  const [x, y] = [a?.outputs[name], b?.outputs[name]];
  return x !== undefined && y !== undefined && sameBytes(x, y);
}

/** The tensor is what the reduction of all outputs of a row gives; each was rounded once. @param self a rank of the row. */
function checkPartial(
  tensor: SignatureTensor,
  s: Specification,
  c: Context,
  ranks: readonly RankOutputs[],
  [first, last]: readonly [number, number],
  self: number,
  tally: Tally,
): void {
  const { dims, manifest } = c;
  const read = (r: number, from: number, to: number): TypedArray => outputOf(ranks, r, tensor.name).subarray(from, to);
  const actual = readRows(tensor, dims, manifest, read, first, last, self);
  const world = membersFor(tensor, manifest, self).length;
  const from = first * rowLength(shapeOf(tensor, dims));
  tallyReduced(tally, tensor, world, heldRows(tensor.dtype, evaluateRows(s, c, first, last, self)), actual, from);
}

/**
 * Compares rows of one output on every rank that holds some of them.
 *
 * @param s what the rows are, or of `columns`, what these are
 */
function checkRows(
  tensor: SignatureTensor,
  s: Specification,
  c: Context,
  ranks: readonly RankOutputs[],
  [first, last]: readonly [number, number],
  columns: Columns | null,
  tally: Tally,
): void {
  const { dims, manifest } = c;
  if (tensor.layout.kind === "partial") {
    // One row of the mesh after the other, each with its own sum; without an axis, there is one.
    const rows = new Set(ranks.map((_, rank) => membersFor(tensor, manifest, rank)[0]!));
    for (const row of rows) checkPartial(tensor, s, c, ranks, [first, last], row, tally);
    return;
  }
  // Rows of a mesh have values of their own, like ranks with `local` tensors.
  const { layout } = tensor;
  const isOwn = layout.kind === "local" || hasAxes(layout);
  const expectedBy = (self: number): Rows => heldRows(tensor.dtype, evaluateRows(s, c, first, last, self));
  // Of some columns, most ranks may hold nothing.
  let common: Rows | null = null;
  ranks.forEach((r, rank) => {
    if (r === undefined || !isHolder(layout, manifest.mesh, rank)) return;
    let own: Rows | null = null;
    const expected = (): Rows => (isOwn ? (own ??= expectedBy(rank)) : (common ??= expectedBy(0)));
    const actual = outputOf(ranks, rank, tensor.name);
    const visit = inColumns(
      (logical, local, length) => tallyRun(tally, tensor.dtype, expected(), logical, actual, local, length, rank),
      shapeOf(tensor, dims).at(-1) ?? 1,
      columns,
    );
    if (layout.kind === "grid")
      visitGridSegments(
        tensor,
        dims,
        partsOfRank(layout, manifest.mesh, rank, tensor.shape.length),
        first,
        last,
        visit,
      );
    else visitSegments(tensor, dims, membersFor(tensor, manifest, rank).indexOf(rank), first, last, visit);
  });
}

/** Compares each rank's elements with what the claim says of them. */
function checkElements(
  tensor: SignatureTensor,
  s: ElementSpecification,
  { manifest, dims, read }: Context,
  ranks: readonly RankOutputs[],
  options: CheckOptions,
  tally: Tally,
): { checked: number; total: number } {
  const shape = tensor.localShape.map((e) => evaluateExtent(e, dims));
  const row = Math.max(rowLength(shape), 1);
  const counts = { checked: 0, total: 0 };
  const { layout } = tensor;
  ranks.forEach((r, rank) => {
    if (!isHolder(layout, manifest.mesh, rank)) return;
    counts.total += shape.reduce((a, n) => a * n, 1);
    if (r === undefined) return;
    const actual = outputOf(ranks, rank, tensor.name);
    for (const [first, last] of rowRanges(shape, true, { ...options, maxElements: options.maxElements ?? 2 ** 20 })) {
      const [from, to] = [first * row, Math.min(last * row, actual.length)];
      if (to <= from) continue;
      const expected = heldRows(tensor.dtype, evaluateElements(s, manifest, dims, read, rank, shape, from, to));
      tallyRun(tally, tensor.dtype, expected, 0, actual, from, to - from, rank);
      counts.checked += to - from;
    }
  });
  return counts;
}

function outputOf(ranks: readonly RankOutputs[], rank: number, name: string): TypedArray {
  const array = ranks[rank]?.outputs[name];
  if (array === undefined) throw new RangeError(`output '${name}' of rank ${rank} is not at hand`);
  return array;
}

/** Rows and columns of a sampled product that are checked together: a stretch of a column's neighbours costs no more than the column. */
const STRETCH = { rows: 4, columns: 8 };
/** Stretches of columns at most: each is read row by row. */
const MOST_STRETCHES = 64;

/** What is checked: ranges of rows, and of each all of it, or stretches of columns with what they are. */
interface Sample {
  readonly ranges: readonly (readonly [number, number])[];
  readonly parts: readonly { readonly s: Specification; readonly columns: Columns | null }[];
}

/**
 * Of a product that is too large to be checked whole, where its columns go without each other, stretches of rows and of columns that lie
 * all over it: no tile is left out before there are more of them than stretches. Of everything else, whole rows.
 */
function sampleOf(tensor: SignatureTensor, s: Specification, c: Context, options: CheckOptions): Sample {
  const shape = shapeOf(tensor, c.dims);
  const isProduct = hasProduct(s);
  const whole = (): Sample => ({ ranges: rowRanges(shape, isProduct, options), parts: [{ s, columns: null }] });
  const limit = options.maxElements ?? Infinity;
  const [rows, width] = [shape[0] ?? 1, shape.at(-1) ?? 1];
  if (!isProduct || shape.length < 2 || rows * rowLength(shape) <= limit || tensor.layout.kind === "partial")
    return whole();
  const random = randomStream(randomKey(options.seed ?? 0, rows, width));
  const inner = rowLength(shape) / width;
  const wanted = Math.max(Math.sqrt(limit / inner), limit / inner / rows);
  const stretches = Math.min(Math.ceil(wanted / STRETCH.columns), MOST_STRETCHES);
  if (stretches * STRETCH.columns >= width) return whole();
  const parts = spread(width, STRETCH.columns, stretches, random).map(([from, to]) => {
    const columns = { from, count: to - from };
    return { s: columnsOf(s, columns, c), columns };
  });
  if (parts.some((part) => part.s === null)) return whole();
  const count = Math.ceil(limit / inner / (stretches * STRETCH.columns) / STRETCH.rows);
  return { ranges: spread(rows, STRETCH.rows, count, random), parts: parts as Sample["parts"] };
}

/** Stretches of a length, one somewhere in each of `count` equal parts of it, or two, with its first and its last; all of it where that is no more. */
function spread(length: number, size: number, count: number, random: () => number): (readonly [number, number])[] {
  const [wanted, all] = [Math.max(count, 2), Math.ceil(length / size)];
  if (wanted >= all) return Array.from({ length: all }, (_, i) => [i * size, Math.min((i + 1) * size, length)]);
  const parts = Math.min(wanted, Math.floor(length / size));
  return Array.from({ length: parts }, (_, i) => {
    const [lo, hi] = [Math.floor((i * length) / parts), Math.floor(((i + 1) * length) / parts)];
    const from = i === 0 ? 0 : i === parts - 1 ? length - size : lo + (random() % (hi - lo - size + 1));
    return [from, from + size];
  });
}

/** Ranges of rows to check, a bounded number of elements each: all of them, or the first, the last and a sample. */
function rowRanges(shape: readonly number[], product: boolean, options: CheckOptions): (readonly [number, number])[] {
  const rows = shape[0] ?? 1;
  const row = Math.max(rowLength(shape), 1);
  const limit = options.maxElements ?? Infinity;
  let step = Math.max(1, Math.floor((product ? 2 ** 20 : 2 ** 16) / row));
  const sampled = rows * row > limit;
  if (sampled) step = Math.max(1, Math.min(step, Math.floor(limit / row / 8)));
  const chunks = Math.ceil(rows / step);
  const range = (i: number): readonly [number, number] => [i * step, Math.min(rows, (i + 1) * step)];
  if (!sampled) return Array.from({ length: chunks }, (_, i) => range(i));
  const wanted = Math.min(chunks, Math.max(2, Math.floor(limit / row / step)));
  const random = randomStream(randomKey(options.seed ?? 0, rows));
  const chosen = new Set([0, chunks - 1]);
  while (chosen.size < wanted) chosen.add(random() % chunks);
  return [...chosen].sort((a, b) => a - b).map(range);
}

function replicatedEqual(manifest: Manifest, ranks: readonly RankOutputs[]): boolean | null {
  const present = ranks.filter((r) => r !== undefined);
  const isWhole = (t: SignatureTensor): boolean => t.layout.kind === "replicated" && t.layout.axis === undefined;
  const names = manifest.outputs.filter(isWhole).map((t) => t.name);
  if (present.length < 2 || names.length === 0) return null;
  return names.every((name) => present.every((r) => same(r, present[0], name)));
}
