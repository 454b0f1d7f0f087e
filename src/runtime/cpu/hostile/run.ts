/**
 * Runs a kernel under hostile schedules: all ranks and blocks as coroutines, each rank with a stream of its own, several
 * launches back to back on the same memory. A schedule is its seed: the same seed does the same again, step by step.
 */
import {
  evaluateExtent,
  isGlobal,
  type DimValues,
  type Kernel,
  type Manifest,
  type SourceFile,
} from "../../../compiler/index.js";
import { allocate, fillPoison, type TypedArray } from "../../numbers/index.js";
import { checkOutputs, makeInputs, type RankTensors } from "../../reference/index.js";
import { compileForCpu, type CompiledKernel } from "../compiled.js";
import { CpuFault, type CpuFaultKind, FaultReporter, type FaultPlace } from "../faults.js";
import { Launch } from "../launch.js";
import { deadlock, isReady, type Suspension } from "../scheduler.js";
import { AccessLog } from "./cells.js";
import { type Candidate, type Strategy, strategyOf } from "./strategies.js";
import { drawTimeline } from "./timeline.js";
import { type HostileBlock, Watch } from "./watch.js";

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
  /** Called before each schedule. */
  readonly onSchedule?: (number: number) => void;
}

export interface HostileFailure {
  /** What went wrong; `answer` if an output is not what the signature says. */
  readonly kind: CpuFaultKind | "answer";
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
}

const TIMELINE_STEPS = 28;

/** Stands for a block's number. */
const CALLER = -1;

/** Tries schedules until one fails. Throws what is not the kernel's fault. */
export function runHostile(kernel: Kernel, manifest: Manifest, options: HostileOptions): HostileReport {
  const compiled: CompiledKernel[] = [];
  const compiledFor = (seed: number): CompiledKernel => {
    const reverseThreads = seed % 3 === 2;
    return (compiled[Number(reverseThreads)] ??= compileForCpu(kernel, {
      detectUnwritten: false,
      preempt: true,
      reverseThreads,
      hostile: true,
    }));
  };
  const log = new AccessLog();
  let steps = 0;
  for (let k = 0; k < options.schedules; k++) {
    options.onSchedule?.(k);
    const seed = options.seed + k;
    log.clear();
    const run = new HostileRun(kernel, manifest, options, compiledFor(seed), seed, log);
    const failure = run.run();
    steps += run.watch.timeline.length;
    if (failure !== null) return { schedules: k + 1, steps, failure };
  }
  return { schedules: options.schedules, steps, failure: null };
}

interface Task extends Candidate {
  readonly coroutine: Generator<Suspension, void>;
  suspension: Suspension;
}

class HostileRun {
  readonly watch: Watch;
  private readonly grid: number;
  private readonly launches: number;
  private readonly strategy: Strategy;
  private readonly faults: FaultReporter;
  private readonly launch: Launch;
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
    private readonly compiled: CompiledKernel,
    private readonly seed: number,
    log: AccessLog,
  ) {
    const { dims } = options;
    this.launches = options.launches ?? 3;
    const wanted = kernel.work.reduce<number>((a, e) => Math.max(a, evaluateExtent(e, dims)), 1);
    this.grid = Math.max(1, Math.min(wanted, kernel.maxBlocks));
    this.strategy = strategyOf(seed, kernel.world, this.grid);
    this.faults = new FaultReporter(kernel.name, compiled.sites, options.source);
    const lengths = kernel.buffers.map((b) => b.shape.reduce<number>((a, e) => a * evaluateExtent(e, dims), 1));
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
    const offsets = kernel.buffers.map((b) => ranks.map(() => (b.role === "input" || b.role === "output" ? shift : 0)));
    this.watch = new Watch(kernel, this.grid, lengths, this.arrays, this.faults, this.strategy, log);
    const always = (): boolean => true;
    this.launch = new Launch(kernel, dims, this.grid, this.arrays, offsets, [], this.faults, always, false, this.watch);
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
      if (!(e instanceof CpuFault)) throw e;
      return this.failure(e.kind, e.message, e.places);
    }
  }

  private failure(kind: HostileFailure["kind"], message: string, places: readonly FaultPlace[]): HostileFailure {
    const steps = this.watch.timeline.last(TIMELINE_STEPS);
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
        throw deadlock(left, this.kernel.world * this.grid, this.faults, this.kernel.name);
      }
      const picked = candidates[this.strategy.pick(candidates)]!;
      if ("coroutine" in picked) this.step(picked);
      else this.begin(picked.rank);
      this.watch.leak();
    }
  }

  /** Starts a rank's next launch. */
  private begin(rank: number): void {
    const launch = this.started[rank]!++;
    const blocks = this.watch.begin(rank, launch);
    this.kernel.buffers.forEach((b, j) => {
      if (b.role === "input") this.arrays[j]![rank]!.set(this.given[launch]![rank]!.inputs[b.name]!);
      if (b.role === "output") fillPoison(this.arrays[j]![rank]!);
    });
    this.tasks[rank] = blocks.map((state: HostileBlock, block) => ({
      rank,
      block,
      coroutine: this.compiled.program(this.launch, state, rank, block),
      suspension: null,
    }));
  }

  private step(task: Task): void {
    const next = task.coroutine.next();
    if (next.done !== true) {
      task.suspension = next.value;
      return;
    }
    const { rank } = task;
    this.tasks[rank] = this.tasks[rank]!.filter((t) => t !== task);
    if (this.tasks[rank]!.length > 0) return;
    const launch = this.started[rank]! - 1;
    this.watch.end(rank, launch);
    const outputs: Record<string, TypedArray> = {};
    this.kernel.buffers.forEach((b, j) => {
      if (b.role === "output") outputs[b.name] = this.arrays[j]![rank]!.slice();
    });
    this.results[launch]![rank] = { inputs: {}, outputs };
  }

  private wrongAnswer(): HostileFailure | null {
    for (let launch = 0; launch < this.launches; launch++) {
      const result = checkOutputs(this.manifest, this.options.dims, this.given[launch]!, this.results[launch]!);
      const m = result.firstMismatch;
      if (m !== null)
        return this.failure(
          "answer",
          `output '${m.output}' of rank ${m.rank} is wrong in launch ${launch}: ${describe(m)}`,
          [],
        );
    }
    return null;
  }
}

function describe(m: { readonly index: number; readonly actual: number; readonly expected: number }): string {
  return `element ${m.index} is ${m.actual}, and the signature says ${m.expected}`;
}
