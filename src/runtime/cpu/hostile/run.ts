/**
 * Runs a kernel under hostile schedules: all ranks and blocks as coroutines, each rank with a stream of its own, several
 * launches back to back on the same memory. A schedule is its seed: the same seed does the same again, step by step.
 */
import {
  CannotTell,
  elementsOf,
  evaluateExtent,
  type Execution,
  isGlobal,
  isParameter,
  isReady,
  newBlock,
  NUMBERS,
  plainSetting,
  type Executable,
  executableOf,
  READY,
  type DimValues,
  type Kernel,
  type Manifest,
  type SourceFile,
  walkKernel,
} from "../../../compiler/index.js";
import { allocate, copyInto, fillPoison, type TypedArray } from "../../numbers/index.js";
import {
  checkOutputs,
  heldInputs,
  makeInputs,
  OutsideClaim,
  programElements,
  type RankTensors,
} from "../../reference/index.js";
import { someScalars } from "../../shapes.js";
import { CpuFault, type CpuFaultKind, FaultReporter, type FaultPlace } from "../faults.js";
import { CpuMachine } from "../launch.js";
import { deadlock } from "../scheduler.js";
import { type Candidate, type Strategy, strategyOf } from "./strategies.js";
import { drawTimeline } from "./timeline.js";
import { Watch } from "./watch.js";

export interface HostileOptions {
  readonly dims: DimValues;
  /** Schedules to try; that of number k has the seed `seed + k`. */
  readonly schedules: number;
  /** A whole number from 0 up. */
  readonly seed: number;
  /** Launches on each rank's stream; default 3. */
  readonly launches?: number;
  /** The Coll source, so that places are lines. */
  readonly source?: SourceFile;
  /** Whether a load of memory that nobody has written goes on, with what lies there; else it is a fault. */
  readonly allowsUnwritten?: boolean;
  /** Called before each schedule. */
  readonly onSchedule?: (number: number) => void;
}

export interface HostileFailure {
  /** What went wrong; `answer` if an output is not what the signature says, `claim` if the signature says nothing there. */
  readonly kind: CpuFaultKind | "answer" | "claim";
  readonly message: string;
  readonly places: readonly FaultPlace[];
  /** Give it as `seed`, with one schedule, and the same happens again. */
  readonly seed: number;
  readonly strategy: string;
  /** The last steps of each rank and block, as lines of text. */
  readonly timeline: readonly string[];
}

export interface HostileReport {
  /** Schedules that ran, the failing one included. */
  readonly schedules: number;
  /** Steps of all schedules: synchronising ops, and runs of accesses. */
  readonly steps: number;
  readonly failure: HostileFailure | null;
  /** Why the schedule after those could not be carried out to its end; null where all were. */
  readonly unfinished: string | null;
}

const TIMELINE_STEPS = 28;

/** Stands for a block's number. */
const CALLER = -1;

/** Tries schedules until one fails. Throws what is not the kernel's fault. */
export function runHostile(kernel: Kernel, manifest: Manifest, options: HostileOptions): HostileReport {
  const detectsUnwritten = options.allowsUnwritten !== true;
  const program = executableOf(kernel, {
    ...plainSetting(`hostile${detectsUnwritten ? "" : ", unwritten"}`, NUMBERS),
    observes: true,
    hides: true,
    detectsUnwritten,
    preempts: true,
    reversesThreads: "asked",
  });
  let steps = 0;
  for (let k = 0; k < options.schedules; k++) {
    options.onSchedule?.(k);
    const seed = options.seed + k;
    const run = new HostileRun(kernel, manifest, options, program, seed);
    let failure: HostileFailure | null;
    try {
      failure = run.run();
    } catch (e) {
      if (!(e instanceof CannotTell)) throw e;
      return { schedules: k, steps, failure: null, unfinished: e.message };
    }
    steps += run.watch.timeline.length;
    if (failure !== null) return { schedules: k + 1, steps, failure, unfinished: null };
  }
  return { schedules: options.schedules, steps, failure: null, unfinished: null };
}

interface Task extends Candidate, Execution.Task {}

