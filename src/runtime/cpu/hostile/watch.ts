/**
 * Memory as generated code sees it under a hostile schedule. Every access is checked against vector clocks. Stores are
 * hidden from other blocks until a release that covers them (or until they leak, if the schedule lets them); a release
 * at GPU scope shows them to the blocks of its own rank only.
 */
import { isGlobal, type Kernel, type Span } from "../../../compiler/index.js";
import type { TypedArray } from "../../numbers/index.js";
import { CpuFault, type FaultPlace, type FaultReporter } from "../faults.js";
import { BlockState } from "../launch.js";
import { type AccessLog, Cells, type Conflict } from "./cells.js";
import { Clock, Strand } from "./clock.js";
import { Flags } from "./flags.js";
import { type Hidden, HiddenStores, type Storer } from "./hidden.js";
import type { Strategy } from "./strategies.js";
import { elementName, Timeline } from "./timeline.js";

interface GlobalMemory {
  readonly name: string;
  readonly owner: number;
  readonly array: TypedArray;
  readonly cells: Cells;
  readonly hidden: HiddenStores;
  readonly isTracked: boolean;
}

/** A block number of a rank over all launches, or the rank's caller. */
class Agent implements Storer {
  phase = 0;
  clock: Clock;
  /** Strands of this phase that have learnt something. */
  readonly learnt = new Set<Strand>();
  firstHidden: Hidden | null = null;
  lastHidden: Hidden | null = null;

  constructor(
    readonly number: number,
    readonly rank: number,
    readonly block: number,
    agents: number,
  ) {
    this.clock = Clock.zero(agents);
  }
}

/** A block in one launch. */
export class HostileBlock extends BlockState {
  cells: (Cells | undefined)[] = [];

  constructor(
    readonly agent: Agent,
    readonly launch: number,
  ) {
    super();
  }
}

const CALLER_SPAN: Span = { start: 0, end: 0 };

/** The names are read by generated code; see `codegen-memory.ts`. */
export class Watch {
  readonly timeline: Timeline;
  private readonly agents: Agent[];
  private readonly memories: GlobalMemory[][];
  private readonly flags: Flags[][];
  private strands = 0;
  /** Of each buffer. */
  private readonly isGlobal: readonly boolean[];

  constructor(
    private readonly kernel: Kernel,
    private readonly grid: number,
    private readonly lengths: readonly number[],
    private readonly arrays: readonly (readonly TypedArray[])[],
    private readonly faults: FaultReporter,
    private readonly strategy: Strategy,
    private readonly log: AccessLog,
  ) {
    this.timeline = new Timeline(faults);
    this.isGlobal = kernel.buffers.map(isGlobal);
    const count = kernel.world * (grid + 1);
    this.agents = Array.from(
      { length: count },
      (_, i) => new Agent(i, Math.floor(i / (grid + 1)), (i % (grid + 1)) - 1, count),
    );
    this.memories = kernel.buffers.map((b, j) =>
      arrays[j]!.map((array, owner) => ({
        name: b.name,
        owner,
        array,
        cells: new Cells(lengths[j]!),
        hidden: new HiddenStores(array),
        isTracked: b.role === "scratch" || b.role === "output",
      })),
    );
    this.flags = kernel.buffers.map((_, j) => arrays[j]!.map(() => new Flags()));
  }

  private agent(rank: number, block: number): Agent {
    return this.agents[rank * (this.grid + 1) + block + 1]!;
  }

  // -- launches ---------------------------------------------------------------------------------------------------

  /** The caller of a rank overwrites its inputs and poisons its outputs, then launches. */
  begin(rank: number, launch: number): HostileBlock[] {
    const caller = this.agent(rank, -1);
    this.touchArguments(caller, rank, launch, (role) => role === "input" || role === "output");
    this.timeline.note(rank, -1, launch, -1, () => "writes the inputs, launches");
    this.endPhase(caller);
    return Array.from({ length: this.grid }, (_, block) => {
      const agent = this.agent(rank, block);
      agent.clock = agent.clock.join(caller.clock);
      return new HostileBlock(agent, launch);
    });
  }

  /** All blocks of a launch are over: what they stored is there for everybody, and the caller reads the outputs. */
  end(rank: number, launch: number): void {
    const caller = this.agent(rank, -1);
    for (let block = 0; block < this.grid; block++) {
      const agent = this.agent(rank, block);
      for (let h = agent.firstHidden; h !== null; h = h.next) h.stores.show(h);
      this.endPhase(agent);
    }
    const blocks = Array.from({ length: this.grid }, (_, block) => this.agent(rank, block).clock);
    caller.clock = caller.clock.joinAll(blocks);
    this.timeline.note(rank, -1, launch, -1, () => "sees the launch end, reads the outputs");
    this.touchArguments(caller, rank, launch, () => false);
    this.endPhase(caller);
  }

