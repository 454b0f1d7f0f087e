/**
 * Memory as generated code sees it under a hostile schedule. Every access is checked against vector clocks. Stores are
 * hidden from other blocks until a release that covers them (or until they leak, if the schedule lets them); a release
 * at GPU scope shows them to the blocks of its own rank only.
 */
import { isGlobal, type Kernel, type Span } from "../../../compiler/index.js";
import type { TypedArray } from "../../numbers/index.js";
import { CpuFault, type FaultPlace, type FaultReporter } from "../faults.js";
import { BlockState } from "../launch.js";
import { AccessLog, Cells, type Conflict } from "./cells.js";
import { Clock, Strand } from "./clock.js";
import { Flags } from "./flags.js";
import type { Strategy } from "./strategies.js";
import { elementName, Timeline } from "./timeline.js";

/** A store that not everybody sees. */
interface Hidden {
  readonly memory: GlobalMemory;
  readonly index: number;
  readonly value: number;
  readonly agent: Agent;
  readonly strand: Strand;
  readonly sequence: number;
  /** Blocks of its own rank see it. */
  onGpu: boolean;
}

interface GlobalMemory {
  readonly name: string;
  readonly owner: number;
  readonly array: TypedArray;
  readonly cells: Cells;
  /** What was stored to an element and is hidden, oldest first. */
  readonly hidden: Map<number, Hidden[]>;
  readonly isTracked: boolean;
}

/** A block number of a rank over all launches, or the rank's caller. */
class Agent {
  phase = 0;
  clock: Clock;
  /** Strands of this phase that have learnt something. */
  readonly learnt = new Set<Strand>();
  /** Stores of its own that not everybody sees. */
  readonly hidden = new Set<Hidden>();

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
  private readonly log = new AccessLog();
  private readonly agents: Agent[];
  private readonly memories: GlobalMemory[][];
  private readonly flags: Flags[][];
  private strands = 0;

  constructor(
    private readonly kernel: Kernel,
    private readonly grid: number,
    private readonly lengths: readonly number[],
    private readonly arrays: readonly (readonly TypedArray[])[],
    private readonly faults: FaultReporter,
    private readonly strategy: Strategy,
  ) {
    this.timeline = new Timeline(faults);
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
        hidden: new Map<number, Hidden[]>(),
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
      for (const h of [...agent.hidden]) this.show(h);
      this.endPhase(agent);
      caller.clock = caller.clock.join(agent.clock);
    }
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

  private strandOf(K: HostileBlock, strand: Strand | null): Strand {
    return strand ?? this.strand(K);
  }

  /** Poisoned shared memory has been given to a block. */
  enter(K: HostileBlock): void {
    K.cells = this.kernel.buffers.map((b, j) => (b.role === "shared" ? new Cells(this.lengths[j]!) : undefined));
  }

