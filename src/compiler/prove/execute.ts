/**
 * Executes all ranks, blocks and threads of a kernel, for several launches, in one deterministic schedule. Control flow
 * does not depend on the schedule (the steps refuse what would make it), so one run has the accesses of every run.
 */
import { type Kernel, text } from "../ir/module.js";
import { type Frame, Machine, type MachineOptions } from "./machine.js";
import { Fails, type Place } from "./results.js";
import { type Script, scriptOf } from "./script/script.js";
import type { Blocked, Running } from "./script/support.js";
import { type Algebra, type Number_ } from "./algebra.js";
import { READ, Trace, WRITE } from "./trace.js";

/** Called for each rank when a launch has ended there. */
export type AfterLaunch = (machine: Machine, rank: number, launch: number) => void;

/**
 * @param algebra null to follow control and addresses only
 * @throws Fails where the kernel goes wrong, CannotTell where it cannot be followed
 */
export function execute(
  kernel: Kernel,
  options: MachineOptions,
  algebra: Algebra | null,
  traced: boolean,
  afterLaunch: AfterLaunch = () => {},
): Machine {
  const machine = new Machine(kernel, options, algebra, traced ? (grid) => new Trace(kernel.world, grid) : null);
  const script = scriptOf(machine);
  const ranks = Array.from(
    { length: kernel.world },
    (_, rank) => new RankRun(machine, script, rank, options.launches, afterLaunch),
  );
  for (;;) {
    let went = false;
    for (const r of ranks) went = r.advance() || went;
    if (ranks.every((r) => r.isDone)) {
      machine.executed = script.executed();
      return machine;
    }
    if (!went)
      throw deadlock(
        machine,
        ranks.flatMap((r) => r.blocked()),
      );
  }
}

interface Task {
  readonly running: Running;
  blocked: readonly Blocked[];
}

/** A rank's stream: its launches one after the other, the caller's accesses in between. */
class RankRun {
  private launch = -1;
  private tasks: Task[] = [];
  isDone = false;

  constructor(
    private readonly machine: Machine,
    private readonly script: Script,
    private readonly rank: number,
    private readonly launches: number,
    private readonly afterLaunch: AfterLaunch,
  ) {}

  /** Runs each block as far as it goes; says whether anything happened. */
  advance(): boolean {
    if (this.isDone) return false;
    let went = false;
    if (this.tasks.length === 0) {
      this.begin();
      went = true;
    }
    const rest: Task[] = [];
    for (const task of this.tasks) {
      if (task.blocked.length > 0 && !task.blocked.some((b) => b.ready())) {
        rest.push(task);
        continue;
      }
      went = true;
      const next = task.running.next();
      if (next.done !== true) rest.push({ running: task.running, blocked: next.value });
    }
    this.tasks = rest;
    if (rest.length === 0) this.end();
    return went;
  }

  blocked(): readonly Blocked[] {
    return this.tasks.flatMap((t) => t.blocked);
  }

  private begin(): void {
    this.launch++;
    this.callerAccesses();
    const { machine, rank, launch } = this;
    machine.trace?.start(rank);
    for (let block = 0; block < machine.gridAt(launch); block++)
      this.tasks.push({ running: this.block(block), blocked: [] });
  }

  private end(): void {
    const { machine, rank, launch } = this;
    machine.trace?.end(rank);
    this.afterLaunch(machine, rank, launch);
    if (launch + 1 < this.launches) return;
    this.launch++;
    this.callerAccesses();
    this.isDone = true;
  }

