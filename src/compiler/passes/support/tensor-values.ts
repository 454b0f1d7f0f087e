/** Tensors as lower-tensors sees them: what one rank holds or can compute of a whole tensor. */
import type { Value } from "../../ir/module.js";
import type { Type } from "../../ir/types.js";
import { DTYPES, type ComputeDType, type DType } from "../../types/dtype.js";
import { type Extent, printExtent } from "../../types/extent.js";
import type { Layout } from "../../types/layout.js";
import type { Along } from "./element-builder.js";

export type TensorType = Extract<Type, { kind: "tensor" }>;
export type Index = readonly Value[];

/**
 * A division of a replicated tensor's elements among the ranks, all or those of a row of the mesh or of a domain, each by its place there.
 * - `slices`: rank r has `length` indices of dimension `dim` from r · length on, as far as there are so many.
 * - `rails`: of a domain, the rank of each place has the shards of `length` indices of dimension `dim` of all ranks of that place, whatever their domain.
 * - `chunks`: rank r has the r-th of nearly equal pieces of all elements, counted row-major.
 */
export type Partition = (
  | { readonly kind: "slices"; readonly dim: number; readonly length: Extent; readonly isExact: boolean }
  | { readonly kind: "rails"; readonly dim: number; readonly length: Extent }
  | { readonly kind: "chunks" }
) & {
  readonly axis: Along;
};

/**
 * Where in a buffer the element at an index is computed from: at the same index on the rank that computes it (`own`), at the
 * same index on any rank (`ranks`), or anywhere.
 */
export type ReadPlace = "own" | "ranks" | "anywhere";
export type Reads = ReadonlyMap<string, ReadPlace>;

const PLACES: readonly ReadPlace[] = ["own", "ranks", "anywhere"];

/** What several tensors read, together; each at least as far away as `least`. */
export function readsOf(tensors: readonly Pick<LocalTensor, "reads">[], least: ReadPlace = "own"): Reads {
  const all = new Map<string, ReadPlace>();
  for (const { reads } of tensors)
    for (const [buffer, place] of reads) {
      const far = [place, least, all.get(buffer) ?? "own"].map((p) => PLACES.indexOf(p));
      all.set(buffer, PLACES[Math.max(...far)]!);
    }
  return all;
}

export interface LocalTensor {
  readonly dtype: DType;
  readonly layout: Layout;
  /** What this rank holds. */
  readonly shape: readonly Extent[];
  /** The buffer that holds exactly this tensor in its dtype, if one does. */
  readonly buffer: string | null;
  /** Each element is one load from a buffer in its dtype, each index of it one of the tensor's plus something fixed. */
  readonly isStrided: boolean;
  /** The same as a view of memory, where it is an arrangement of what is not in memory yet: that is put there as it is, and not rearranged. */
  readonly ofStrided: (() => LocalTensor) | null;
  /** How many neighbours along each dimension are surely equal, from a multiple of that number on; 0 where all are. */
  readonly runs: readonly number[];
  /** The same with each element one load, where it repeats what is not in memory yet: that is put there as it is. */
  readonly ofRepeated: (() => LocalTensor) | null;
  /** What it is a product of, where that is a tensor of 8-bit floats and one that has runs. */
  readonly scaled: Scaled | null;
  /** Emits the element at a local index, in the dtype's compute kind; on `peer`, if given, what that rank has there. */
  readonly element: (index: Index, peer?: Value) => Value;
  /** Whether `element` can be asked for a peer's: all it reads lies in memory that peers can reach. */
  readonly isReachable: boolean;
  /** Whether the elements are numbers of the dtype, so that keeping them in memory rounds nothing. */
  readonly isExact: boolean;
  /** Whether it comes from a conversion as it is: then it may be rounded to its dtype once, where it travels or is kept. */
  readonly isConverted: boolean;
  /** Whether an element is more than local loads and arithmetic: it reads peers, or folds. */
  readonly isCostly: boolean;
  /** The memory that elements are computed from, and where in it. */
  readonly reads: Reads;
  /** Products that an element computes. A loop can have one on the tensor cores. */
  readonly products: ReadonlySet<object>;
  /** `element` holds for this rank's part alone, of a replicated tensor or of one that is gathered to one rank. */
  readonly owned: Partition | null;
  /** Of a replicated tensor that any rank can compute: each had better compute its part and give it to all. */
  readonly spread: Partition | null;
}

/** A tensor of 8-bit floats, widened, times a scale. */
export interface Scaled {
  readonly of: LocalTensor;
  /** Null where that is 1. */
  readonly by: LocalTensor | null;
}

/** How many neighbours are equal of what is computed of two tensors that have such runs. */
export function commonRun(a: number, b: number): number {
  return b === 0 ? a : commonRun(b, a % b);
}

export function computeKind(dtype: DType): ComputeDType {
  return DTYPES[dtype].compute;
}

export function samePartition(a: Partition, b: Partition): boolean {
  if (a.axis !== b.axis) return false;
  if (a.kind !== b.kind) return false;
  if (a.kind === "chunks" || b.kind === "chunks") return true;
  return a.dim === b.dim && printExtent(a.length) === printExtent(b.length);
}

/** The partition with its dimensions numbered anew; null where it has none there. */
export function movedPartition(p: Partition | null, place: (dim: number) => number): Partition | null {
  if (p === null || p.kind === "chunks") return p;
  const dim = place(p.dim);
  return dim < 0 ? null : { ...p, dim };
}