  /** What element `index` holds for this block. */
  read(site: number, K: HostileBlock, given: Strand | null, buffer: number, owner: number, index: number): number {
    const strand = this.strandOf(K, given);
    const { agent } = K;
    const clock = strand.clock ?? agent.clock;
    const row = this.log.row(strand, site);
    const b = this.kernel.buffers[buffer]!;
    if (!isGlobal(b)) {
      const cells = K.cells[buffer];
      if (cells !== undefined) {
        if (!cells.isWritten(index)) this.faults.unwritten(site, agent.rank, agent.block, agent.rank, index);
        const c = cells.read(this.log, index, row, strand, clock);
        if (c !== null)
          this.race(b.name, `block ${agent.block} of rank ${agent.rank}`, index, c, agent, K.launch, site, false);
      }
      return K.memory[buffer]![index]!;
    }
    const memory = this.memories[buffer]![owner]!;
    this.timeline.access(agent.rank, agent.block, K.launch, site, "reads", b.name, owner, index);
    const c = memory.cells.read(this.log, index, row, strand, clock);
    if (c !== null) this.race(b.name, `rank ${owner}`, index, c, agent, K.launch, site, false);
    if (memory.isTracked && !memory.cells.isWritten(index))
      this.faults.unwritten(site, agent.rank, agent.block, owner, index);
    if (memory.hidden.size > 0) {
      const hidden = memory.hidden.get(index);
      for (let i = (hidden?.length ?? 0) - 1; i >= 0; i--) {
        const h = hidden![i]!;
        if (h.agent === agent || (h.onGpu && h.agent.rank === agent.rank)) return h.value;
      }
    }
    return memory.array[index]!;
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
    const strand = this.strandOf(K, given);
    const { agent } = K;
    const clock = strand.clock ?? agent.clock;
    const row = this.log.row(strand, site);
    const b = this.kernel.buffers[buffer]!;
    if (!isGlobal(b)) {
      const c = K.cells[buffer]?.write(this.log, index, row, strand, clock) ?? null;
      if (c !== null)
        this.race(b.name, `block ${agent.block} of rank ${agent.rank}`, index, c, agent, K.launch, site, true);
      K.memory[buffer]![index] = value;
      return;
    }
    const memory = this.memories[buffer]![owner]!;
    this.timeline.access(agent.rank, agent.block, K.launch, site, "writes", b.name, owner, index);
    const c = memory.cells.write(this.log, index, row, strand, clock);
    if (c !== null) this.race(b.name, `rank ${owner}`, index, c, agent, K.launch, site, true);
    const h: Hidden = { memory, index, value, agent, strand, sequence: strand.sequence, onGpu: false };
    agent.hidden.add(h);
    const there = memory.hidden.get(index);
    if (there === undefined) memory.hidden.set(index, [h]);
    else there.push(h);
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
    const strand = this.strandOf(K, given);
    const { agent } = K;
    if (releases) this.release(agent, strand, sys);
    const clock = releases ? (strand.clock ?? agent.clock).withStrand(strand) : null;
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
    const strand = this.strandOf(K, given);
    const { agent } = K;
    const learnt = acquires ? this.flags[buffer]![agent.rank]!.learn(slot, wanted, agent.rank, sys) : null;
    if (learnt !== null) {
      strand.clock = (strand.clock ?? agent.clock).join(learnt);
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
    for (const s of agent.learnt) agent.clock = agent.clock.join(s.clock!);
    agent.learnt.clear();
    agent.clock = agent.clock.withPhases(agent.number, ++agent.phase);
  }

  // -- visibility -------------------------------------------------------------------------------------------------

  /** Shows what a release covers: what the block did before it synchronised last, and what the thread did itself. */
  private release(agent: Agent, strand: Strand, sys: boolean): void {
    const clock = strand.clock ?? agent.clock;
    for (const h of [...agent.hidden])
      if (h.strand === strand || h.strand.phase < agent.phase) {
        if (sys) this.show(h);
        else h.onGpu = true;
      }
    // What other blocks of the rank have shown it goes along.
    if (!sys) return;
    for (let block = 0; block < this.grid; block++)
      for (const h of [...this.agent(agent.rank, block).hidden])
        if (h.onGpu && clock.covers(h.strand, h.sequence)) this.show(h);
  }

  /** Lets everybody see a store, and those to the same element before it. */
  private show(h: Hidden): void {
    const all = h.memory.hidden.get(h.index);
    if (all === undefined) return;
    const at = all.indexOf(h);
    if (at < 0) return;
    h.memory.array[h.index] = h.value;
    for (const done of all.splice(0, at + 1)) done.agent.hidden.delete(done);
    if (all.length === 0) h.memory.hidden.delete(h.index);
  }

  /** Between two steps: perhaps some hidden store becomes visible, in no order. */
  leak(): void {
    if (!this.strategy.leaks()) return;
    for (const agent of this.agents) {
      const h = agent.hidden.values().next().value;
      if (h !== undefined) this.show(h);
    }
  }

  // -- reports ----------------------------------------------------------------------------------------------------

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
    const earlier = this.log.strandOf(conflict.earlier);
    const first = this.agents[earlier.agent]!;
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
      `data race on ${name}: the ${verb(conflict.earlierWrites)} by ${who(first, earlier.launch)} and the ${verb(writes)} by ${who(agent, launch)} are not ordered`,
      [place(this.log.siteOf(conflict.earlier), first), place(site, agent)],
    );
  }
}
