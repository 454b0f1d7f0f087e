/** What the generated code of one launch works on: memory of all ranks, and what each block has of its own. */
import { DTYPES, evaluateExtent, type Execution, isGlobal, type DimValues, type Kernel } from "../../compiler/index.js";
import { allocate, fillPoison, type TypedArray } from "../numbers/index.js";
import { type FaultReporter, MachineFaults } from "./faults.js";

/** What blocks have of their own, by buffer: made where a block first looks it up, for most need little of it. */
class Lazily<T> {
  private readonly free: T[][] = [];
  private readonly prototype: object;

  constructor(count: number, make: (buffer: number) => T | undefined, clean: (value: T) => void) {
    const { free } = this;
    const properties: PropertyDescriptorMap = {};
    for (let j = 0; j < count; j++)
      properties[j] = {
        get(this: object): T | undefined {
          const value = free[j]?.pop() ?? make(j);
          if (value !== undefined) clean(value);
          Object.defineProperty(this, j, { value, writable: true, enumerable: true, configurable: true });
          return value;
        },
      };
    this.prototype = Object.create(null, properties) as object;
  }

  /** For a block that starts. */
  take(): (T | undefined)[] {
    return Object.create(this.prototype) as (T | undefined)[];
  }

  /** Of a block that has finished. */
  giveBack(taken: (T | undefined)[]): void {
    for (const [j, value] of Object.entries(taken)) if (value !== undefined) (this.free[Number(j)] ??= []).push(value);
  }
}

export class CpuMachine implements Execution.Machine {
  readonly shapes: readonly (readonly number[])[];
  readonly lengths: readonly number[];
  readonly faults: Execution.Faults;
  private readonly own: Lazily<TypedArray>;
  private readonly ownWritten: Lazily<Uint8Array>;
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
    tracksShared: boolean,
  ) {
    this.shapes = kernel.buffers.map((b) => b.shape.map((e) => evaluateExtent(e, dims)));
    this.lengths = this.shapes.map((shape) => shape.reduce((a, n) => a * n, 1));
    this.own = new Lazily<TypedArray>(
      kernel.buffers.length,
      (j) => {
        const b = kernel.buffers[j]!;
        // Code that all threads run is run once here, so one copy stands for every thread's registers.
        if (b.role === "fragment")
          return allocate(b.dtype === "i32" || b.dtype === "u32" ? b.dtype : "f32", this.lengths[j]!);
        return isGlobal(b) ? undefined : allocate(b.dtype, this.lengths[j]!);
      },
      fillPoison,
    );
    this.ownWritten = new Lazily<Uint8Array>(
      kernel.buffers.length,
      (j) => (tracksShared && kernel.buffers[j]!.role === "shared" ? new Uint8Array(this.lengths[j]!) : undefined),
      (written) => written.fill(0),
    );
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
    f.own = this.own.take();
    f.written = this.ownWritten.take();
  }

  leave(f: Execution.Block): void {
    this.own.giveBack(f.own as (TypedArray | undefined)[]);
    this.ownWritten.giveBack(f.written);
  }

  blocks(_blocked?: Execution.Blocked): void {
    this.blockedWaits++;
  }
}