  private touchArguments(caller: Agent, rank: number, launch: number, writes: (role: string) => boolean): void {
    const strand = new Strand(this.strands++, caller.number, caller.phase, launch);
    this.kernel.buffers.forEach((b, j) => {
      if (b.role !== "input" && b.role !== "output") return;
      const write = writes(b.role);
      if (!write && b.role === "input") return;
      const memory = this.memories[j]![rank]!;
      const row = this.log.row(strand, -1);
      for (let e = 0; e < memory.array.length; e++) {
        const c = write
          ? memory.cells.write(this.log, e, row, strand, caller.clock)
          : memory.cells.read(this.log, e, row, strand, caller.clock);
        if (c !== null) this.race(memory.name, `rank ${rank}`, e, c, caller, launch, -1, write);
      }
    });
  }

  // -- what blocks do ---------------------------------------------------------------------------------------------

  /** An iteration of a loop over threads begins. */
  strand(K: HostileBlock): Strand {
    return new Strand(this.strands++, K.agent.number, K.agent.phase, K.launch);
  }

  /** Poisoned shared memory has been given to a block. */
  enter(K: HostileBlock): void {
    K.cells = this.kernel.buffers.map((b, j) => (b.role === "shared" ? new Cells(this.lengths[j]!) : undefined));
  }

  /** What element `index` holds for this block. */
  read(site: number, K: HostileBlock, given: Strand | null, buffer: number, owner: number, index: number): number {
    const strand = given ?? this.strand(K);
    const clock = strand.clockIn(K.agent.clock);
    const row = this.log.row(strand, site);
    return this.readIn(site, K, strand, clock, row, buffer, owner, index);
  }

  /** Reads `count` elements from `first` on, for what they may conflict with. */
  readRun(
    site: number,
    K: HostileBlock,
    strand: Strand,
    buffer: number,
    owner: number,
    first: number,
    count: number,
  ): void {
    const clock = strand.clockIn(K.agent.clock);
    const row = this.log.row(strand, site);
    for (let i = first; i < first + count; i++) this.readIn(site, K, strand, clock, row, buffer, owner, i);
  }

  private readIn(
    site: number,
    K: HostileBlock,
    strand: Strand,
    clock: Clock,
    row: number,
    buffer: number,
    owner: number,
    index: number,
  ): number {
    const { agent } = K;
    if (!this.isGlobal[buffer]!) {
      const cells = K.cells[buffer];
      if (cells !== undefined) {
        if (!cells.isWritten(index)) this.faults.unwritten(site, agent.rank, agent.block, agent.rank, index);
        const c = cells.read(this.log, index, row, strand, clock);
        if (c !== null) this.raceInBlock(buffer, index, c, K, site, false);
      }
      return K.memory[buffer]![index]!;
    }
    const memory = this.memories[buffer]![owner]!;
    this.timeline.access(agent.rank, agent.block, K.launch, site, "reads", memory.name, owner, index);
    const c = memory.cells.read(this.log, index, row, strand, clock);
    if (c !== null) this.race(memory.name, `rank ${owner}`, index, c, agent, K.launch, site, false);
    if (memory.isTracked && !memory.cells.isWritten(index))
      this.faults.unwritten(site, agent.rank, agent.block, owner, index);
    return memory.hidden.valueFor(agent, index);
  }

  write(
    site: number,
    K: HostileBlock,
    given: Strand | null,
    buffer: number,
    owner: number,
    index: number,
    value: number,
  ): void {
    const strand = given ?? this.strand(K);
    const { agent } = K;
    const clock = strand.clockIn(agent.clock);
    const row = this.log.row(strand, site);
    if (!this.isGlobal[buffer]!) {
      const c = K.cells[buffer]?.write(this.log, index, row, strand, clock) ?? null;
      if (c !== null) this.raceInBlock(buffer, index, c, K, site, true);
      K.memory[buffer]![index] = value;
      return;
    }
    const memory = this.memories[buffer]![owner]!;
    this.timeline.access(agent.rank, agent.block, K.launch, site, "writes", memory.name, owner, index);
    const c = memory.cells.write(this.log, index, row, strand, clock);
    if (c !== null) this.race(memory.name, `rank ${owner}`, index, c, agent, K.launch, site, true);
    memory.hidden.add(index, value, agent, strand);
  }

  signal(
    site: number,
    K: HostileBlock,
    given: Strand | null,
    buffer: number,
    owner: number,
    slot: number,
    amount: number,
    adds: boolean,
    sys: boolean,
    releases: boolean,
  ): void {
    const strand = given ?? this.strand(K);
    const { agent } = K;
    if (releases) this.release(agent, strand, sys);
    const clock = releases ? strand.clockIn(agent.clock).withStrand(strand) : null;
    const memory = this.memories[buffer]![owner]!;
    this.flags[buffer]![owner]!.signal(memory.array as Uint32Array, slot, amount, {
      clock,
      rank: agent.rank,
      sys,
      adds,
    });
    const say = (): string =>
      `signals ${elementName(memory.name, String(slot), owner, agent.rank)} ${adds ? "+=" : "="} ${amount} (${releases ? "release" : "relaxed"}, ${sys ? "sys" : "gpu"})`;
    this.timeline.note(agent.rank, agent.block, K.launch, site, say);
    strand.sequence++;
  }

