/** Shapes to prove a kernel at: small, and together enough that loops take their main, remainder and tail paths. */
import type { Kernel } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { SignatureTensor } from "../manifest.js";
import type { PassOptions } from "../passes/options.js";
import { DTYPES } from "../types/dtype.js";
import { type DimValues, elementsOf, type Extent, extentNames } from "../types/extent.js";
import { divisorOf, fitDims, requirementHolds } from "../types/requirement.js";
import { shapesOfOutcomes } from "./outcomes.js";
import { dimsBehind, reachOf, type Root, type Threshold, thresholdsOf } from "./constants.js";

/**
 * A mapping with few threads, blocks and small tiles: the same passes, the same kinds of loops and the same
 * synchronisation as the mapping that runs, at a size that can be looked at whole.
 */
export const PROOF_MAPPING: Partial<PassOptions> = {
  elementThreads: 4,
  elementBlocks: 3,
  busyBlocks: 3,
  tileThreads: 32,
  tileBlocks: 2,
  tile: { m: 16, n: 16, k: 8, stages: 3 },
  // Where the machine has roles; as many threads as without.
  roles: { m: 16, n: 16, k: 8, stages: 3, consumers: 16, producers: 16, registers: null, group: 2 },
};

/** Wide rows that a thread of an interleaved loop has under way; see `passes/options.ts`. */
const ROWS_IN_FLIGHT = 4;

/** Into as many pieces kernels cut tensors, if not into one for each rank. */
const MOST_PIECES = 8;

/** Of dimensions before the last one, where that is long. */
const FEW_ROWS = 3;

/** Of more dimensions, the outer ones are shorter still. */
const MOST_DIMENSIONS = 3;

/**
 * Loads and stores of all ranks at the largest shape that is tried for a constant's sake, and at all such shapes together.
 * A proof takes about two seconds for 10⁶ on one core.
 */
const MOST_ACCESSES = 300_000;
const MOST_ACCESSES_TOGETHER = 600_000;

/** Lengths around so many constants are tried. */
const MOST_EDGES = 12;

export interface ProofShape {
  readonly dims: DimValues;
  /** Only worth a proof if some path was not taken at the shapes before it. */
  readonly isFurther: boolean;
}

/** Elements of all ranks that an execution goes through at most: some ten seconds. */
const MOST_ELEMENTS = 2 ** 21;

/** A length that is a number, and may be why there are too many elements. */
const LONG = 256;

/** Why there is nothing that a proof can look at; null if there is something. */
export function whyNoShape(kernel: Kernel): string | null {
  if (shapesToProve(kernel, "answer", null).length > 0) return null;
  const conditions = kernel.requirements.length === 0 ? "" : `: ${kernel.requirements.map((r) => r.reason).join("; ")}`;
  const smallest = fittingShapes(kernel, "answer", null)[0]?.dims;
  if (smallest === undefined) return `no sizes were found that the conditions allow${conditions}`;
  const sizes = Object.entries(smallest).map(([name, n]) => `${name}=${n}`);
  const which = sizes.length === 0 ? "" : `, at the smallest sizes that were found (${sizes.join(" ")})`;
  const fixed = [...outerTensors(kernel).map((t) => t.shape), ...scratchShapes(kernel)].flat();
  const isLong = fixed.some((e) => typeof e === "number" && e >= LONG);
  const help = isLong ? "; name the lengths that are numbers as dimensions, so that shorter ones can be looked at" : "";
  return `there are more elements than a proof can look at${which}${conditions}${help}`;
}

/**
 * Elements that an execution goes through on all ranks, about: those of all tensors, and those of the largest product that
 * three of them can be the factors and the result of.
 */
function workOf(kernel: Kernel, dims: DimValues): number {
  const elements = [...outerTensors(kernel).map((t) => t.localShape), ...scratchShapes(kernel)].map((s) =>
    elementsOf(s, dims),
  );
  const moved = elements.reduce((a, b) => a + b, 0);
  if (!multiplies(kernel)) return moved * kernel.world;
  const [a, b, c] = [...elements.toSorted((x, y) => y - x), 1, 1, 1];
  return (moved + Math.sqrt(a! * b! * c!)) * kernel.world;
}

function scratchShapes({ buffers }: Kernel): readonly (readonly Extent[])[] {
  return buffers.filter((b) => b.role === "scratch").map((b) => b.shape);
}

interface KnownShapes {
  readonly claim: "answer" | "ordering";
  readonly program: Kernel | null;
  readonly shapes: readonly ProofShape[];
}