/** Lets blocks go on everywhere, and tells the watch what it does not see itself. */
class HostileMachine extends CpuMachine {
  watch: Watch | null = null;
  reversesThreads = false;

  override enter(f: Execution.Block): void {
    super.enter(f);
    f.memories = this.watch!.ownMemoryOf(f.rank, f.block);
  }

  override blocks(blocked?: Execution.Blocked): void {
    this.watch!.blocks(blocked!);
  }
}

class HostileRun {
  readonly watch: Watch;
  /** Of the launches, with numbers for those that nobody gave. */
  private readonly dims: DimValues;
  private readonly grid: number;
  private readonly launches: number;
  private readonly strategy: Strategy;
  private readonly faults: FaultReporter;
  private readonly machine: HostileMachine;
  private readonly startBlock: (f: Execution.Block) => Execution.Running;
  private readonly arrays: TypedArray[][];
  /** Number of launches that each rank has started. */
  private readonly started: number[];
  private readonly tasks: Task[][];
  private readonly given: readonly RankTensors[][];
  private readonly results: RankTensors[][];

  constructor(
    private readonly kernel: Kernel,
    private readonly manifest: Manifest,
    private readonly options: HostileOptions,
    program: Executable,
    private readonly seed: number,
  ) {
    const dims = { ...someScalars(manifest), ...options.dims };
    this.dims = dims;
    this.launches = options.launches ?? 3;
    const wanted = kernel.work.reduce<number>((a, e) => Math.max(a, evaluateExtent(e, dims)), 1);
    this.grid = Math.max(1, Math.min(wanted, kernel.maxBlocks));
    this.strategy = strategyOf(seed, kernel.world, this.grid);
    this.faults = new FaultReporter(kernel, options.source);
    const lengths = kernel.buffers.map((b) => elementsOf(b.shape, dims));
    const ranks = Array.from({ length: kernel.world }, (_, r) => r);
    this.arrays = kernel.buffers.map((b, j) =>
      isGlobal(b)
        ? ranks.map(() => {
            const array = allocate(b.dtype, lengths[j]!);
            return b.role === "signal" || b.role === "state" ? array : fillPoison(array);
          })
        : [],
    );
    // Every other schedule starts the caller's tensors past an aligned address.
    const shift = Math.floor(seed / 2) % 2;
    const offsets = kernel.buffers.map((b) => ranks.map(() => (isParameter(b) ? shift : 0)));
    // The caller writes the outputs before each launch.
    const written = kernel.buffers.map((b, j) =>
      isGlobal(b) ? ranks.map(() => new Uint8Array(lengths[j]!).fill(b.role === "scratch" ? 0 : 1)) : [],
    );
    const always = (): boolean => true;
    const { arrays, faults } = this;
    const detects = options.allowsUnwritten !== true;
    this.machine = new HostileMachine(kernel, dims, this.grid, arrays, offsets, written, faults, always, detects);
    this.watch = new Watch(kernel, this.grid, lengths, arrays, faults, this.strategy);
    this.machine.watch = this.watch;
    this.machine.reversesThreads = seed % 3 === 2;
    this.startBlock = program.start(this.machine, this.watch, this.watch.tiles);
    this.started = ranks.map(() => 0);
    this.tasks = ranks.map(() => []);
    this.given = Array.from({ length: this.launches }, (_, l) => makeInputs(manifest, dims, seed * this.launches + l));
    this.results = this.given.map(() => []);
  }

  run(): HostileFailure | null {
    try {
      this.schedule();
      return this.wrongAnswer();
    } catch (e) {
      if (e instanceof OutsideClaim) return this.failure("claim", e.message, this.claims());
      if (!(e instanceof CpuFault)) throw e;
      return this.failure(e.kind, e.message, e.places);
    }
  }

  /** @param launch whose last steps are shown; null: those of all, up to where it failed */
  private failure(
    kind: HostileFailure["kind"],
    message: string,
    places: readonly FaultPlace[],
    launch: number | null = null,
  ): HostileFailure {
    const steps = this.watch.timeline.last(TIMELINE_STEPS, launch);
    const timeline = drawTimeline(steps, this.kernel.world, this.grid);
    return { kind, message, places, seed: this.seed, strategy: this.strategy.name, timeline };
  }