  /** A wait begins that must first suspend. */
  blocks(site: number, K: HostileBlock, buffer: number, slot: number, wanted: number): void {
    const { agent } = K;
    const { name } = this.kernel.buffers[buffer]!;
    this.timeline.note(
      agent.rank,
      agent.block,
      K.launch,
      site,
      () => `waits for '${name}'[${slot}] to reach ${wanted >>> 0}`,
    );
  }

  /** A wait is satisfied. */
  acquire(
    site: number,
    K: HostileBlock,
    given: Strand | null,
    buffer: number,
    slot: number,
    wanted: number,
    sys: boolean,
    acquires: boolean,
  ): void {
    const strand = given ?? this.strand(K);
    const { agent } = K;
    const learnt = acquires ? this.flags[buffer]![agent.rank]!.learn(slot, wanted, agent.rank, sys) : null;
    if (learnt !== null) {
      strand.learn(learnt);
      agent.learnt.add(strand);
    }
    const { name } = this.kernel.buffers[buffer]!;
    this.timeline.note(agent.rank, agent.block, K.launch, site, () => `sees '${name}'[${slot}] reach ${wanted >>> 0}`);
    strand.sequence++;
  }

  /** All threads of the block meet. */
  sync(site: number, K: HostileBlock): void {
    this.timeline.note(K.agent.rank, K.agent.block, K.launch, site, () => "synchronises its threads");
    this.endPhase(K.agent);
  }

  private endPhase(agent: Agent): void {
    if (agent.learnt.size > 0) {
      agent.clock = agent.clock.joinAll([...agent.learnt].flatMap((s) => s.learnt));
      agent.learnt.clear();
    }
    agent.clock = agent.clock.withPhases(agent.number, ++agent.phase);
  }

  // -- visibility -------------------------------------------------------------------------------------------------

  /** Shows what a release covers: what the block did before it synchronised last, and what the thread did itself. */
  private release(agent: Agent, strand: Strand, sys: boolean): void {
    // A store that is shown takes with it those before it, which these loops have passed.
    for (let h = agent.firstHidden; h !== null; h = h.next)
      if (h.strand === strand || h.strand.phase < agent.phase) {
        if (sys) h.stores.show(h);
        else h.onGpu = true;
      }
    // What other blocks of the rank have shown it goes along.
    if (!sys) return;
    const clock = strand.clockIn(agent.clock);
    for (let block = 0; block < this.grid; block++)
      for (let h = this.agent(agent.rank, block).firstHidden; h !== null; h = h.next)
        if (h.onGpu && clock.covers(h.strand.id, h.strand.agent, h.strand.phase, h.sequence)) h.stores.show(h);
  }

  /** Between two steps: perhaps some hidden store becomes visible, in no order. */
  leak(): void {
    if (!this.strategy.leaks()) return;
    for (const agent of this.agents) {
      const h = agent.firstHidden;
      if (h !== null) h.stores.show(h);
    }
  }

  // -- reports ----------------------------------------------------------------------------------------------------

  private raceInBlock(
    buffer: number,
    element: number,
    conflict: Conflict,
    { agent, launch }: HostileBlock,
    site: number,
    writes: boolean,
  ): never {
    const owner = `block ${agent.block} of rank ${agent.rank}`;
    this.race(this.kernel.buffers[buffer]!.name, owner, element, conflict, agent, launch, site, writes);
  }

  private race(
    buffer: string,
    owner: string,
    element: number,
    conflict: Conflict,
    agent: Agent,
    launch: number,
    site: number,
    writes: boolean,
  ): never {
    const first = this.agents[this.log.agentOf(conflict.earlier)]!;
    const before = this.log.launchOf(conflict.earlier);
    const who = (a: Agent, l: number): string =>
      a.block < 0 ? `the caller of rank ${a.rank} around launch ${l}` : `rank ${a.rank}, block ${a.block}, launch ${l}`;
    const verb = (w: boolean): string => (w ? "write" : "read");
    const name = `'${buffer}'[${element}] of ${owner}`;
    this.timeline.note(agent.rank, agent.block, launch, site, () => `${verb(writes)}s ${name}: RACE`);
    const place = (s: number, a: Agent): FaultPlace =>
      s < 0
        ? { kernel: this.kernel.name, rank: a.rank, block: -1, buffer, index: element, span: CALLER_SPAN }
        : this.faults.place(s, a.rank, a.block, element);
    throw new CpuFault(
      "race",
      `data race on ${name}: the ${verb(conflict.earlierWrites)} by ${who(first, before)} and the ${verb(writes)} by ${who(agent, launch)} are not ordered`,
      [place(this.log.siteOf(conflict.earlier), first), place(site, agent)],
    );
  }
}
