/**
 * Executes all ranks, blocks and threads of a kernel, for several launches, in one deterministic schedule. Control flow
 * does not depend on the schedule (the steps refuse what would make it), so one run has the accesses of every run.
 */
import { blockedIn, READY, resumeAll, type Running, type Task } from "../execute/coroutines.js";
import { symbols } from "../execute/domains/symbols.js";
import { type Block, type Blocked, newBlock } from "../execute/machine.js";
import { READ, WRITE } from "../execute/order/trace.js";
import { type Executable, executableOf } from "../execute/executable.js";
import { plainSetting, type Setting } from "../execute/setting.js";
import { isParameter, type Kernel, text } from "../ir/module.js";
import type { Algebra } from "./algebra.js";
import { countedOps } from "./counted-ops.js";
import { type MachineOptions, ProofMachine } from "./machine.js";
import { Fails, type Place } from "./results.js";
import { symbolTiles } from "./symbol-tiles.js";
import { SYMBOL_HELPERS } from "./symbols.js";

/** Called for each rank when a launch has ended there. */
type AfterLaunch = (machine: ProofMachine, rank: number, launch: number) => void;

/** By whether there is an algebra, and whether accesses are traced. */
function settingOf(hasData: boolean, observes: boolean): Setting {
  const key = `proof of ${hasData ? "answers" : "order"}${observes ? ", traced" : ""}`;
  return { ...plainSetting(key, symbols(hasData, SYMBOL_HELPERS)), observes, counts: true };
}

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
): ProofMachine {
  const machine = new ProofMachine(kernel, options, algebra, traced);
  const program = executableOf(kernel, settingOf(algebra !== null, traced));
  const ran = new Uint8Array(program.ops.length);
  const tiles = algebra === null ? null : symbolTiles(machine, algebra);
  const start = program.start(machine, machine.trace, tiles, algebra, ran);
  const ranks = Array.from(
    { length: kernel.world },
    (_, rank) => new RankRun(machine, start, rank, options.launches, afterLaunch),
  );
  for (;;) {
    let went = false;
    for (const r of ranks) went = r.advance() || went;
    if (ranks.every((r) => r.isDone)) {
      machine.executed = executedOps(program, ran);
      return machine;
    }
    if (!went)
      throw deadlock(
        machine,
        ranks.flatMap((r) => r.blocked()),
      );
  }
}

function executedOps({ kernel, ops }: Executable, ran: Uint8Array): number[] {
  const counted = countedOps(kernel);
  return ops.flatMap((op, i) => (ran[i] === 1 ? (counted.get(op) ?? []) : []));
}

/** A rank's stream: its launches one after the other, the caller's accesses in between. */
class RankRun {
  private launch = -1;
  private tasks: Task[] = [];
  isDone = false;

  constructor(
    private readonly machine: ProofMachine,
    private readonly start: (f: Block) => Running,
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
    went = resumeAll(this.tasks) > 0 || went;
    if (this.tasks.length === 0) this.end();
    return went;
  }

  blocked(): readonly Blocked[] {
    return this.tasks.flatMap((t) => blockedIn(t.suspension));
  }

  private begin(): void {
    this.launch++;
    this.callerAccesses();
    const { machine, rank, launch } = this;
    machine.trace?.start(rank);
    for (let block = 0; block < machine.gridAt(launch); block++) {
      const f = newBlock(rank, block, launch, machine.trace?.entity(rank, block) ?? 0);
      this.tasks.push({ running: this.start(f), suspension: READY });
    }
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
      if (!isParameter(b)) return;
      const n = machine.lengths[j]!;
      if (trace !== null && n > 0) {
        const strand = trace.strand(trace.host(rank), launch);
        const memory = trace.memoryOf(j, rank);
        trace.access(strand, 0, memory, 0, n, b.role === "input" ? WRITE : READ, 0);
        if (b.role !== "input") trace.access(strand, 0, memory, 0, n, WRITE, 0);
      }
      const steers = b.role !== "output" && machine.inputs.steers(b.name);
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
}

function deadlock(machine: ProofMachine, blocked: readonly Blocked[]): Fails {
  const places: Place[] = [];
  const lines: string[] = [];
  for (const b of blocked) {
    const { f, op, buffer } = b;
    const name = machine.kernel.buffers[buffer]!.name;
    const seen = machine.memory[buffer]![f.rank]![b.slot] as number;
    const whom = b.peer < 0 ? "" : ` for rank ${b.peer}`;
    places.push(machine.place(f, op.span, `wait for '${name}'[${b.slot}]`));
    lines.push(
      `launch ${f.launch}: rank ${f.rank}, block ${f.block} waits${whom}: '${name}'[${b.slot}] should reach ${b.wanted >>> 0} and stays ${seen}`,
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
function unheardSignals({ trace }: ProofMachine, blocked: readonly Blocked[]): string[] {
  if (trace === null) return [];
  const heard = new Set(trace.waits.map((w) => w.flag));
  const wanted = (buffer: string, owner: number, slot: number): boolean =>
    blocked.some((b) => text(b.op, "buffer") === buffer && b.f.rank === owner && b.slot === slot);
  return trace.flags
    .filter((f) => f.signals.length > 0 && !heard.has(f) && !wanted(f.buffer, f.owner, f.slot))
    .map((f) => `'${f.buffer}'[${f.slot}] of rank ${f.owner} is signalled, and nobody waits for it`);
}

/** A circle of ranks that wait for each other, first rank repeated at the end. */
function cycleOf(blocked: readonly Blocked[]): number[] | null {
  const waitsFor = new Map<number, number>();
  for (const b of blocked) if (b.peer >= 0 && !waitsFor.has(b.f.rank)) waitsFor.set(b.f.rank, b.peer);
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
