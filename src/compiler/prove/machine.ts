/** The state of all ranks while a kernel is executed symbolically: memory, flags, launches. */
import { type Buffer, bufferOf, isGlobal, type Kernel, type Op } from "../ir/module.js";
import type { Span } from "../source.js";
import { DTYPES } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import { InputValues } from "./inputs.js";
import { limitHelp } from "./limits.js";
import { Fails, type Place, type WrongKind } from "./results.js";
import type { Accumulator, Algebra, Number_ } from "./algebra.js";
import type { Strand, Trace } from "./trace.js";

export interface MachineOptions {
  readonly dims: DimValues;
  /** Launches of the kernel, one after the other on each rank. */
  readonly launches: number;
  /** Whether buffers start at aligned addresses; with false, every test of it fails. */
  readonly aligned?: boolean;
  /** Number of a set of values for inputs that steer; 0 by default. See `inputs.ts`. */
  readonly sample?: number;
  /**
   * Every other launch has one block, as a shape with less work would have: what is kept for blocks that do not run must
   * be there when they run again.
   */
  readonly unevenGrids?: boolean;
  /** Where shared buffers lie, which may be over each other; without it each has memory of its own. */
  readonly shared?: SharedLayout;
}

/** Places of shared buffers in a block's shared memory, as the printer assigns them (`emit/shared-layout.ts`). */
export interface SharedLayout {
  readonly places: ReadonlyMap<
    string,
    {
      /** Bytes from the start. */
      readonly offset: number;
      /** Elements from one row, and from one stage, to the next. */
      readonly rowStride: number;
      readonly stageStride: number;
    }
  >;
  readonly bytes: number;
}

/** Where one shared buffer lies among the granules of a block's shared memory. */
interface SharedPlace {
  readonly first: number;
  /** Granules of an element. */
  readonly scale: number;
  readonly rows: number;
  readonly columns: number;
  /** Elements from one row, and from one stage, to the next. */
  readonly rowStride: number;
  readonly stageStride: number;
}

/** Started by `copy_tile`, performed when it lands. */
export interface PendingCopy {
  readonly land: (f: Frame) => void;
}

/** One block, or one iteration of a loop over threads in which threads wait. */
export interface Frame {
  readonly rank: number;
  readonly block: number;
  readonly launch: number;
  /** Shared memory of the block by buffer number. */
  readonly own: (Number_[] | undefined)[];
  /** Number of each shared buffer in the trace. */
  readonly ownMemory: number[];
  /** Accumulators by buffer number; sums that are still growing. */
  readonly accumulators: (Accumulator | undefined)[][];
  /** What this iteration of a loop over threads does; null in code that all threads of the block execute. */
  strand: Strand | null;
  readonly copies: { open: PendingCopy[]; groups: PendingCopy[][] };
}

export class Machine {
  readonly shapes: readonly (readonly number[])[];
  readonly lengths: readonly number[];
  /** Blocks of the largest launch. */
  readonly grid: number;
  private readonly unevenGrids: boolean;
  /** By buffer number and rank. Absent elements were never written. */
  readonly memory: Number_[][][];
  /** Ops that ran, by number, once it is done; see `countedOps`. */
  executed: readonly number[] = [];
  readonly dims: DimValues;
  readonly aligned: boolean;
  readonly inputs: InputValues;

  /**
   * @param algebra null when values of data do not matter
   * @param trace null when the order does not matter
   */
  constructor(
    readonly kernel: Kernel,
    options: MachineOptions,
    readonly algebra: Algebra | null,
    makeTrace: ((grid: number) => Trace) | null,
  ) {
    if (kernel.level !== "device") throw new RangeError(`the prover takes device-level kernels, not ${kernel.level}`);
    this.dims = options.dims;
    this.aligned = options.aligned ?? true;
    this.inputs = new InputValues(kernel, options.dims, options.sample ?? 0);
    this.shared = options.shared ?? null;
    this.granule = Math.min(4, ...kernel.buffers.filter((b) => b.role === "shared").map((b) => DTYPES[b.dtype].bytes));
    this.shapes = kernel.buffers.map((b) => b.shape.map((e) => evaluateExtent(e, options.dims)));
    this.lengths = this.shapes.map((s) => s.reduce((a, n) => a * n, 1));
    this.grid = gridOf(kernel, options.dims);
    this.unevenGrids = options.unevenGrids ?? false;
    this.trace = makeTrace?.(this.grid) ?? null;
    const isFlag = (b: Buffer): boolean => b.role === "signal" || b.role === "state";
    this.memory = kernel.buffers.map((b, j) =>
      Array.from({ length: kernel.world }, () => new Array<Number_>(isFlag(b) ? this.lengths[j]! : 0).fill(0)),
    );
    kernel.buffers.forEach((b, j) => {
      if (this.trace === null || !isGlobal(b)) return;
      this.globalMemory.set(j, this.trace.memories.length);
      for (let r = 0; r < kernel.world; r++)
        this.trace.memories.push({ buffer: b.name, owner: `rank ${r}`, length: this.lengths[j]! });
    });
  }

