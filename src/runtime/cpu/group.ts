/** All ranks of a group, emulated in this process: loads one kernel and launches it. */
import {
  InternalCompilerError,
  elementsOf,
  evaluateExtent,
  type DimValues,
  type Kernel,
  type Manifest,
  brokenRequirement,
  type SourceFile,
  isGlobal,
  isParameter,
  newBlock,
  NUMBER_TILES,
  NUMBERS,
  plainSetting,
  type Buffer,
  type Executable,
  executableOf,
  READY,
} from "../../compiler/index.js";
import { UsageError } from "../errors.js";
import { checkScalars } from "../shapes.js";
import { copyInto, holds, randomKey, randomStream, type TypedArray } from "../numbers/index.js";
import { FaultReporter } from "./faults.js";
import { CpuMachine } from "./launch.js";
import { PersistentMemory } from "./memory.js";
import { schedule } from "./scheduler.js";

export interface CpuOptions {
  /** Largest grid, in place of the manifest's. */
  readonly maxBlocks?: number;
  /**
   * Elements by which a buffer starts past an aligned address, for every rank or each one; default 0.
   * Simulated: the op `aligned` and the alignment check of vector accesses see it.
   */
  readonly elementOffset?: Readonly<Record<string, number | readonly number[]>>;
  /** Fault on loads of scratch, output or shared memory that nobody has written. Costs a byte for each element. */
  readonly detectUnwritten?: boolean;
  /** Schedule blocks in a random order made from this seed, switching between them often. Default: round robin. */
  readonly seed?: number;
  /** Run loops over threads backwards; a correct kernel does not notice. */
  readonly reverseThreads?: boolean;
  /** The Coll source, so that faults name lines instead of offsets. */
  readonly source?: SourceFile;
  /** Memory of the program, which it shares with other kernels; by default memory of its own. */
  readonly programMemory?: PersistentMemory;
}

/** One rank's tensors by name, each with exactly the elements of its local shape. */
export interface RankArguments {
  readonly inputs: Readonly<Record<string, TypedArray>>;
  readonly outputs: Readonly<Record<string, TypedArray>>;
  /** Which elements of outputs earlier kernels of the program have written, and then this one has. */
  readonly written?: Map<string, Uint8Array>;
}

export interface RunReport {
  /** Blocks on each rank. */
  readonly grid: number;
  /** How often a block was started or resumed. */
  readonly resumptions: number;
  /** Waits that did not find their flag at once. */
  readonly blockedWaits: number;
  /** Wall time of the launch in milliseconds, checks of arguments included. */
  readonly milliseconds: number;
}

export class CpuGroup {
  private readonly program: Executable;
  private readonly memory = new PersistentMemory();
  private readonly faults: FaultReporter;
  private launches = 0;

  /**
   * @param kernel the device-level kernel, as it is printed to CUDA
   * @throws InternalCompilerError if the kernel holds an op that no earlier pass should have left
   */
  constructor(
    readonly kernel: Kernel,
    readonly manifest: Manifest,
    private readonly options: CpuOptions = {},
  ) {
    const { detectUnwritten: detectsUnwritten = false, reverseThreads: reversesThreads = false } = options;
    const preempts = options.seed !== undefined;
    const key = `numbers ${Number(detectsUnwritten)}${Number(preempts)}${Number(reversesThreads)}`;
    this.program = executableOf(kernel, {
      ...plainSetting(key, NUMBERS),
      detectsUnwritten,
      preempts,
      reversesThreads,
    });
    this.faults = new FaultReporter(kernel, options.source);
  }

  /** The JavaScript the kernel became, for debugging. */
  get generatedText(): string {
    return this.program.text;
  }

  /** A scratch, signal or state buffer as the last launch left it; undefined before the first launch. */
  buffer(name: string, rank: number): TypedArray | undefined {
    return this.memory.peek(name, rank);
  }

