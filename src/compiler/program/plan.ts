/**
 * Which kernel a size takes: the one that the model says is fastest there. Some sizes are tried, and between two of them that
 * differ the crossover is looked for. A kernel that gains little wherever it is the fastest is left out: each costs
 * every rank memory for its flags and time to load.
 */
import { bufferOf, isParameter, type Kernel, multiplies } from "../ir/module.js";
import { predict, predictCopies, type Prediction } from "../machine/cost.js";
import type { Machine } from "../machine/machines.js";
import { predictMessages } from "../machine/messages.js";
import type { Choice, Plan } from "../manifest.js";
import type { CopyEnd, LibraryStep } from "../manifest-steps.js";
import { type DType, DTYPES } from "../types/dtype.js";
import { type DimValues, evaluateExtent, type Extent, extentNames, productOf, sameExtent } from "../types/extent.js";
import { isPolynomial, polynomialOf } from "../types/normal-form.js";
import { fitDims } from "../types/requirement.js";
import { NCCL_WAY } from "./library.js";
import { scheduleSteps } from "./step-schedule.js";
import type { KernelStep } from "./steps.js";

/** A way of doing it that could be taken. */
export interface Candidate {
  readonly name: string;
  /** All of it in one kernel. */
  readonly kernel: Kernel;
  /** What is enqueued. */
  readonly steps: readonly KernelStep[];
  /** Bytes of the largest size that it is for, where not for all. */
  readonly mostBytes?: number;
  /** What is known before `kernel` and `steps` are made: both are then made when somebody asks, and nobody asks for what is hopeless. */
  readonly sketch?: Sketch;
}

/** A way whose messages are known, but not what goes on beside them. */
export interface Sketch {
  /** All of it in one kernel, at rank level. */
  readonly kernel: Kernel;
  /** Seconds that it takes at the least. */
  readonly leastSeconds: (dims: DimValues) => number;
  /** The same with its steps, made when somebody asks; null where it turns out that the way cannot be gone. */
  readonly outline: () => Outline | null;
}

/** A way's messages and what lies between them, but not what synchronises that, which takes longest. */
export type Outline = Pick<Candidate, "kernel" | "steps">;

/** What was measured to be the fastest: `way` for sizes below a number of elements, that of the last for all others. */
export interface TunedChoice {
  readonly below: number | null;
  /** `all_reduce/two_shot` */
  readonly way: string;
}

/** The measured plan of a conversion of the library; null where nobody has measured it. */
export type Tuned = (conversion: string, dtype: DType, ranks: number) => readonly TunedChoice[] | null;

/**
 * The plan that was measured.
 * @param candidates those that it names, and perhaps others
 * @param library what a choice of NCCL's own collective is
 */
export function planFrom(
  tuned: readonly TunedChoice[],
  candidates: readonly Candidate[],
  by: Extent,
  library: LibraryStep | null,
): Planned {
  const names = [...new Set(tuned.map((t) => t.way))].filter((name) => library === null || name !== NCCL_WAY);
  // Without a kernel there is nothing to look at, nor to run where the library is not.
  const used = names.length === 0 ? [candidates[0]!] : names.map((name) => candidates.find((c) => c.name === name)!);
  const numbers = firstKernels(used);
  const choices = tuned.map(({ below, way }): Choice => {
    if (library !== null && way === NCCL_WAY) return { below, steps: [library] };
    const candidate = names.indexOf(way);
    return choiceWith(below, numbers[candidate]!, used[candidate]!.steps);
  });
  return { plan: { by, choices }, used };
}

/** What the model says about one size. */
export interface PlannedSize {
  readonly size: number;
  readonly dims: DimValues;
  /** Seconds of each candidate, the fastest first. */
  readonly times: readonly { readonly name: string; readonly seconds: number }[];
}

export interface Planned {
  readonly plan: Plan;
  /** Candidates that the plan takes, in the order of its kernels' numbers. */
  readonly used: readonly Candidate[];
}

/** Less than this part of the time is not worth a kernel more. */
const WORTHWHILE = 0.03;
/** Sizes that are tried are so many times apart. */
const STEP = 4;
const SMALLEST = 64;
/** Bytes of the largest size that is looked at; above, what is best there stays best. */
const LARGEST_BYTES = 2 ** 30;
/** A crossover is known this well, as a factor of the size. */
const PRECISION = 1.05;
/** Crossovers are looked for among sizes of so many leading bits: nobody needs `n < 130793`. */
const LEADING_BITS = 5;

