/**
 * The launch manifest: all that a host needs to launch a compiled kernel, as plain JSON.
 * The compiler writes it, the runtime and the ahead-of-time header read it.
 */
import type { LaunchStep, Step } from "./manifest-steps.js";
import { isBroadcast } from "./program/broadcasts.js";
import type { LaunchDType, DType, ScalarKind } from "./types/dtype.js";
import { type DimValues, evaluateExtent, type Extent, extentNames } from "./types/extent.js";
import type { Layout, ReductionOp } from "./types/layout.js";
import type { MeshAxis } from "./types/mesh.js";
import type { Requirement } from "./types/requirement.js";

/** A tensor of the signature. `shape` is the logical (global) shape; `localShape` is what one rank holds. */
export interface SignatureTensor {
  readonly name: string;
  readonly dtype: DType;
  readonly layout: Layout;
  readonly shape: readonly Extent[];
  readonly localShape: readonly Extent[];
  /** What the elements of an input are limited to: at least `from`, below `to`. */
  readonly values?: { readonly from: Extent; readonly to: Extent };
}

/** A number that is given at each launch, the same on every rank: 4 bytes. */
export interface ScalarParameter {
  readonly name: string;
  readonly dtype: LaunchDType;
}

/**
 * What the outputs must be, over the logical tensors of the inputs. Conversions of layout are
 * the identity here, so this is the mathematics alone; evaluate it in float64 for a reference.
 * Operands of elementwise nodes are broadcast: dimensions are matched from the last one, and one of length 1 repeats.
 */
export type Specification =
  | { readonly kind: "input"; readonly name: string }
  | { readonly kind: "constant"; readonly value: number }
  /** A number that the launch was given. */
  | { readonly kind: "scalar"; readonly name: string }
  /** Of each element of a shape, its index along a dimension. */
  | { readonly kind: "iota"; readonly shape: readonly Extent[]; readonly dim: number }
  /** Of the last two dimensions; those before them are batches, and broadcast. */
  | { readonly kind: "matmul"; readonly a: Specification; readonly b: Specification }
  | { readonly kind: "unary"; readonly fn: string; readonly a: Specification }
  | { readonly kind: "binary"; readonly fn: string; readonly a: Specification; readonly b: Specification }
  /** 1 where it holds, else 0. */
  | { readonly kind: "compare"; readonly fn: string; readonly a: Specification; readonly b: Specification }
  | {
      readonly kind: "select";
      readonly condition: Specification;
      readonly a: Specification;
      readonly b: Specification;
    }
  /** Rounds to the dtype. */
  | { readonly kind: "cast"; readonly dtype: DType; readonly a: Specification }
  /** The value itself, which may have been rounded to the dtype once: it was kept in memory, or travelled. */
  | { readonly kind: "rounded"; readonly dtype: DType; readonly a: Specification }
  /** Along one dimension, which has length 1 afterwards. */
  | { readonly kind: "fold"; readonly fn: FoldFunction; readonly dim: number; readonly a: Specification }
  /** Dimension d is the operand's dimension `order[d]`. */
  | { readonly kind: "permute"; readonly order: readonly number[]; readonly a: Specification }
  /** Each index of a dimension \`times\` times, one after the other. */
  | { readonly kind: "repeat"; readonly dim: number; readonly times: number; readonly a: Specification }
  /** The same elements, counted row-major, in another shape. */
  | { readonly kind: "reshape"; readonly shape: readonly Extent[]; readonly a: Specification }
  /** The part of that shape that begins at `from`. */
  | {
      readonly kind: "slice";
      readonly from: readonly Extent[];
      readonly shape: readonly Extent[];
      readonly a: Specification;
    }
  | { readonly kind: "concat"; readonly dim: number; readonly parts: readonly Specification[] };

export type FoldFunction = "sum" | "mean" | "min" | "max" | "prod";

/** What each element of a rank's output must equal, of what the ranks hold, with names for its local indices. */
export interface ElementSpecification {
  readonly kind: "elements";
  readonly variables: readonly string[];
  readonly value: ElementExpression;
}

export type OutputSpecification = Specification | ElementSpecification;

/**
 * An expression over what the ranks hold, evaluated by one rank for one element. Indices and conditions are numbers,
 * too. `floordiv` rounds down, `mod` is never negative; `select` evaluates the chosen side alone, so an index of the
 * other may lie anywhere.
 */