  readonly trace: Trace | null;
  /** Bytes of the narrowest element in shared memory: no access is to less, and places are multiples of it. */
  private readonly granule: number;
  private readonly shared: SharedLayout | null;
  private readonly globalMemory = new Map<number, number>();
  private readonly sharedPlaces: (SharedPlace | null)[] = [];

  /** Number of a buffer of a rank in the trace. */
  memoryOf(buffer: number, rank: number): number {
    return this.globalMemory.get(buffer)! + rank;
  }

  /** Numbers of a new block's shared buffers in the trace. */
  ownMemoryOf(rank: number, block: number): number[] {
    const { trace, shared, kernel } = this;
    if (trace === null) return [];
    const owner = `block ${block} of rank ${rank}`;
    let whole = -1;
    return kernel.buffers.map((b, j) => {
      if (b.role !== "shared") return -1;
      if (shared === null) return trace.memories.push({ buffer: b.name, owner, length: this.lengths[j]! }) - 1;
      // In the trace, granules of the shared memory stand for elements.
      const length = Math.ceil(shared.bytes / this.granule);
      if (whole < 0) whole = trace.memories.push({ buffer: "shared memory", owner, length }) - 1;
      return whole;
    });
  }

  /** Records an access of an op, by its number in the trace, to a shared buffer of the block. */
  noteShared(f: Frame, op: number, buffer: number, start: number, length: number, kind: number, copy = 0): void {
    const { trace } = this;
    if (trace === null) return;
    const strand = this.strandOf(f);
    const memory = f.ownMemory[buffer]!;
    const place = (this.sharedPlaces[buffer] ??= this.placeOf(buffer));
    if (place === null) return trace.access(strand, op, memory, start, length, kind, copy);
    const { first, scale, rows, columns, rowStride, stageStride } = place;
    const size = rows * columns;
    // A whole stage at once: the padding between its rows belongs to nobody else.
    if (start % size === 0 && length % size === 0) {
      const whole = ((rows - 1) * rowStride + columns) * scale;
      for (let stage = start / size; stage < (start + length) / size; stage++)
        trace.access(strand, op, memory, first + stage * stageStride * scale, whole, kind, copy);
      return;
    }
    for (let at = start; at < start + length;) {
      const column = at % columns;
      const count = Math.min(columns - column, start + length - at);
      const row = (at - column) / columns;
      const from = Math.trunc(row / rows) * stageStride + (row % rows) * rowStride + column;
      trace.access(strand, op, memory, first + from * scale, count * scale, kind, copy);
      at += count;
    }
  }

  /** Where a shared buffer lies, in granules; null where each has memory of its own. */
  private placeOf(buffer: number): SharedPlace | null {
    if (this.shared === null) return null;
    const { name, dtype } = this.kernel.buffers[buffer]!;
    const { offset, rowStride, stageStride } = this.shared.places.get(name)!;
    const shape = this.shapes[buffer]!;
    return {
      first: offset / this.granule,
      scale: DTYPES[dtype].bytes / this.granule,
      rows: shape.at(-2) ?? 1,
      columns: shape.at(-1)!,
      rowStride,
      stageStride,
    };
  }

  /** Blocks of a launch. */
  gridAt(launch: number): number {
    return this.unevenGrids && launch % 2 === 1 ? 1 : this.grid;
  }

  bufferNumber(name: string): number {
    return this.kernel.buffers.indexOf(bufferOf(this.kernel, name));
  }

  /** The strand that an access now belongs to: a block-wide op is one of its own. */
  strandOf(f: Frame): Strand {
    return f.strand ?? this.trace!.strand(this.trace!.entity(f.rank, f.block), f.launch);
  }

  place(f: Frame, span: Span, what: string): Place {
    return { rank: f.rank, block: f.block, launch: f.launch, span, what };
  }

  fail(kind: WrongKind, f: Frame, op: Op, message: string): never {
    const help = kind === "bounds" ? limitHelp(this.kernel, op) : null;
    throw new Fails(kind, `rank ${f.rank}, block ${f.block}: ${message}`, [this.place(f, op.span, op.name)], [], help);
  }
}

/** Blocks a launch starts on each rank. */
export function gridOf(kernel: Kernel, dims: DimValues): number {
  const wanted = kernel.work.reduce<number>((a, e) => Math.max(a, evaluateExtent(e, dims)), 1);
  return Math.max(1, Math.min(wanted, kernel.maxBlocks));
}