/** @param by what the size of a launch is @param candidates of one signature, at device level */
export function planOf(candidates: readonly Candidate[], by: Extent, machine: Machine): Planned {
  const [first] = candidates as readonly [Candidate, ...Candidate[]];
  // There is nothing to go by.
  if (candidates.length === 1)
    return { plan: { by: 1, choices: [choiceWith(null, 0, first.steps)] }, used: candidates };
  const times = new Times(candidates, by, machine);
  const sizes = sizesOf((first.sketch ?? first).kernel, by);
  const kept = worthwhile(
    candidates.map((_, i) => i),
    sizes.map((size) => times.atSize(size)),
  );
  const best = (size: number): number => times.fastest(size, kept);
  const bounds: { below: number | null; candidate: number }[] = [];
  for (const [i, size] of sizes.entries()) {
    const next = sizes[i + 1];
    const [here, there] = [best(size), next === undefined ? null : best(next)];
    if (there === null) bounds.push({ below: null, candidate: here });
    else if (here !== there) bounds.push({ below: crossover(size, next!, here, there, times), candidate: here });
  }
  const merged = bounds.filter((b, i) => b.below === null || b.below < (bounds[i + 1]?.below ?? Infinity));
  const used = [...new Set(merged.map((b) => b.candidate))].map((i) => candidates[i]!);
  const numbers = firstKernels(used);
  const choices = merged.map(({ below, candidate }) => {
    const taken = candidates[candidate]!;
    return choiceWith(below, numbers[used.indexOf(taken)]!, taken.steps);
  });
  return { plan: { by, choices }, used };
}

/** What the model says about a launch of each candidate. */
export function compared(candidates: readonly Candidate[], dims: DimValues, machine: Machine): PlannedSize["times"] {
  return candidates
    .map((candidate) => ({ name: candidate.name, seconds: secondsOf(candidate, dims, machine) }))
    .sort((a, b) => a.seconds - b.seconds);
}

/** What the model says about one way at one size: parts are those of all steps, the total is that of their schedule. */
export function predictSteps(way: Pick<Candidate, "steps" | "kernel">, dims: DimValues, m: Machine): Prediction {
  const each = predictEach(way, dims, m);
  const sum = (key: keyof Prediction): number => each.reduce((all, p) => all + p[key], 0);
  return {
    total: scheduled(way.steps, each),
    latency: sum("latency"),
    wire: sum("wire"),
    memory: sum("memory"),
    arithmetic: sum("arithmetic"),
    blocks: Math.max(...each.map(({ blocks }) => blocks)),
  };
}

function scheduled(steps: readonly KernelStep[], each: readonly Pick<Prediction, "total">[]): number {
  return Math.max(...scheduleSteps(steps, each.map(({ total }) => total)).map(({ end }) => end)); // prettier-ignore
}

/** The same of each step, as if nothing went on beside it. */
export function predictEach(
  { steps, kernel }: Pick<Candidate, "steps" | "kernel">,
  dims: DimValues,
  m: Machine,
): readonly Prediction[] {
  const beside = besideLaunches({ steps, kernel }, dims, m);
  return steps.map((step, i) => {
    if (step.kind !== "launch") return beside(step);
    const alone = predict(step.kernel, dims, m);
    if (step.kernel.early !== true || !comesAfterOther(steps, i)) return alone;
    const later = m.earlyLaunch.value;
    return { ...alone, total: alone.total + later, latency: alone.latency + later };
  });
}

/** Seconds of steps whose launches do nothing. */
function leastSeconds(way: Pick<Candidate, "steps" | "kernel">, dims: DimValues, m: Machine): number {
  const beside = besideLaunches(way, dims, m);
  const launch = { total: Math.max(0, m.launch.value - m.earlyLaunch.value) };
  return scheduled(way.steps, way.steps.map((step) => (step.kind === "launch" ? launch : beside(step)))); // prettier-ignore
}

/** What the model says of a step that is no launch. */
function besideLaunches(
  { steps, kernel }: Pick<Candidate, "steps" | "kernel">,
  dims: DimValues,
  m: Machine,
): (step: Exclude<KernelStep, { kind: "launch" }>) => Prediction {
  const bytesOfMemory = memoryBytes(steps);
  const bytesOf = ({ tensor, isMemory }: CopyEnd): number =>
    isMemory === true ? bytesOfMemory(tensor) : DTYPES[bufferOf(kernel, tensor).dtype].bytes;
  return (step) =>
    step.kind === "message"
      ? predictMessages(step, bytesOfMemory, dims)
      : predictCopies(step.copies, step.beside === true, bytesOf, dims, m);
}

/** Whether a launch begins after something else than a launch, which none of its blocks can wait for in its place. */
function comesAfterOther(steps: readonly KernelStep[], at: number): boolean {
  const step = steps[at]!;
  if (step.kind === "launch" && step.awaits !== undefined) return true;
  const before = steps.slice(0, at).findLast((s) => s.kind === "launch" || s.beside !== true);
  return before !== undefined && before.kind !== "launch";
}