export type ElementExpression =
  | { readonly kind: "constant"; readonly value: number }
  | { readonly kind: "variable" | "dim" | "scalar"; readonly name: string }
  | { readonly kind: "rank" }
  | { readonly kind: "unary"; readonly fn: string; readonly a: ElementExpression }
  | { readonly kind: "binary"; readonly fn: string; readonly a: ElementExpression; readonly b: ElementExpression }
  | { readonly kind: "compare"; readonly fn: string; readonly a: ElementExpression; readonly b: ElementExpression }
  | {
      readonly kind: "select";
      readonly condition: ElementExpression;
      readonly a: ElementExpression;
      readonly b: ElementExpression;
    }
  /** Rounds to the dtype. */
  | { readonly kind: "cast"; readonly dtype: DType; readonly a: ElementExpression }
  /** An integer as an index, of 64 bits: what is made of it does not wrap in the integer's dtype. */
  | { readonly kind: "index"; readonly a: ElementExpression }
  /** An element of an input, of rank `peer` or of the own. */
  | {
      readonly kind: "load";
      readonly input: string;
      readonly peer: ElementExpression | null;
      readonly indices: readonly ElementExpression[];
    }
  /** Folds `body` over `from` ≤ variable < `to`, in order. `avg` is a `div` of a `sum`. */
  | {
      readonly kind: "reduce";
      readonly fn: "sum" | "min" | "max" | "prod";
      readonly variable: string;
      readonly from: ElementExpression;
      readonly to: ElementExpression;
      readonly body: ElementExpression;
    };

/** A node as a table holds it: instead of the nodes that it is made of, their numbers. */
type Written<N> = N extends unknown ? { readonly [F in keyof N]: WrittenField<N[F]> } : never;
type WrittenField<X> = [X] extends [Specification | ElementExpression]
  ? number
  : [X] extends [readonly (Specification | ElementExpression)[]]
    ? readonly number[]
    : [X] extends [ElementExpression | null]
      ? number | null
      : X;

export type SpecificationNode = Written<OutputSpecification | ElementExpression>;

/**
 * Specifications as plain JSON that shares what they share: `nodes` refer to nodes before them, by number.
 * `specificationsOf` makes objects of it.
 */
export interface SpecificationTable {
  readonly nodes: readonly SpecificationNode[];
  /** One number per output, in order; null where only the ordering of the body is specified. */
  readonly outputs: readonly (number | null)[];
}

/**
 * Memory the kernel works on.
 * - `input`/`output`: the caller's tensors; `inout`: one that is both, and is changed in place. `scratch`: workspace the runtime allocates.
 * - `packet`: u32 words of packets that ranks write, four each: data, epoch, data, epoch. Zeroed when allocated, never again,
 *   and used for nothing else.
 * - `signal`: u32 flags written by peers; zeroed once when allocated, never again (epochs only grow).
 * - `state`: u32 local to the rank that outlives launches; zeroed once when allocated.
 */
export interface ManifestBuffer {
  readonly name: string;
  readonly role: "input" | "output" | "inout" | "scratch" | "packet" | "signal" | "state";
  readonly dtype: DType;
  readonly shape: readonly Extent[];
  /** Accessed by peers, so it must lie in symmetric memory, at the same offset on every rank. */
  readonly symmetric: boolean;
  /** Name of the program's memory that it is, in `Manifest.memory`; absent: the kernel's own. */
  readonly memory?: string;
}

/** Workspace that several kernels of a program use, and its messages: allocated once for all of them. */
export interface ProgramMemory {
  /** No other, nor a tensor of the signature, has it. */
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly Extent[];
  /** Some kernel, or a copy, accesses it on peers. */
  readonly symmetric: boolean;
  /** It counts: all is 0 before the first launch, and after a recovery. */
  readonly counts?: true;
}

/**
 * Kernel parameters in order.
 * - `peers`: struct of `ranks` 64-bit device pointers by value, entry p = rank p's buffer as mapped here.
 * - `pointer`: one 64-bit device pointer to the local buffer.
 * - `dim`: i64 value of a dimension. `length`: i64 value of one of the kernel's lengths. `scalar`: 4 bytes, a number of that dtype. `rank`: i32.
 * - `timeout`: u64 nanoseconds each wait may take, 0 = for ever.
 * - `status`: 64-bit pointer to a 16-word u32 record, zero before the launch. A wait that runs out writes
 *   [1, rank, peer, buffer index in `buffers`, slot, wanted value, seen value, source line] and the kernel ends early.
 * - `tensor-map`: 128-byte CUtensorMap by value, aligned to 64 bytes, of the whole buffer of this rank, or with `ranks` above 0
 *   an array of them, entry p of rank p's; `box` elements of each dimension, row-major, at a time, swizzled by 128 bytes, zeros
 *   beyond the ends. Of a buffer that no map can describe (its start or its rows not at multiples of 16 bytes) 128 zero bytes.
 */
