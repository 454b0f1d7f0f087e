/** Shapes to prove a kernel at: small, and together enough that loops take their main, remainder and tail paths. */
import { type Kernel, multiplies } from "../ir/module.js";
import type { PassOptions } from "../passes/options.js";
import type { DimValues } from "../types/extent.js";
import { fitDims, greatestCommon } from "../types/requirement.js";
import { claimedKernel } from "./claimed.js";
import { outcomesOf } from "./outcomes.js";
import { canBeLaunched, fitting, rowDimension, shortShape, wantedShapes } from "./lengths.js";
import { dimsBehind, reachOf, type Root, type Threshold, thresholdsOf } from "./constants.js";
import { outerTensors, scratchShapes, workOf } from "./work.js";

/**
 * A mapping with few threads, blocks and small tiles: the same passes, the same kinds of loops and the same
 * synchronisation as the mapping that runs, at a size that can be looked at whole.
 */
export const PROOF_MAPPING: Partial<PassOptions> = {
  elementThreads: 4,
  elementBlocks: 3,
  busyBlocks: 3,
  rowBlocks: { threads: 128, each: 1 },
  tileThreads: 32,
  tileBlocks: 2,
  tile: { m: 16, n: 16, k: 8, stages: 3 },
  // Where the machine has roles; as many threads as without.
  roles: {
    m: 16,
    // As wide as more narrow tiles than there are blocks.
    n: 32,
    k: 8,
    stages: 3,
    consumers: 16,
    producers: 16,
    registers: null,
    gathering: null,
    group: 2,
    few: { n: 8, stages: 4, rows: 8 },
    narrower: [24],
    shards: { most: 2, elements: { inTurn: 2, whole: 2 } },
  },
  shares: { meeting: 0, putting: 0, adding: 0 },
};

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
  /** Only worth a proof where nothing is shown of all lengths at once: it is there for a constant of the program. */
  readonly isForConstant: boolean;
}

/** Elements of all ranks that an execution goes through at most: some ten seconds. */
const MOST_ELEMENTS = 2 ** 21;

/**
 * Loads and stores of all ranks that an execution carries out at most where loops go through the same elements again and again, for each
 * element more often than this: all executions of such a program together take some fifteen seconds.
 */
const MOST_REPEATED = 2 ** 19;
const OFTEN = 256;

/** A length that is a number, and may be why there are too many elements. */
const LONG = 256;

/** Why there is nothing that a proof can look at; null if there is something. */
export function whyNoShape(kernel: Kernel, program: Kernel | null): string | null {
  if (shapesToProve(kernel, "answer", program).length > 0) return null;
  const conditions = kernel.requirements.length === 0 ? "" : `: ${kernel.requirements.map((r) => r.reason).join("; ")}`;
  const smallest = fittingShapes(kernel, "answer", null)[0]?.dims;
  if (smallest === undefined) return `no sizes were found that the conditions allow${conditions}`;
  const sizes = Object.entries(smallest).map(([name, n]) => `${name}=${n}`);
  const which = sizes.length === 0 ? "" : `, at the smallest sizes that were found (${sizes.join(" ")})`;
  if (program !== null && workOf(kernel, smallest) <= MOST_ELEMENTS)
    return `loops have more iterations than a proof can look at: ${reachOf(program, smallest).accesses} loads and stores${which}, of ${MOST_REPEATED} at most; shorten the loops that get long where lengths are short`;
  const fixed = [...outerTensors(kernel).map((t) => t.shape), ...scratchShapes(kernel)].flat();
  const isLong = fixed.some((e) => typeof e === "number" && e >= LONG);
  const help = isLong ? "; name the lengths that are numbers as dimensions, so that shorter ones can be looked at" : "";
  return `there are more elements than a proof can look at${which}${conditions}${help}`;
}

/** What a proof takes about a second for. */
const LIGHT = 2 ** 16;

/** Whether an execution is soon through with a shape. */
export function isLight(kernel: Kernel, dims: DimValues): boolean {
  return workOf(kernel, dims) <= LIGHT;
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
  const isAffordable = (dims: DimValues): boolean => {
    const work = workOf(kernel, dims);
    if (work > MOST_ELEMENTS || program === null || multiplies(kernel)) return work <= MOST_ELEMENTS;
    return reachOf(program, dims).accesses <= Math.max(MOST_REPEATED, OFTEN * work);
  };
  const shapes = all.filter(({ dims }) => isAffordable(dims));
  // Where scratch grows faster than the tensors do, the others are as long as they can be.
  if (shapes.length === 1)
    for (const shape of all) {
      const shorter =
        shapes[0]!.dims === shape.dims || shape.isFurther ? null : shortened(kernel, shape.dims, isAffordable);
      if (shorter !== null && shapes.every((s) => JSON.stringify(s.dims) !== JSON.stringify(shorter)))
        shapes.push({ ...shape, dims: shorter });
    }
  // The shortest is there for what is nearly empty. Where conditions have made it as long as the others, they do.
  const isShort = shapes.length < 2 || workOf(kernel, shapes[0]!.dims) < workOf(kernel, shapes[1]!.dims) / 2;
  const chosen = isShort ? shapes : shapes.slice(1);
  // What has no elements says nothing of what has some: it comes after that, and not alone.
  return chosen.length === 0 ? [] : [...chosen, ...emptyShapes(kernel).filter(({ dims }) => isAffordable(dims))];
}