/** Bytes of an element of the program's memory. */
export function memoryBytes(steps: readonly KernelStep[]): (memory: string) => number {
  const buffers = steps.flatMap((step) => (step.kind === "launch" ? step.kernel.buffers : []));
  return (memory) => DTYPES[buffers.find((b) => b.memory === memory)!.dtype].bytes;
}

/** The same in seconds. */
export function secondsOf(candidate: Candidate, dims: DimValues, machine: Machine): number {
  return predictSteps(candidate, dims, machine).total;
}

/** Numbers of the candidates' first kernels, where all of them stand in one list. */
function firstKernels(used: readonly Candidate[]): number[] {
  let next = 0;
  return used.map(({ steps }) => {
    const first = next;
    next += steps.filter(({ kind }) => kind === "launch").length;
    return first;
  });
}

/** A choice of one way. @param first number of its first kernel */
export function choiceWith(below: number | null, first: number, steps: readonly KernelStep[]): Choice {
  let kernel = first;
  return {
    below,
    steps: steps.map((step) => {
      if (step.kind !== "launch") return step;
      const awaits = step.awaits === undefined ? {} : { awaits: step.awaits };
      return { kind: "launch", kernel: kernel++, maxBlocks: step.kernel.maxBlocks, ...awaits };
    }),
  };
}

/** What takes so many times as long as the fastest at the least is not counted through: no plan takes it there. */
const HOPELESS = 1.25;

class Times {
  private readonly known = new Map<number, number[]>();
  private readonly least = new Map<number, number[]>();

  constructor(
    private readonly candidates: readonly Candidate[],
    private readonly by: Extent,
    private readonly machine: Machine,
  ) {}

  /** Seconds of each candidate; of those that are hopeless, infinitely many. */
  atSize(size: number): readonly number[] {
    const times = this.candidates.map(() => Infinity);
    let best = Infinity;
    // The one that may be the fastest is looked at next, more closely each time.
    const left = this.candidates.map((_, i) => ({ i, least: this.sketched(i, size), isSketch: true }));
    while (left.length > 0) {
      const next = left.reduce((a, b) => (b.least < a.least ? b : a));
      if (next.least > HOPELESS * best || next.least === Infinity) break;
      if (next.isSketch) {
        [next.isSketch, next.least] = [false, this.floor(next.i, size)];
        continue;
      }
      left.splice(left.indexOf(next), 1);
      times[next.i] = this.of(next.i, size);
      best = Math.min(best, times[next.i]!);
    }
    return times;
  }

  /** Seconds that a candidate takes at the least, as far as its sketch says. */
  private sketched(i: number, size: number): number {
    const { sketch } = this.candidates[i]!;
    return sketch === undefined ? 0 : sketch.leastSeconds(dimsOf(sketch.kernel, this.by, size));
  }

  /** Seconds that a candidate takes at the least: its messages and copies, and launches that do nothing. */
  private floor(i: number, size: number): number {
    const floors = this.least.get(size) ?? [];
    this.least.set(size, floors);
    if (floors[i] !== undefined) return floors[i];
    const candidate = this.candidates[i]!;
    const known = candidate.sketch === undefined ? candidate : candidate.sketch.outline();
    return (floors[i] =
      known === null ? Infinity : leastSeconds(known, dimsOf(known.kernel, this.by, size), this.machine));
  }

  /** Seconds of a candidate. */
  of(i: number, size: number): number {
    const times = this.known.get(size) ?? [];
    this.known.set(size, times);
    const candidate = this.candidates[i]!;
    const { kernel, mostBytes = Infinity } = candidate;
    if (size * DTYPES[kernel.outputs[0]!.dtype].bytes > mostBytes) return Infinity;
    return (times[i] ??= secondsOf(candidate, dimsOf(kernel, this.by, size), this.machine));
  }

  fastest(size: number, among: readonly number[]): number {
    const isFaster = (i: number, limit: number): boolean =>
      this.sketched(i, size) < limit && this.floor(i, size) < limit && this.of(i, size) < limit;
    return among.reduce((best, i) => (isFaster(i, this.of(best, size)) ? i : best));
  }
}

/** Candidates without those whose absence costs little anywhere, the least useful first; of equal ones the first stays. */
function worthwhile(all: readonly number[], times: readonly (readonly number[])[]): readonly number[] {
  const costWithout = (kept: readonly number[], i: number): number =>
    Math.max(
      ...times.map((t) => {
        const rest = kept.filter((k) => k !== i).map((k) => t[k]!);
        return Math.min(...rest) / Math.min(...kept.map((k) => t[k]!)) - 1;
      }),
    );
  let kept = all;
  while (kept.length > 1) {
    const [least] = [...kept].reverse().sort((a, b) => costWithout(kept, a) - costWithout(kept, b));
    if (costWithout(kept, least!) >= WORTHWHILE) break;
    kept = kept.filter((i) => i !== least);
  }
  return kept;
}

