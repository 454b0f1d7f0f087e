/** What the generated code of one launch works on: memory of all ranks, and the state of each block. */
import { evaluateExtent, isGlobal, type DimValues, type Kernel } from "../../compiler/index.js";
import { allocate, fillPoison, type TypedArray } from "../numbers/index.js";
import type { FaultReporter } from "./faults.js";
import type { Wait } from "./scheduler.js";
import type { Copy } from "./tiles.js";

/** Memory that belongs to one block while it runs. */
export class BlockState {
  /** Shared buffers and fragments by buffer number; fragments are held in f32, or i32 for integers. */
  memory: (TypedArray | undefined)[] = [];
  /** Which elements of shared buffers have been written, where that is tracked. */
  shadows: (Uint8Array | undefined)[] = [];
  /** Tile copies started since the last commit, and committed groups that have not landed yet. */
  open: Copy[] = [];
  groups: Copy[][] = [];
}

/** The names are read by generated code; see `emitter.ts`. */
export class Launch {
  readonly shapes: readonly (readonly number[])[];
  readonly lengths: readonly number[];
  private readonly pool: BlockState[] = [];
  private readonly ownsMemory: boolean;
  /** Waits that found their flag not there yet. */
  blockedWaits = 0;

  /**
   * @param arrays per buffer and rank; empty for shared buffers and fragments
   * @param offsets elements by which each buffer of each rank starts past an aligned address
   * @param shadows per buffer and rank, 1 for each element written; empty where untracked
   */
  constructor(
    readonly kernel: Kernel,
    readonly dims: DimValues,
    readonly grid: number,
    readonly arrays: readonly (readonly TypedArray[])[],
    readonly offsets: readonly (readonly number[])[],
    readonly shadows: readonly (readonly Uint8Array[])[],
    readonly faults: FaultReporter,
    private readonly preempts: () => boolean,
    private readonly trackShared: boolean,
    /** Who checks and delays accesses under a hostile schedule; generated code reads it. */
    readonly watch: { enter(state: BlockState): void } | null = null,
  ) {
    this.shapes = kernel.buffers.map((b) => b.shape.map((e) => evaluateExtent(e, dims)));
    this.lengths = this.shapes.map((shape) => shape.reduce((a, n) => a * n, 1));
    this.ownsMemory = kernel.buffers.some((b) => !isGlobal(b));
  }

  /** Called as a block starts: gives it poisoned memory, taken from a finished block if there is one. */
  enter(state: BlockState): void {
    this.watch?.enter(state);
    if (!this.ownsMemory) return;
    const used = this.pool.pop();
    state.memory =
      used?.memory ??
      this.kernel.buffers.map((b, j) => {
        if (b.role === "fragment")
          return allocate(b.dtype === "i32" || b.dtype === "u32" ? b.dtype : "f32", this.lengths[j]!);
        // Code that all threads run is run once here, so one copy stands for every thread's registers.
        return isGlobal(b) ? undefined : allocate(b.dtype, this.lengths[j]!);
      });
    for (const memory of state.memory) if (memory !== undefined) fillPoison(memory);
    if (!this.trackShared) return;
    state.shadows =
      used?.shadows ??
      this.kernel.buffers.map((b, j) => (b.role === "shared" ? new Uint8Array(this.lengths[j]!) : undefined));
    for (const shadow of state.shadows) shadow?.fill(0);
  }

  /** Called as a block ends; copies that it did not wait for never land. */
  leave(state: BlockState): void {
    if (this.ownsMemory) this.pool.push(state);
  }

  /** Whether to let another block go on here. */
  preempt(): boolean {
    return this.preempts();
  }

  wait(
    site: number,
    rank: number,
    block: number,
    flags: Uint32Array,
    slot: number,
    wanted: number,
    peer: number,
  ): Wait {
    this.blockedWaits++;
    return { site, rank, block, flags, slot, wanted, peer };
  }
}