/** Found once for each question: every proof of a kernel asks. */
const known = new WeakMap<Kernel, KnownShapes[]>();

/**
 * Shapes to prove, none where the conditions allow none that are small enough. `ordering` gives those that are cheap only
 * when values do not matter: products with enough rows that the loops around them, which move or fold elements, take their
 * main paths.
 * @param program the kernel on rank level, as its author wrote it; its constants say which lengths to try besides
 */
export function shapesToProve(
  kernel: Kernel,
  claim: "answer" | "ordering",
  program: Kernel | null,
): readonly ProofShape[] {
  const asked = known.get(kernel) ?? [];
  let found = asked.find((k) => k.claim === claim && k.program === program);
  if (found === undefined) {
    found = { claim, program, shapes: shapesOf(kernel, claim, program) };
    known.set(kernel, [...asked, found]);
  }
  return found.shapes;
}

function shapesOf(kernel: Kernel, claim: "answer" | "ordering", program: Kernel | null): readonly ProofShape[] {
  const all = fittingShapes(kernel, claim, program);
  const shapes = all.filter(({ dims }) => workOf(kernel, dims) <= MOST_ELEMENTS);
  // Where scratch grows faster than the tensors do, the others are as long as they can be.
  if (shapes.length === 1)
    for (const { dims, isFurther } of all) {
      const shorter = shapes[0]!.dims === dims || isFurther ? null : shortened(kernel, dims);
      if (shorter !== null && shapes.every((s) => JSON.stringify(s.dims) !== JSON.stringify(shorter)))
        shapes.push({ dims: shorter, isFurther });
    }
  // The shortest is there for what is nearly empty. Where conditions have made it as long as the others, they do.
  const isShort = shapes.length < 2 || workOf(kernel, shapes[0]!.dims) < workOf(kernel, shapes[1]!.dims) / 2;
  return isShort ? shapes : shapes.slice(1);
}

/** About half as long, again and again, until an execution can go through it; null where that is not to be had. */
function shortened(kernel: Kernel, dims: DimValues): DimValues | null {
  let shorter: DimValues | null = dims;
  for (let k = 0; k < 20 && shorter !== null; k++) {
    if (workOf(kernel, shorter) <= MOST_ELEMENTS) return shorter;
    shorter = fitting(kernel, Object.fromEntries(Object.entries(shorter).map(([d, n]) => [d, Math.ceil(n / 2)])));
  }
  return null;
}

function fittingShapes(kernel: Kernel, claim: "answer" | "ordering", program: Kernel | null): ProofShape[] {
  const { basic, further } = wantedShapes(kernel, claim);
  const shapes = new Map<string, ProofShape>();
  const add = (wanted: DimValues, isFurther: boolean): DimValues | null => {
    const dims = fitting(kernel, wanted);
    const key = JSON.stringify(dims);
    if (dims !== null && !shapes.has(key)) shapes.set(key, { dims, isFurther });
    return dims;
  };
  const plain = basic.map((wanted) => add(wanted, false)).filter((dims) => dims !== null);
  if (program !== null) for (const wanted of shapesAround(kernel, program, plain)) add(wanted, false);
  for (const wanted of further) add(wanted, true);
  return [...shapes.values()];
}

/** How far the roots of a program's indices get at some shapes. */
class Reached {
  private readonly most = new Map<Root, number>();

  constructor(private readonly program: Kernel) {}

  add(dims: DimValues): void {
    for (const [root, n] of reachOf(this.program, dims).most)
      this.most.set(root, Math.max(n, this.most.get(root) ?? 0));
  }

  isPast({ root, at }: Threshold): boolean {
    return (this.most.get(root) ?? 0) >= at;
  }
}

/** Constants of the program on one side of which no shape lies. */
export function constantsBeyond(program: Kernel, shapes: readonly DimValues[]): Threshold[] {
  const reached = new Reached(program);
  for (const dims of shapes) reached.add(dims);
  return thresholdsOf(program).filter((t) => !reached.isPast(t));
}