  /**
   * Launches the kernel on all ranks and returns when all are done. Outputs are written in place.
   * @param ranks one entry a rank, in order
   * @param dims a value for every dimension of the signature, in elements
   * @param maxBlocks of this launch, where fewer than the kernel's own
   * @param whenStuck does a part of what goes on beside the kernel, when all blocks wait; false where there is nothing left
   * @throws UsageError if arguments do not fit the signature; CpuFault if the kernel does what it must not
   */
  run(
    ranks: readonly RankArguments[],
    dims: DimValues,
    maxBlocks = Infinity,
    whenStuck: () => boolean = () => false,
  ): RunReport {
    const start = performance.now();
    const { kernel, options } = this;
    this.checkDims(ranks, dims);
    const grid = this.gridFor(dims, maxBlocks);
    const arrays: TypedArray[][] = [];
    const shadows: Uint8Array[][] = [];
    const offsets: number[][] = [];
    for (const b of kernel.buffers) {
      const own: TypedArray[] = [];
      const written: Uint8Array[] = [];
      const length = elementsOf(b.shape, dims);
      const offset = options.elementOffset?.[b.name] ?? 0;
      offsets.push(ranks.map((_, r) => (typeof offset === "number" ? offset : (offset[r] ?? 0))));
      if (isGlobal(b))
        ranks.forEach((rank, r) => {
          if (isParameter(b)) {
            const array = this.argument(rank, r, b.role === "input" ? "input" : "output", b.name, length);
            // Changed in place: what the caller gave as input is where the output goes.
            if (b.role === "inout") copyInto(array, this.argument(rank, r, "input", b.name, length));
            own.push(array);
            if (options.detectUnwritten === true && b.role !== "input") {
              const isThere = b.role === "inout" || isInput(rank, array);
              const shadow = rank.written?.get(b.name) ?? new Uint8Array(length).fill(isThere ? 1 : 0);
              rank.written?.set(b.name, shadow);
              written.push(shadow);
            }
          } else {
            const held = this.memoryOf(b).of(b, r, length);
            own.push(held.array);
            if (options.detectUnwritten === true && b.role === "scratch") written.push(held.written);
          }
        });
      arrays.push(own);
      shadows.push(written);
    }
    const random = options.seed === undefined ? null : randomStream(randomKey(options.seed, this.launches));
    this.launches++;
    const machine = new CpuMachine(
      kernel,
      dims,
      grid,
      arrays,
      offsets,
      shadows,
      this.faults,
      random === null ? () => false : () => random() % 4 === 0,
      options.detectUnwritten ?? false,
    );
    const begin = this.program.start(machine, null, NUMBER_TILES);
    const tasks = ranks.flatMap((_, rank) =>
      Array.from({ length: grid }, (_, block) => ({
        running: begin(newBlock(rank, block, this.launches, 0)),
        suspension: READY,
      })),
    );
    const { resumptions } = schedule(tasks, machine, this.faults, random, whenStuck);
    return { grid, resumptions, blockedWaits: machine.blockedWaits, milliseconds: performance.now() - start };
  }

  private memoryOf({ memory }: Buffer): PersistentMemory {
    return memory === undefined ? this.memory : (this.options.programMemory ?? this.memory);
  }

  /** Blocks on each rank for these dimensions: the manifest's rule, under this group's limit. */
  gridFor(dims: DimValues, limit = Infinity): number {
    const { work, maxBlocks } = this.kernel;
    const most = Math.min(maxBlocks, this.options.maxBlocks ?? maxBlocks, limit);
    const wanted = work.reduce<number>((a, e) => Math.max(a, evaluateExtent(e, dims)), 1);
    return Math.max(1, Math.min(wanted, most));
  }

  private checkDims(ranks: readonly RankArguments[], dims: DimValues): void {
    const { kernel, manifest } = this;
    if (ranks.length !== kernel.world)
      throw new UsageError(`kernel '${kernel.name}' is compiled for ${kernel.world} ranks, not ${ranks.length}`);
    if (manifest.ranks !== kernel.world)
      throw new InternalCompilerError(`manifest of ${manifest.ranks} ranks for a kernel of ${kernel.world}`);
    for (const name of manifest.dims) {
      const value = dims[name];
      if (value === undefined || !Number.isSafeInteger(value) || value < 0)
        throw new UsageError(`dimension '${name}' needs a whole number of elements, not ${value}`);
    }
    checkScalars(manifest, dims);
    const broken = brokenRequirement(manifest.requirements, dims);
    if (broken !== null) throw new UsageError(broken.message, broken.help);
  }

  private argument(rank: RankArguments, r: number, role: "input" | "output", name: string, length: number): TypedArray {
    const array = (role === "input" ? rank.inputs : rank.outputs)[name];
    if (array === undefined) throw new UsageError(`rank ${r} has no ${role} '${name}'`);
    const { dtype } = this.kernel.buffers.find((b) => b.name === name)!;
    if (!holds(array, dtype))
      throw new UsageError(
        `${role} '${name}' of rank ${r} is a ${array.constructor.name}, which does not hold ${dtype}`,
      );
    if (array.length !== length)
      throw new UsageError(`${role} '${name}' of rank ${r} has ${array.length} elements, not ${length}`);
    return array;
  }
}

/** Whether an output lies in the same memory as one of the rank's inputs: in place, so written already. */
function isInput(rank: RankArguments, array: TypedArray): boolean {
  return Object.values(rank.inputs).some(
    (x) =>
      x.buffer === array.buffer &&
      x.byteOffset < array.byteOffset + array.byteLength &&
      array.byteOffset < x.byteOffset + x.byteLength,
  );
}
