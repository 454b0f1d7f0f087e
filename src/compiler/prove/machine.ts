/** The state of all ranks while a kernel is executed symbolically: memory, flags, launches. */
import type { Block, Blocked, Faults, Machine } from "../execute/machine.js";
import type { SharedLayout } from "../execute/order/shared-places.js";
import { Trace } from "../execute/order/trace.js";
import { bufferOf, isGlobal, type Kernel, type Op } from "../ir/module.js";
import type { Span } from "../source.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import { type GivenNumbers, InputValues } from "./inputs.js";
import { limitHelp } from "./limits.js";
import { isGuarded } from "./predicated.js";
import { CannotTell, Fails, type Place, type WrongKind } from "./results.js";
import type { Algebra, Number_ } from "./algebra.js";

export interface MachineOptions {
  readonly dims: DimValues;
  /** Launches of the kernel, one after the other on each rank. */
  readonly launches: number;
  /** Whether buffers start at aligned addresses; with false, every test of it fails. */
  readonly aligned?: boolean;
  /** Number of a set of values for inputs that steer; 0 by default. See `inputs.ts`. */
  readonly sample?: number;
  /** What random values of inputs that steer are drawn from; 0 by default. */
  readonly seed?: number;
  /** What inputs that steer hold, where that is known. */
  readonly given?: GivenNumbers;
  /**
   * Every other launch has one block, as a shape with less work would have: what is kept for blocks that do not run must
   * be there when they run again.
   */
  readonly unevenGrids?: boolean;
  /** Where shared buffers lie, which may be over each other; without it each has memory of its own. */
  readonly shared?: SharedLayout;
}

export class ProofMachine implements Machine, Faults {
  readonly shapes: readonly (readonly number[])[];
  readonly lengths: readonly number[];
  /** Blocks of the largest launch. */
  readonly grid: number;
  private readonly unevenGrids: boolean;
  /** By buffer number and rank. Absent elements were never written. */
  readonly memory: Number_[][][];
  readonly written: readonly (readonly undefined[])[];
  readonly offsets: readonly (readonly number[])[];
  /** Ops that ran, by number, once it is done; see `countedOps`. */
  executed: readonly number[] = [];
  readonly dims: DimValues;
  private readonly aligned: boolean;
  readonly inputs: InputValues;
  readonly trace: Trace | null;
  /** Results of long folds in the latest launch of each rank; see `keptFold` of the executor. */
  readonly folds = new Map<Op, { launch: number; results: Map<string, readonly Number_[]> }[]>();

  /**
   * @param algebra null when values of data do not matter
   * @param isTraced whether the order matters
   */
  constructor(
    readonly kernel: Kernel,
    options: MachineOptions,
    readonly algebra: Algebra | null,
    isTraced: boolean,
  ) {
    if (kernel.level !== "device") throw new RangeError(`the prover takes device-level kernels, not ${kernel.level}`);
    this.dims = options.dims;
    this.aligned = options.aligned ?? true;
    this.inputs = new InputValues(kernel, options.dims, options.sample ?? 0, options.seed ?? 0, options.given);
    this.shapes = kernel.buffers.map((b) => b.shape.map((e) => evaluateExtent(e, options.dims)));
    this.lengths = this.shapes.map((s) => s.reduce((a, n) => a * n, 1));
    this.grid = gridOf(kernel, options.dims);
    this.unevenGrids = options.unevenGrids ?? false;
    this.trace = isTraced ? new Trace(kernel, this.grid, this.lengths, options.shared ?? null) : null;
    const ranks = Array.from({ length: kernel.world }, (_, r) => r);
    const lengthOf = (j: number): number => {
      const { role } = kernel.buffers[j]!;
      return role === "signal" || role === "state" ? this.lengths[j]! : 0;
    };
    this.memory = kernel.buffers.map((_, j) => ranks.map(() => new Array<Number_>(lengthOf(j)).fill(0)));
    this.written = kernel.buffers.map(() => []);
    // Vector accesses come behind tests of alignment, so that what they meet is aligned.
    this.offsets = kernel.buffers.map(() => ranks.map(() => 0));
  }