  /** Around launches the rank's caller writes the inputs and uses the outputs as it likes. */
  private callerAccesses(): void {
    const { machine, rank, launch } = this;
    const { trace, algebra, kernel } = machine;
    kernel.buffers.forEach((b, j) => {
      if (b.role !== "input" && b.role !== "output") return;
      const n = machine.lengths[j]!;
      if (trace !== null && n > 0) {
        const strand = trace.strand(trace.host(rank), launch);
        trace.access(strand, 0, machine.memoryOf(j, rank), 0, n, b.role === "input" ? WRITE : READ);
        if (b.role === "output") trace.access(strand, 0, machine.memoryOf(j, rank), 0, n, WRITE);
      }
      const steers = b.role === "input" && machine.inputs.steers(b.name);
      if (algebra === null && !steers) return;
      const memory = machine.memory[j]![rank]!;
      memory.length = 0;
      if (b.role === "output") return;
      const whose = machine.inputs.nameOf(
        kernel.inputs.find((t) => t.name === b.name)!,
        rank,
      );
      const element = machine.inputs.elements(algebra!, launch, b.name, whose);
      for (let i = 0; i < n; i++) memory.push(element(i));
    });
  }

  private block(block: number): Running {
    const { machine, rank, launch } = this;
    const own: (Number_[] | undefined)[] = [];
    machine.kernel.buffers.forEach((b, j) => {
      if (b.role === "shared" || b.role === "register") own[j] = [];
    });
    const ownMemory = machine.ownMemoryOf(rank, block);
    const frame: Frame = {
      rank,
      block,
      launch,
      own,
      ownMemory,
      accumulators: [],
      strand: null,
      copies: { open: [], groups: [] },
    };
    return this.script.block(frame);
  }
}

function deadlock(machine: Machine, blocked: readonly Blocked[]): Fails {
  const places: Place[] = [];
  const lines: string[] = [];
  for (const b of blocked) {
    const { frame, op, buffer } = b;
    const name = machine.kernel.buffers[buffer]!.name;
    const seen = machine.memory[buffer]![frame.rank]![b.slot] as number;
    const whom = b.peer < 0 ? "" : ` for rank ${b.peer}`;
    places.push(machine.place(frame, op.span, `wait for '${name}'[${b.slot}]`));
    lines.push(
      `launch ${frame.launch}: rank ${frame.rank}, block ${frame.block} waits${whom}: '${name}'[${b.slot}] should reach ${b.wanted} and stays ${seen}`,
    );
  }
  const unheard = unheardSignals(machine, blocked);
  const cycle = unheard.length > 0 ? null : cycleOf(blocked);
  if (cycle !== null) lines.push(`in a circle: ${cycle.map((r) => `rank ${r}`).join(" waits for ")}`);
  lines.push(...unheard);
  const who = `${blocked.length} wait${blocked.length === 1 ? "" : "s"} that nobody satisfies`;
  return new Fails("deadlock", `deadlock: ${who}`, places, lines);
}

/** Signals to flags that nobody has waited for or waits for now: meant for somebody else, perhaps. */
function unheardSignals({ trace }: Machine, blocked: readonly Blocked[]): string[] {
  if (trace === null) return [];
  const heard = new Set(trace.waits.map((w) => w.flag));
  const wanted = (buffer: string, owner: number, slot: number): boolean =>
    blocked.some((b) => text(b.op, "buffer") === buffer && b.frame.rank === owner && b.slot === slot);
  return trace.flags
    .filter((f) => f.signals.length > 0 && !heard.has(f) && !wanted(f.buffer, f.owner, f.slot))
    .map((f) => `'${f.buffer}'[${f.slot}] of rank ${f.owner} is signalled, and nobody waits for it`);
}

/** A circle of ranks that wait for each other, first rank repeated at the end. */
function cycleOf(blocked: readonly Blocked[]): number[] | null {
  const waitsFor = new Map<number, number>();
  for (const b of blocked) if (b.peer >= 0 && !waitsFor.has(b.frame.rank)) waitsFor.set(b.frame.rank, b.peer);
  for (const start of waitsFor.keys()) {
    const path = [start];
    for (let at = waitsFor.get(start); at !== undefined; at = waitsFor.get(at)) {
      const seen = path.indexOf(at);
      path.push(at);
      if (seen >= 0) return path.slice(seen);
    }
  }
  return null;
}