/** Shapes on both sides of the program's constants, as far as they are affordable. */
function shapesAround(kernel: Kernel, program: Kernel, plain: readonly DimValues[]): DimValues[] {
  const shapes: DimValues[] = [];
  const reached = new Reached(program);
  for (const dims of plain) reached.add(dims);
  let spent = 0;
  const add = (wanted: DimValues): void => {
    const dims = fitting(kernel, wanted);
    const accesses = dims === null ? Infinity : reachOf(program, dims).accesses;
    if (!(accesses <= MOST_ACCESSES && spent + accesses <= MOST_ACCESSES_TOGETHER)) return;
    spent += accesses;
    reached.add(dims!);
    shapes.push(wanted);
  };
  const short = shortShape(kernel);
  const thresholds = [...thresholdsOf(program)].sort((a, b) => a.at - b.at);
  const edges = new Map<string, DimValues[]>();
  for (const { root, at, isEdge } of thresholds)
    if (isEdge && typeof root === "string")
      edges.set(
        `${root} ${at}`,
        [at - 1, at, at + 1].map((n) => ({ ...short, [root]: Math.max(1, n) })),
      );
  for (const around of [...edges.values()].slice(0, MOST_EDGES)) around.forEach(add);
  for (const { dim, period } of periodsOf(thresholds)) for (let n = 1; n <= period; n++) add({ ...short, [dim]: n });
  // Then as long as it takes for loops to come past the constants that indices are held against.
  const row = rowDimension(kernel);
  for (const threshold of thresholds) {
    if (reached.isPast(threshold)) continue;
    const names = dimsBehind(program, threshold.root);
    const dim = row !== undefined && names.has(row) ? row : [...names][0];
    const n = dim === undefined ? null : lengthPast(program, short, dim, threshold, 2 * MOST_ACCESSES);
    // An odd length, so that nothing divides it that divided those before it.
    if (n === null) continue;
    add({ ...short, [dim!]: n | 1 });
    // What is held against each other may have to be as long together.
    if (kernel.dims.length > 1) add(Object.fromEntries(kernel.dims.map((d) => [d, n | 1])));
  }
  const allow = (wanted: DimValues): DimValues | null => {
    const before = shapes.length;
    add(wanted);
    return shapes.length > before ? fitting(kernel, wanted) : null;
  };
  shapesOfOutcomes(program, [...plain, ...shapes], allow);
  return shapes;
}

/** Lengths of one period are all tried up to this one. */
const LONGEST_PERIOD = 128;

/** Dimensions that are taken modulo several constants, which hold together for some of the lengths of a period alone. */
function periodsOf(thresholds: readonly Threshold[]): { readonly dim: string; readonly period: number }[] {
  const moduli = new Map<string, Set<number>>();
  for (const { root, at, isModulus } of thresholds)
    if (isModulus && typeof root === "string") moduli.set(root, (moduli.get(root) ?? new Set<number>()).add(at));
  const leastCommon = (a: number, b: number): number => (a / greatestCommon(a, b)) * b;
  return [...moduli]
    .filter(([, all]) => all.size > 1)
    .map(([dim, all]) => ({ dim, period: [...all].reduce(leastCommon) }))
    .filter(({ period }) => period <= LONGEST_PERIOD);
}