export type ManifestParameter =
  | { readonly kind: "peers"; readonly buffer: string; readonly ranks: number }
  | { readonly kind: "pointer"; readonly buffer: string }
  | { readonly kind: "dim"; readonly name: string }
  | { readonly kind: "length"; readonly name: string }
  | { readonly kind: "scalar"; readonly name: string; readonly dtype: LaunchDType }
  | { readonly kind: "rank" }
  | { readonly kind: "timeout" }
  | { readonly kind: "status" }
  | { readonly kind: "tensor-map"; readonly buffer: string; readonly ranks: number; readonly box: readonly number[] };

/** What a collective takes and gives, and what the result must be. */
export interface Signature {
  /** Its name in the source. */
  readonly collective: string;
  readonly ranks: number;
  readonly dtypes: Readonly<Record<string, DType>>;
  /** Names of the dimensions, in the order the signature mentions them. */
  readonly dims: readonly string[];
  /** Numbers that are given at each launch, in the order of the signature. */
  readonly scalars: readonly ScalarParameter[];
  readonly inputs: readonly SignatureTensor[];
  readonly outputs: readonly SignatureTensor[];
  /**
   * Tensors that are input and output at once: one memory, which a launch changes. All others must not share memory with an
   * output. Both have the same dtype and local shape; what was there before is what the specification speaks of.
   */
  readonly inPlace: readonly string[];
  readonly specification: SpecificationTable;
  /** Axes of the grid of ranks, the outermost first; empty for ranks in one row. */
  readonly mesh: readonly MeshAxis[];
  /** What the dimensions of a launch must fulfil. */
  readonly requirements: readonly Requirement[];
}

/** All that a host needs to launch one kernel. */
/** A length that a launch computes: of its dimensions, and of the lengths before it. */
export interface LaunchLength {
  readonly name: string;
  readonly value: Extent;
}

export interface KernelManifest {
  /** Which way of doing it this is, such as `all_reduce/two_shot`; the collective's name where there is one. */
  readonly name: string;
  /** The kernel's symbol in its module. */
  readonly symbol: string;
  readonly buffers: readonly ManifestBuffer[];
  readonly parameters: readonly ManifestParameter[];
  /** What who launches it computes for it, in this order: divisions, for which a GPU takes long. */
  readonly lengths: readonly LaunchLength[];
  readonly blockThreads: number;
  /** grid = clamp(max over `work` of its value, 1, maxBlocks), or fewer where a step says so; the same on every rank. */
  readonly grid: { readonly work: readonly Extent[]; readonly maxBlocks: number };
  /** Dynamic shared memory in bytes. */
  readonly sharedBytes: number;
  /** Blocks wait on each other, so all must be resident: launch cooperatively. */
  readonly cooperative: boolean;
  /** It waits for the launch before it by itself: launch it with programmatic stream serialization, or as any other. */
  readonly early: boolean;
}

/** Steps that are kernels. */
export function launchesOf({ steps }: Choice): readonly LaunchStep[] {
  return steps.filter((step) => step.kind === "launch");
}

/** What a choice is called: the way that its kernels are of, or the library. */
export function choiceName({ steps }: Choice, { kernels }: Pick<Manifest, "kernels">): string {
  const step = steps.find((one) => one.kind === "launch" || one.kind === "library");
  if (step === undefined) return steps.some(({ kind }) => kind === "copy") ? "copy engines" : "messages";
  return step.kind === "launch" ? kernels[step.kernel]!.name : step.library;
}

/** What is done at some sizes. */
export interface Choice {
  /** Holds where the plan's size is below this number, and no choice before it does; null: the last, for all others. */
  readonly below: number | null;
  /** In order, on one stream. */
  readonly steps: readonly Step[];
}

/** Which steps a size takes. Every size has exactly one choice, by construction: bounds grow, and the last has none. */
export interface Plan {
  /** The size: a number of elements. */
  readonly by: Extent;
  readonly choices: readonly Choice[];
}

