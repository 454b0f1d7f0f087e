/** What the generated code of one launch works on: memory of all ranks, and what each block has of its own. */
import { DTYPES, evaluateExtent, type Execution, isGlobal, type DimValues, type Kernel } from "../../compiler/index.js";
import { allocate, fillPoison, type TypedArray } from "../numbers/index.js";
import { type FaultReporter, MachineFaults } from "./faults.js";

interface OwnMemory {
  readonly own: (TypedArray | undefined)[];
  readonly written: (Uint8Array | undefined)[];
}

export class CpuMachine implements Execution.Machine {
  readonly shapes: readonly (readonly number[])[];
  readonly lengths: readonly number[];
  readonly faults: Execution.Faults;
  private readonly pool: OwnMemory[] = [];
  private readonly ownsMemory: boolean;
  /** Waits that found their flag not there yet. */
  blockedWaits = 0;

  /**
   * @param memory per buffer and rank; empty for shared buffers and fragments
   * @param offsets elements by which each buffer of each rank starts past an aligned address
   * @param written per buffer and rank, 1 for each element written; empty where untracked
   * @param tracksShared whether the same is to be known of shared buffers
   */
  constructor(
    readonly kernel: Kernel,
    readonly dims: DimValues,
    readonly grid: number,
    readonly memory: readonly (readonly TypedArray[])[],
    readonly offsets: readonly (readonly number[])[],
    readonly written: readonly (readonly Uint8Array[])[],
    reporter: FaultReporter,
    readonly preempts: () => boolean,
    private readonly tracksShared: boolean,
  ) {
    this.shapes = kernel.buffers.map((b) => b.shape.map((e) => evaluateExtent(e, dims)));
    this.lengths = this.shapes.map((shape) => shape.reduce((a, n) => a * n, 1));
    this.ownsMemory = kernel.buffers.some((b) => !isGlobal(b));
    this.faults = new MachineFaults(reporter, this);
  }

  gridAt(): number {
    return this.grid;
  }

  isAligned(buffer: number, owner: number, bytes: number): boolean {
    const { dtype } = this.kernel.buffers[buffer]!;
    return (this.offsets[buffer]![owner]! * DTYPES[dtype].bytes) % bytes === 0;
  }

  /** Gives a block poisoned memory, taken from a finished block if there is one. */
  enter(f: Execution.Block): void {
    if (!this.ownsMemory) return;
    const { kernel, lengths } = this;
    const memory = this.pool.pop() ?? {
      own: kernel.buffers.map((b, j) => {
        if (b.role === "fragment")
          return allocate(b.dtype === "i32" || b.dtype === "u32" ? b.dtype : "f32", lengths[j]!);
        // Code that all threads run is run once here, so one copy stands for every thread's registers.
        return isGlobal(b) ? undefined : allocate(b.dtype, lengths[j]!);
      }),
      written: kernel.buffers.map((b, j) =>
        this.tracksShared && b.role === "shared" ? new Uint8Array(lengths[j]!) : undefined,
      ),
    };
    f.own = memory.own;
    f.written = memory.written;
    for (const own of memory.own) if (own !== undefined) fillPoison(own);
    for (const written of memory.written) written?.fill(0);
  }

  leave(f: Execution.Block): void {
    if (this.ownsMemory) this.pool.push({ own: f.own as OwnMemory["own"], written: f.written });
  }

  blocks(_blocked?: Execution.Blocked): void {
    this.blockedWaits++;
  }
}