/** How long a dimension must be for a root to come past a place; null where more than `most` accesses come first. */
function lengthPast(
  program: Kernel,
  short: DimValues,
  dim: string,
  { root, at }: Threshold,
  most: number,
): number | null {
  const reach = (n: number) => reachOf(program, { ...short, [dim]: n });
  const isPast = (n: number): boolean => (reach(n).most.get(root) ?? 0) > at;
  let high = short[dim]!;
  for (; !isPast(high); high *= 2) if (reach(high).accesses > most || high > 2 ** 40) return null;
  let low = Math.floor(high / 2);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isPast(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** A length at which a constant matters, of one dimension that goes with it; null where none is found. */
export function lengthBeyond(kernel: Kernel, program: Kernel, threshold: Threshold): DimValues | null {
  const short = shortShape(kernel);
  for (const dim of dimsBehind(program, threshold.root)) {
    const n = lengthPast(program, short, dim, threshold, Infinity);
    if (n !== null) return { [dim]: n };
  }
  return null;
}

/** A few elements of a few rows. */
function shortShape(kernel: Kernel): DimValues {
  const row = rowDimension(kernel);
  return Object.fromEntries(kernel.dims.map((d) => [d, roundUp(d === row ? 8 : FEW_ROWS, stepOf(kernel, d))]));
}

/**
 * Where buffers start at odd addresses: the ragged shape, or one as much shorter as scalar loops reach their main paths
 * sooner than vector loops. Not for blocks that share memory: products go by tiles, whatever their addresses, and what
 * folds rows goes through long ones otherwise than through short ones.
 */
export function oddShape(kernel: Kernel, ragged: DimValues): DimValues {
  const row = rowDimension(kernel);
  if (row === undefined || kernel.buffers.some((b) => b.role === "shared")) return ragged;
  const threads = Math.max(kernel.blockThreads, 1);
  const parts = isSharded(kernel, row) ? kernel.world : 1;
  const shorter = Math.ceil(ragged[row]! / parts / Math.min(...vectorLanes(kernel)));
  const wanted = { ...ragged, [row]: roundUp(restFrom(shorter, threads, [1], false) * parts, stepOf(kernel, row)) };
  const dims = fitting(kernel, wanted);
  return dims !== null && dims[row]! < ragged[row]! ? dims : ragged;
}

/** All of them, as they are. */
export function proofShapes(
  kernel: Kernel,
  claim: "answer" | "ordering" = "answer",
  program: Kernel | null = null,
): DimValues[] {
  return shapesToProve(kernel, claim, program).map(({ dims }) => dims);
}

/**
 * The dimensions, moved to the nearest that the kernel takes; null if none are found. What moves up moves by whole rows of
 * blocks where it can, and so keeps the rest that it was chosen for.
 */
export function fitting(kernel: Kernel, wanted: DimValues): DimValues | null {
  const { requirements, dims: names } = kernel;
  const isAllowed = (dims: DimValues): boolean => requirements.every((r) => requirementHolds(r, dims));
  if (isAllowed(wanted)) return wanted;
  let dims = fitDims(requirements, wanted, new Set(names));
  if (!isAllowed(dims)) return null;
  for (const name of names) {
    const row = rowOf(kernel) * stepOf(kernel, name);
    const moved = { ...dims, [name]: wanted[name]! + Math.ceil((dims[name]! - wanted[name]!) / row) * row };
    if (wanted[name]! > 1 && dims[name]! > wanted[name]! && isAllowed(moved)) dims = moved;
  }
  return dims;
}

/** Elements that the threads of a block take together, with the widest vectors. */
function rowOf(kernel: Kernel): number {
  return Math.max(kernel.blockThreads, 1) * Math.max(...vectorLanes(kernel));
}

interface WantedShapes {
  readonly basic: readonly DimValues[];
  readonly further: readonly DimValues[];
}

function wantedShapes(kernel: Kernel, claim: "answer" | "ordering"): WantedShapes {
  const { dims, world } = kernel;
  const steps = new Map(dims.map((d) => [d, stepOf(kernel, d)]));
  const shape = (lengths: (dim: string, d: number) => number): DimValues =>
    Object.fromEntries(dims.map((name, d) => [name, roundUp(lengths(name, d), steps.get(name)!)]));
  if (dims.length === 0) return { basic: [{}], further: [] };
  const threads = Math.max(kernel.blockThreads, 1);
  const lanes = vectorLanes(kernel);
  const row = rowOf(kernel);
  /** Elements after which a loop over them has taken its main path. */
  const main = ROWS_IN_FLIGHT * kernel.maxBlocks * row;
  const last = rowDimension(kernel);
  if (dims.length === 1 && last !== undefined) {
    const sharded = isSharded(kernel, dims[0]!);
    const lengths = [1, restFrom(main + row, threads, lanes, false), restFrom(main + row, threads, lanes, true)];
    // Of 64 and of 16, which chunks and vectors go by; the one before is a multiple of neither where vectors are short.
    const multiples = [64, 16].map((of) => (Math.ceil(main / of) | (of === 64 ? 0 : 1)) * of);
    const all = [...lengths, ...multiples].map((n) => shape(() => n * (sharded ? world : 1)));
    // A kernel that works on a share, or on one piece of several, of what is not sharded needs that many times as much.
    return { basic: all, further: sharded ? [] : [shape(() => (main + row) * Math.max(world, MOST_PIECES) + 5)] };
  }
  const few = (n: number): DimValues => shape((name) => n * (isSharded(kernel, name) ? world : 1));
  if (last === undefined) {
    // Rows have a length of their own, as in `T[m, 7168]`: few of long ones, and of short ones as many as lead loops over
    // all elements to their main paths.
    const length = Math.max(1, ...outerTensors(kernel).map((t) => elementsOf(t.localShape, few(1))));
    const rows = Math.max(FEW_ROWS, Math.ceil((main + row) / length));
    return { basic: [few(1), few(rows), few(rows + 1), few(13)], further: [] };
  }
  if (!multiplies(kernel)) {
    // Of many dimensions, the outer ones have two indices each: what goes wrong with strides shows there.
    const rowsOf = (d: number): number => (d < dims.length - MOST_DIMENSIONS ? 2 : FEW_ROWS);
    const long = (n: number) =>
      shape((name, d) => (name === last ? n : rowsOf(d)) * (isSharded(kernel, name) ? world : 1));
    // Of one to three rows, neither is a multiple of the elements that blocks have in flight.
    // A block may take several short rows at once, and more than once.
    const short = shape((name) => (name === last ? 8 : 13) * (isSharded(kernel, name) ? world : 1));
    return { basic: [shape(() => 1), long(235), long(232), short, long(192), long(208)], further: [] };
  }
  // Products: several tiles with ragged edges, and a depth that fills the pipeline and empties it.
  const depth = (name: string): boolean => kernel.inputs.every((t) => t.shape.includes(name));
  const part = (rows: number, columns: number, k: number, middle = k) =>
    shape((name, d) => {
      if (depth(name) || (d > 0 && name !== last)) {
        const length = depth(name) ? k : middle;
        return isSharded(kernel, name) ? Math.min(length, world > 4 ? 18 : length) * world : length;
      }
      if (name === last) return isSharded(kernel, name) ? columns * world : columns;
      return d === 0 && isSharded(kernel, name) ? Math.max(2, Math.ceil(rows / world)) * world : rows;
    });
  const basic = [shape(() => 1), part(19, 19, 27), part(16, 24, 24)];
  if (claim === "answer" && (world > 2 || dims.length > 3)) return { basic, further: [] };
  // As deep as the others, but with no more columns than one tile has: what more of them do is known from those.
  const deep = 24;
  const columns = isSharded(kernel, last) ? Math.ceil(deep / world) : deep;
  return { basic, further: [part(Math.ceil((main + row) / deep) * world, columns, deep, columns)] };
}

function outerTensors({ inputs, outputs }: Kernel): readonly SignatureTensor[] {
  return [...inputs, ...outputs];
}

/** Elements of the vectors of 16 bytes that a kernel may work on. */
function vectorLanes({ buffers }: Kernel): number[] {
  return [...new Set(buffers.map((b) => 16 / DTYPES[b.dtype].bytes))];
}

function multiplies(kernel: Kernel): boolean {
  let found = false;
  walkKernel(kernel, (op) => void (found ||= op.name === "mma"));
  return found;
}

/**
 * A length, at least `least`, that leaves a rest of vectors after whole rows of a block, for vectors of each of `lanes`
 * if there is such a length. With `even` a multiple of all vectors, else a length that leaves a rest of elements, too.
 */
function restFrom(least: number, threads: number, lanes: readonly number[], even: boolean): number {
  const [widest, narrowest] = [Math.max(...lanes), Math.min(...lanes)];
  const isWanted = (n: number): boolean => (even ? n % widest === 0 : n % narrowest === narrowest - 1);
  const score = (n: number): number => lanes.filter((l) => n % (threads * l) >= l).length;
  const candidates = Array.from({ length: threads * widest }, (_, i) => least + i).filter(isWanted);
  return candidates.reduce((best, n) => (score(n) > score(best) ? n : best));
}

/** The dimension that neighbours in memory differ in: the last one of most tensors. Undefined if that has no name. */
export function rowDimension({ dims, inputs, outputs }: Kernel): string | undefined {
  const rows = [...inputs, ...outputs].map((t) => t.shape.at(-1));
  const count = (dim: string): number => rows.filter((e) => e !== undefined && extentNames(e).has(dim)).length;
  return dims.reduce<string | undefined>(
    (best, d) => (count(d) > 0 && (best === undefined || count(d) >= count(best)) ? d : best),
    undefined,
  );
}

/** Whether each rank has a part of a dimension; or elements that steer are limited by one, perhaps by such a part. */
function isSharded({ requirements, world, mesh, inputs }: Kernel, dim: string): boolean {
  const limits = inputs.flatMap(({ values }) => (values === undefined ? [] : [values.from, values.to]));
  if (limits.some((e) => extentNames(e).has(dim))) return true;
  const parts = [world, ...mesh.map((axis) => axis.size)].filter((n) => n > 1);
  return requirements
    .flatMap((r) => divisorOf(r) ?? [])
    .some((r) => parts.includes(r.divisor) && extentNames(r.length).has(dim));
}

function stepOf(kernel: Kernel, dim: string): number {
  return kernel.requirements
    .flatMap((r) => divisorOf(r) ?? [])
    .filter((r) => extentNames(r.length).has(dim))
    .reduce((step, r) => (step * r.divisor) / greatestCommon(step, r.divisor), 1);
}

function greatestCommon(a: number, b: number): number {
  return b === 0 ? a : greatestCommon(b, a % b);
}

function roundUp(n: number, step: number): number {
  return Math.max(1, Math.ceil(n / step)) * step;
}