  private schedule(): void {
    /** Ranks that can launch, then blocks that can go on. One list for all steps, which are many. */
    const candidates: (Candidate | Task)[] = [];
    for (;;) {
      candidates.length = 0;
      for (let rank = 0; rank < this.tasks.length; rank++)
        if (this.tasks[rank]!.length === 0 && this.started[rank]! < this.launches)
          candidates.push({ rank, block: CALLER });
      for (const tasks of this.tasks) for (const task of tasks) if (isReady(task.suspension)) candidates.push(task);
      if (candidates.length === 0) {
        const left = this.tasks.flat();
        if (left.length === 0) return;
        throw deadlock(left, this.kernel.world * this.grid, this.machine, this.faults);
      }
      const picked = candidates[this.strategy.pick(candidates)]!;
      if ("running" in picked) this.step(picked);
      else this.begin(picked.rank);
      this.watch.leak();
    }
  }

  /** Starts a rank's next launch. */
  private begin(rank: number): void {
    const launch = this.started[rank]!++;
    this.watch.begin(rank, launch);
    this.kernel.buffers.forEach((b, j) => {
      if (b.role === "input" || b.role === "inout")
        copyInto(this.arrays[j]![rank]!, this.given[launch]![rank]!.inputs[b.name]!);
      if (b.role === "output") fillPoison(this.arrays[j]![rank]!);
    });
    this.tasks[rank] = Array.from({ length: this.grid }, (_, block) => ({
      rank,
      block,
      running: this.startBlock(newBlock(rank, block, launch, this.watch.entity(rank, block))),
      suspension: READY,
    }));
  }

  private step(task: Task): void {
    const next = task.running.next();
    if (next.done !== true) {
      task.suspension = next.value;
      return;
    }
    const { rank } = task;
    this.tasks[rank] = this.tasks[rank]!.filter((t) => t !== task);
    if (this.tasks[rank]!.length > 0) return;
    const launch = this.started[rank]! - 1;
    this.watch.finish(rank, launch);
    const outputs: Record<string, TypedArray> = {};
    this.kernel.buffers.forEach((b, j) => {
      if (b.role === "output" || b.role === "inout") outputs[b.name] = this.arrays[j]![rank]!.slice();
    });
    this.results[launch]![rank] = { inputs: {}, outputs };
  }

  /** Where an output is stored to. */
  private storesOf(output: string, rank: number): FaultPlace[] {
    const spans = new Map<number, FaultPlace["span"]>();
    walkKernel(this.kernel, (op) => {
      if (op.name === "store" && op.attributes["buffer"] === output) spans.set(op.span.start, op.span);
    });
    return [...spans.values()].map((span) => ({
      kernel: this.kernel.name,
      rank,
      block: CALLER,
      buffer: output,
      index: null,
      span,
    }));
  }

  /** Where the program says what its outputs must be. */
  private claims(): FaultPlace[] {
    const spans = this.kernel.clauses?.ensures ?? [];
    return spans.flatMap((span, o) => {
      const place = { kernel: this.kernel.name, rank: 0, block: CALLER, buffer: this.kernel.outputs[o]!.name, index: null }; // prettier-ignore
      return span === null ? [] : [{ ...place, span }];
    });
  }

  private wrongAnswer(): HostileFailure | null {
    const { kernel, manifest, dims } = this;
    const readers = this.given.map(heldInputs);
    const program = programElements(kernel, manifest, dims, readers);
    for (let launch = 0; launch < this.launches; launch++) {
      const result = checkOutputs(manifest, dims, readers[launch]!, this.results[launch]!, {
        program: program(launch),
      });
      const m = result.firstMismatch;
      if (m !== null)
        return this.failure(
          "answer",
          `output '${m.output}' of rank ${m.rank} is wrong in launch ${launch}: ${describe(m)}`,
          this.storesOf(m.output, m.rank),
          launch,
        );
    }
    return null;
  }
}

function describe(m: { readonly index: number; readonly actual: number; readonly expected: number }): string {
  return `element ${m.index} is ${m.actual}, and the signature says ${m.expected}`;
}