/**
 * The size from which on `there` is faster, which it is at `high` and not at `low`. Sizes of few leading bits are looked at: at others
 * the model counts what odd lengths cost.
 */
function crossover(low: number, high: number, here: number, there: number, times: Times): number {
  let [from, to] = [low, high];
  while (to / from > PRECISION && to - from > 1) {
    const middle = rounded(Math.sqrt(from * to));
    if (middle <= from || middle >= to) break;
    if (times.fastest(middle, [here, there]) === here) from = middle;
    else to = middle;
  }
  const found = rounded(to);
  return found > low ? found : low + unitOf(to);
}

function rounded(size: number): number {
  return Math.round(size / unitOf(size)) * unitOf(size);
}

function unitOf(size: number): number {
  return 2 ** Math.max(0, Math.floor(Math.log2(size)) - LEADING_BITS + 1);
}

/** Sizes to look at, up to what the kernel's requirements allow. */
function sizesOf(kernel: Kernel, by: Extent): number[] {
  const { bytes } = DTYPES[kernel.outputs[0]!.dtype];
  const most = Math.min(largest(by, kernel) ?? Infinity, LARGEST_BYTES / bytes);
  const sizes: number[] = [];
  for (let size = SMALLEST; size < most; size *= STEP) sizes.push(size);
  return [...sizes, most];
}

/** The size that a program's plan goes by: elements of its largest output. */
export function sizeOf(kernel: Kernel): Extent {
  return productOf(kernel.outputs[0]!.shape);
}

/** Longest dimension of a matrix that is looked at, but for the first: rows get more, not longer. */
const LONGEST_ROW = 4096;
/** The same of matrices that are multiplied: those of large models. */
const LONGEST_ROW_OF_PRODUCTS = 8192;

/**
 * Dimensions at which a kernel has the size. Those that do not matter for it are of the same order. Rows have a power of two of elements,
 * as nearly all have: others are accessed one by one. What multiplies has as many rows as it takes, of matrices that are as large for few
 * of them; what its rows are made of does not matter.
 */
export function dimsOf(kernel: Kernel, by: Extent, size: number): Record<string, number> {
  const names = [...extentNames(by)];
  const isProduct = multiplies(kernel);
  const [first] = names;
  const rest = names.slice(1);
  const rows = isProduct ? rest.filter((name) => isOfRows(name, first!, kernel)) : [];
  const root = Math.floor(size ** (1 / Math.max(1, names.length)));
  const longest = isProduct ? LONGEST_ROW_OF_PRODUCTS : LONGEST_ROW;
  const each = isProduct ? longest : 2 ** Math.floor(Math.log2(Math.max(1, Math.min(longest, root))));
  const dims: Record<string, number> = Object.fromEntries(
    kernel.dims.map((name) => [name, rows.includes(name) ? 1 : rest.includes(name) ? each : longest]),
  );
  if (first !== undefined) {
    const others = evaluateExtent(by, { ...dims, [first]: 1 });
    dims[first] = Math.max(1, Math.round(size / Math.max(1, others)));
  }
  return fitDims(kernel.requirements, dims, new Set(kernel.dims));
}

/** Whether tensors have this dimension nowhere but as a part of their rows, which `first` counts, too. */
function isOfRows(name: string, first: string, { buffers }: Kernel): boolean {
  const lengths = buffers.filter(isParameter).flatMap(({ shape }) => shape.map((e) => extentNames(e)));
  return lengths.every((names) => !names.has(name) || names.has(first));
}

/** The most elements that a launch may have, from the extent itself or the requirements; null if they do not say. */
function largest(elements: Extent, { requirements }: Kernel): number | null {
  if (typeof elements === "number") return elements;
  const bounds = requirements.flatMap(({ left, relation, right }) => {
    if (typeof right !== "number") return [];
    if (relation === "le" || relation === "eq") return [{ left, most: right }];
    return relation === "lt" ? [{ left, most: right - 1 }] : [];
  });
  const direct = bounds.filter((b) => sameExtent(b.left, elements)).map((b) => b.most);
  if (direct.length > 0) return Math.min(...direct);
  const isIncreasing = isPolynomial(elements) && [...polynomialOf(elements).values()].every((c) => c >= 0);
  if (!isIncreasing) return null;
  const dims: Record<string, number> = {};
  for (const name of extentNames(elements)) {
    const own = bounds.filter((b) => sameExtent(b.left, name)).map((b) => b.most);
    if (own.length === 0) return null;
    dims[name] = Math.min(...own);
  }
  return evaluateExtent(elements, dims);
}
