/** Where tensors between steps lie: one pool that peers reach, one that they do not; memory is used again when nobody needs it. */
import { DTYPES } from "../../types/dtype.js";
import { type DimValues, elementsOf } from "../../types/extent.js";
import type { Manifest, ManifestBuffer } from "../../manifest.js";

/** A tensor that one step makes and others read. */
export interface Lifetime {
  readonly tensor: string;
  readonly bytes: number;
  readonly isSymmetric: boolean;
  /** Indices of steps: the one that makes it, and the last that reads it; of a result, behind the last step. */
  readonly from: number;
  readonly to: number;
}

export interface PlannedBuffer extends Lifetime {
  readonly pool: "symmetric" | "device";
  /** From the pool's start, the same on every rank. */
  readonly offset: number;
}

/** What kernels need besides tensors. */
export interface Workspace {
  readonly step: number;
  readonly kernel: string;
  readonly buffer: string;
  readonly role: ManifestBuffer["role"];
  readonly bytes: number;
  readonly isSymmetric: boolean;
}

export interface BufferPlan {
  readonly tensors: readonly PlannedBuffer[];
  /** Bytes of each pool, and what they would be if no memory were used twice. */
  readonly pools: Readonly<Record<"symmetric" | "device", { readonly bytes: number; readonly withoutReuse: number }>>;
  readonly workspaces: readonly Workspace[];
  /**
   * Bytes of scratch that kernels may share, for they run one after another and no peer reaches it. Scratch and packets that peers
   * reach, flags and epochs are each kernel's own: a peer may be a kernel ahead.
   */
  readonly sharedScratch: number;
}

/** Offsets are multiples of this, which all vector accesses and tensor maps need at most. */
export const ALIGNMENT = 256;

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** Places tensors, those that are made first first, each at the lowest place that is free for as long as it lives. */
export function planBuffers(
  lifetimes: readonly Lifetime[],
  programs: readonly { readonly step: number; readonly manifest: Manifest; readonly dims: DimValues }[],
): BufferPlan {
  const tensors: PlannedBuffer[] = [];
  for (const t of [...lifetimes].sort((a, b) => a.from - b.from || b.bytes - a.bytes)) {
    const pool = t.isSymmetric ? "symmetric" : "device";
    const others = tensors
      .filter((o) => o.pool === pool && o.from <= t.to && t.from <= o.to)
      .sort((a, b) => a.offset - b.offset);
    let offset = 0;
    for (const o of others) {
      if (offset + t.bytes <= o.offset) break;
      offset = Math.max(offset, aligned(o.offset + o.bytes));
    }
    tensors.push({ ...t, pool, offset });
  }
  const poolOf = (pool: "symmetric" | "device"): { bytes: number; withoutReuse: number } => {
    const own = tensors.filter((t) => t.pool === pool);
    return {
      bytes: own.reduce((most, t) => Math.max(most, aligned(t.offset + t.bytes)), 0),
      withoutReuse: own.reduce((sum, t) => sum + aligned(t.bytes), 0),
    };
  };
  const workspaces = programs.flatMap(({ step, manifest, dims }) =>
    manifest.kernels.flatMap((kernel) =>
      kernel.buffers
        .filter((b) => b.role !== "input" && b.role !== "output")
        .map((b): Workspace => {
          const bytes = elementsOf(b.shape, dims) * DTYPES[b.dtype].bytes;
          return { step, kernel: kernel.name, buffer: b.name, role: b.role, bytes, isSymmetric: b.symmetric };
        }),
    ),
  );
  const local = new Map<string, number>();
  for (const w of workspaces.filter((w) => w.role === "scratch" && !w.isSymmetric)) {
    const key = `${w.step} ${w.kernel}`;
    local.set(key, (local.get(key) ?? 0) + aligned(w.bytes));
  }
  return {
    tensors,
    pools: { symmetric: poolOf("symmetric"), device: poolOf("device") },
    workspaces,
    sharedScratch: Math.max(0, ...local.values()),
  };
}