/** For each dimension a shape in which it alone is 0, if there can be such a launch. */
function emptyShapes(kernel: Kernel): ProofShape[] {
  const short = shortShape(kernel);
  return kernel.dims.flatMap((name) => {
    const others = new Set(kernel.dims.filter((d) => d !== name));
    const dims = fitDims(kernel.requirements, { ...short, [name]: 0 }, others);
    return canBeLaunched(kernel, dims) ? [{ dims, isFurther: false, isForConstant: false }] : [];
  });
}

/** About half as long, again and again, until an execution can go through it; null where that is not to be had. */
function shortened(kernel: Kernel, dims: DimValues, isAffordable: (dims: DimValues) => boolean): DimValues | null {
  let shorter: DimValues | null = dims;
  for (let k = 0; k < 20 && shorter !== null; k++) {
    if (isAffordable(shorter)) return shorter;
    shorter = fitting(kernel, Object.fromEntries(Object.entries(shorter).map(([d, n]) => [d, Math.ceil(n / 2)])));
  }
  return null;
}

function fittingShapes(kernel: Kernel, claim: "answer" | "ordering", program: Kernel | null): ProofShape[] {
  const { basic, further } = wantedShapes(kernel, claim);
  const shapes = new Map<string, ProofShape>();
  const add = (wanted: DimValues, { isFurther = false, isForConstant = false } = {}): DimValues | null => {
    const dims = fitting(kernel, wanted);
    const key = JSON.stringify(dims);
    if (dims !== null && !shapes.has(key)) shapes.set(key, { dims, isFurther, isForConstant });
    return dims;
  };
  const plain = basic.map((wanted) => add(wanted)).filter((dims) => dims !== null);
  if (program !== null) for (const wanted of shapesAround(kernel, program, plain)) add(wanted, { isForConstant: true });
  for (const wanted of further) add(wanted, { isFurther: true });
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

const withClaims = new WeakMap<Kernel, Kernel>();

/** A program, and after it what its author claims of its outputs: constants of both tell lengths apart. */
function withClaimsOf(program: Kernel): Kernel {
  let both = withClaims.get(program);
  if (both === undefined) {
    const isClaimed = program.clauses?.ensures.some((span) => span !== null) === true;
    const claimed = isClaimed ? claimedKernel(program) : null;
    both = program;
    if (claimed !== null) {
      const named = new Set(program.buffers.map((b) => b.name));
      const buffers = [...program.buffers, ...claimed.buffers.filter((b) => !named.has(b.name))];
      both = { ...program, buffers, body: { arguments: [], ops: [...program.body.ops, ...claimed.body.ops] } };
    }
    withClaims.set(program, both);
  }
  return both;
}

/** Constants of the program and of its claims on one side of which no shape lies. */
export function constantsBeyond(ofAuthor: Kernel, shapes: readonly DimValues[]): Threshold[] {
  const program = withClaimsOf(ofAuthor);
  const reached = new Reached(program);
  for (const dims of shapes) reached.add(dims);
  return thresholdsOf(program).filter((t) => !t.isOfProduct && !reached.isPast(t));
}

/** Shapes on both sides of the constants of a program and of its claims, as far as they are affordable. */
function shapesAround(kernel: Kernel, ofAuthor: Kernel, plain: readonly DimValues[]): DimValues[] {
  const program = withClaimsOf(ofAuthor);
  const shapes: DimValues[] = [];
  const reached = new Reached(program);
  for (const dims of plain) reached.add(dims);
  let spent = 0;
  const add = (wanted: DimValues): void => {
    const dims = fitting(kernel, wanted);
    const accesses = dims === null ? Infinity : reachOf(ofAuthor, dims).accesses;
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
  // Then the shortest at which what lengths decide goes a way that it has not gone yet.
  const outcomes = outcomesOf(program);
  const looked = [...plain, ...shapes].map((wanted) => fitting(kernel, wanted)).filter((dims) => dims !== null);
  for (const outcome of outcomes.all) {
    if (looked.some((dims) => typeof outcomes.at(outcome, dims) === "object")) continue;
    // Of a few elements in each dimension, if that is to be had: what several decisions make together shows there.
    for (const least of [short, {}]) {
      const found = outcomes.lengthsFor(outcome, least);
      if (typeof found !== "object") continue;
      const before = shapes.length;
      add(found.dims);
      if (shapes.length === before) continue;
      looked.push(found.dims);
      break;
    }
  }
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
export function lengthBeyond(kernel: Kernel, ofAuthor: Kernel, threshold: Threshold): DimValues | null {
  const program = withClaimsOf(ofAuthor);
  const short = shortShape(kernel);
  for (const dim of dimsBehind(program, threshold.root)) {
    const n = lengthPast(program, short, dim, threshold, Infinity);
    if (n !== null) return { [dim]: n };
  }
  return null;
}

/** Those of some shapes in which no dimension is 0; all of them where each has one that is. */
export function withElements(shapes: readonly DimValues[]): readonly DimValues[] {
  const found = shapes.filter((dims) => Object.values(dims).every((n) => n > 0));
  return found.length > 0 ? found : shapes;
}

/** Those that are there for what is nearly empty and for all paths, not for a constant of the program, nor without elements. */
export function plainShapes(kernel: Kernel, program: Kernel | null): readonly DimValues[] {
  const plain = shapesToProve(kernel, "answer", program).filter(({ isForConstant }) => !isForConstant);
  return withElements(plain.map(({ dims }) => dims));
}

/** All of them, as they are. */
export function proofShapes(
  kernel: Kernel,
  claim: "answer" | "ordering" = "answer",
  program: Kernel | null = null,
): DimValues[] {
  return shapesToProve(kernel, claim, program).map(({ dims }) => dims);
}