/** A program: kernels, and steps over them by the dimensions of a launch. */
export interface Manifest extends Signature {
  readonly formatVersion: 5;
  readonly arch: string;
  /** Float dtypes narrower than those of all inputs through which a kernel sends values: as exact as the result can be. */
  readonly roundings: readonly DType[];
  /** Inputs and outputs that peers access in some kernel or copy, so that they must lie in symmetric memory. */
  readonly symmetric: readonly string[];
  readonly kernels: readonly KernelManifest[];
  /** Ranks that share addresses, in runs of so many consecutive ones; absent: all of them. */
  readonly ranksPerDomain?: number;
  /** Memory that kernels share, and messages; absent: there is none. */
  readonly memory?: readonly ProgramMemory[];
  readonly plan: Plan;
}

/** The plan's choice for these dimensions. Nothing is allocated. */
export function choiceOf({ plan }: Pick<Manifest, "plan">, dims: DimValues): Choice {
  const { choices } = plan;
  if (choices.length === 1) return choices[0]!;
  const size = evaluateExtent(plan.by, dims);
  let i = 0;
  while (choices[i]!.below !== null && size >= choices[i]!.below!) i++;
  return choices[i]!;
}

/** What is wrong with a plan, in words; null if every size has exactly one choice, and every step a kernel. */
export function planProblem({
  plan,
  kernels,
  dims,
  inputs,
  outputs,
  ranks,
  memory = [],
}: Pick<Manifest, "plan" | "kernels" | "dims" | "inputs" | "outputs" | "ranks" | "memory">): string | null {
  const { choices, by } = plan;
  if (choices.length === 0) return "it has no choice";
  const unknown = [...extentNames(by)].find((name) => !dims.includes(name));
  if (unknown !== undefined) return `its size depends on '${unknown}', which is no dimension`;
  let last = 0;
  for (const [i, { below, steps }] of choices.entries()) {
    if ((below === null) !== (i === choices.length - 1)) return "all choices but the last have a bound, and only they";
    if (below !== null && !(Number.isSafeInteger(below) && below > last))
      return `the bound ${below} does not grow: the sizes below it have a choice already`;
    last = below ?? last;
    if (steps.length === 0) return `choice ${i} does nothing`;
    for (const step of steps) {
      if (step.kind === "message") {
        const ends = step.ranks.flatMap(({ sends, receives }) => [...sends, ...receives]);
        const missing = ends.find((end) => !memory.some(({ name }) => name === end.memory));
        if (missing !== undefined) return `choice ${i} sends '${missing.memory}', which is no memory of the program`;
        if (step.ranks.length !== ranks)
          return `choice ${i} has messages of ${step.ranks.length} ranks, and there are ${ranks}`;
        const wrong = step.broadcasts?.find((set) => !isBroadcast(set, step.ranks));
        if (wrong !== undefined)
          return `choice ${i} has a broadcast of ranks ${wrong.join(", ")}, and there goes something else than the same from the first to all others`;
        continue;
      }
      if (step.kind !== "launch") {
        const named = step.kind === "copy" ? step.copies.flat().flatMap(({ from, to }) => [from, to]) : null;
        const names = step.kind === "copy" ? named!.filter(({ isMemory }) => !isMemory).map(({ tensor }) => tensor) : [step.input, step.output]; // prettier-ignore
        const missing =
          names.find((name) => ![...inputs, ...outputs].some((t) => t.name === name)) ??
          named?.find(({ tensor, isMemory }) => isMemory && !memory.some(({ name }) => name === tensor))?.tensor;
        if (missing !== undefined)
          return `choice ${i} gives ${step.kind === "copy" ? "the copy engines" : step.library} '${missing}', which is no tensor and no memory`;
        if (step.kind === "copy" && step.copies.length !== ranks)
          return `choice ${i} has copies of ${step.copies.length} ranks, and there are ${ranks}`;
        continue;
      }
      const { kernel, maxBlocks } = step;
      const launched = kernels[kernel];
      if (launched === undefined) return `choice ${i} launches kernel ${kernel}, and there are ${kernels.length}`;
      if (!(maxBlocks >= 1 && maxBlocks <= launched.grid.maxBlocks))
        return `choice ${i} asks for ${maxBlocks} blocks of ${launched.name}, which has at most ${launched.grid.maxBlocks}`;
    }
  }
  return null;
}

export type { DType, Extent, Layout, MeshAxis, ReductionOp, Requirement, ScalarKind };