  // -- what the text asks for ---------------------------------------------------------------------------------------

  get faults(): Faults {
    return this;
  }

  gridAt(launch: number): number {
    return this.unevenGrids && launch % 2 === 1 ? 1 : this.grid;
  }

  isAligned(): boolean {
    return this.aligned;
  }

  enter(f: Block): void {
    f.own = this.kernel.buffers.map((b) => (isGlobal(b) ? undefined : []));
    if (this.trace !== null) f.memories = this.trace.ownMemoryOf(f.rank, f.block);
  }

  leave(): void {}

  preempts(): boolean {
    return false;
  }

  blocks(_blocked: Blocked): void {}

  // -- faults -------------------------------------------------------------------------------------------------------

  peer(f: Block, op: Op, buffer: number, peer: number): never {
    if (op.name === "copy_tile") this.fail("bounds", f, op, `a tile is copied from rank ${peer}`);
    this.fail("bounds", f, op, `a ${op.name} of '${this.name(buffer)}' goes to rank ${peer} of ${this.kernel.world}`);
  }

  dimension(f: Block, op: Op, buffer: number, dimension: number, index: number): never {
    const length = this.shapes[buffer]![dimension]!;
    if (op.name === "copy_tile") {
      const isStage = this.kernel.buffers[buffer]!.role === "shared";
      if (isStage) this.fail("bounds", f, op, `a tile is copied to stage ${index} of ${length}`);
      this.fail("bounds", f, op, `a tile begins at ${index} of dimension ${dimension}, of ${length}`);
    }
    if (op.name === "mma") this.fail("bounds", f, op, `a product of stage ${index} of ${length}`);
    const where = `lies outside '${this.name(buffer)}', which has ${length}`;
    this.fail("bounds", f, op, `index ${index} of dimension ${dimension} ${where}`);
  }

  bounds(f: Block, op: Op, buffer: number, index: number): never {
    if (Number.isNaN(index))
      this.fail("bounds", f, op, `the index of a ${op.name} of '${this.name(buffer)}' is divided by zero`);
    const where = `lies outside '${this.name(buffer)}', which has ${this.lengths[buffer]!}`;
    this.fail("bounds", f, op, `a ${op.name} of element ${index} ${where}`);
  }

  misaligned(f: Block, op: Op, buffer: number, index: number, _owner: number, lanes: number): never {
    this.fail(
      "bounds",
      f,
      op,
      `a ${op.name} of ${lanes} elements of '${this.name(buffer)}' at ${index} is not aligned`,
    );
  }

  unwritten(f: Block, op: Op, buffer: number, owner: number, index: number): never {
    this.fail(
      "bounds",
      f,
      op,
      `a ${op.name} of '${this.name(buffer)}'[${index}] of rank ${owner}, which is not written`,
    );
  }

  arithmetic(f: Block, op: Op): never {
    this.fail("bounds", f, op, "a division by zero");
  }

  private name(buffer: number): string {
    return this.kernel.buffers[buffer]!.name;
  }

  bufferNumber(name: string): number {
    return this.kernel.buffers.indexOf(bufferOf(this.kernel, name));
  }

  place(f: Block, span: Span, what: string): Place {
    return { rank: f.rank, block: f.block, launch: f.launch, span, what };
  }

  private fail(kind: WrongKind, f: Block, op: Op, message: string): never {
    if (isGuarded(op))
      throw new CannotTell(
        `without the condition on data around it, rank ${f.rank} goes wrong here: ${message}; only what compares indices keeps an access inside in a proof, so add such a condition, as in 'if i < n and x[i] > 0'`,
        op.span,
      );
    const help = kind === "bounds" ? limitHelp(this.kernel, op) : null;
    throw new Fails(kind, `rank ${f.rank}, block ${f.block}: ${message}`, [this.place(f, op.span, op.name)], [], help);
  }
}

/** Blocks a launch starts on each rank. */
export function gridOf(kernel: Kernel, dims: DimValues): number {
  const wanted = kernel.work.reduce<number>((a, e) => Math.max(a, evaluateExtent(e, dims)), 1);
  return Math.max(1, Math.min(wanted, kernel.maxBlocks));
}
