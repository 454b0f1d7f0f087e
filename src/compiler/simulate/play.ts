/**
 * Plays a schedule on a cluster, event by event: a rank begins a phase when the flags it waits for have arrived, its bytes then
 * queue at the links they need, and when all is where it belongs it tells those who wait.
 *
 * Inside a domain the rules and rates are those of the cost model (`machine/cost.ts`), whose numbers are fitted to measured times.
 * Between domains a store is a put with a signal behind it, and what is loaded is put by its owner as soon as that has come to the
 * point of synchronisation before. A tensor in several chunks is as many independent passes through the phases that share the
 * links: while one chunk is between domains, the next is inside one. Where all blocks of a rank meet, chunks wait for each other.
 */
import { UsageError } from "../../errors.js";
import type { Cluster } from "../machine/cluster.js";
import { Bound, firstOf, wordTime } from "./bound.js";
import { Events } from "./events.js";
import { Fabric, type LinkUse } from "./fabric.js";
import { type Flow, followedOf, type Step } from "./followed.js";
import type { Schedule } from "./schedule.js";

export interface Simulation {
  /** Bytes of the largest tensor of a rank. */
  readonly bytes: number;
  /** Passes that the tensor was divided into. */
  readonly chunks: number;
  readonly seconds: number;
  /** When the last rank ends each phase. */
  readonly phases: readonly number[];
  readonly links: readonly LinkUse[];
  /** Ranks whose events were followed; all others are like them. */
  readonly followed: number;
}

/** Messages that a rank gives its NIC at once. They leave one after the other, so that only the first is an event that waits. */
interface Sends {
  readonly rank: number;
  readonly flow: Flow;
  /** The phase and chunk that they are of. */
  readonly node: number;
  /** Of puts, which the ranks there wait for; null for what is loaded. */
  readonly isAwaited: Uint8Array | null;
  readonly at: number;
  /** Number of the first among all messages. */
  readonly id: number;
  /** The one that leaves next. */
  next: number;
}

/** Kinds of events at a rank's phase and chunk; numbers above are messages. */
const [BEGIN, END] = [0, 1];
const KINDS = 2;

/**
 * What is known while a size is played, by the number of a rank's phase and chunk: chunk by chunk, so that of what happens at one time
 * all ranks' first chunks come before anybody's second.
 */
class State {
  readonly events = new Events();
  /** Points of synchronisation that have not been heard of, and what has not ended of a phase that has begun. */
  readonly left: Int32Array;
  readonly open: Int32Array;
  /** When the last flag was seen, of the kinds that differ. */
  readonly ready: Float64Array;
  readonly near: Float64Array;
  readonly word: Float64Array;
  readonly end: Float64Array;
  /** When the last rank ends each phase. */
  readonly phases: Float64Array;
  /** Computation of a rank's chunks goes one after the other. */
  readonly working: Float64Array;
  /** By NIC: sends that have not all left, the first of them on its way out. */
  readonly queues: Sends[][];
  /** Messages so far. */
  messages = 0;
  played = 0;

  constructor(
    readonly fabric: Fabric,
    readonly scale: number,
    readonly chunks: number,
    ranks: number,
    phases: number,
  ) {
    const nodes = ranks * phases * chunks;
    [this.left, this.open] = [new Int32Array(nodes), new Int32Array(nodes)];
    const times = (): Float64Array => new Float64Array(nodes);
    [this.ready, this.near, this.word, this.end] = [times(), times(), times(), times()];
    [this.phases, this.working] = [new Float64Array(phases), new Float64Array(ranks)];
    this.queues = Array.from({ length: fabric.nics }, () => []);
  }
}

/** A schedule with the ranks of a cluster that have to be followed, ready to be played at any size. */
export class Player {
  /** Ranks whose events are followed. */
  readonly followed: number;
  /** Phases of each rank. */
  readonly count: number;
  /** Events of one pass: phases that begin and end, and messages. */
  readonly events: number;
  private readonly unit: number;
  private readonly steps: readonly (readonly Step[])[];
  private readonly firstPulls: readonly Flow[];
  private readonly bound: Bound;
  /** By rank of the unit and phase, side by side, for what is asked of every event: whether all blocks meet, seconds to the first bytes. */
  private readonly isGrid: Uint8Array;
  private readonly first: Float64Array;

  constructor(
    private readonly schedule: Schedule,
    private readonly cluster: Cluster,
  ) {
    const all = followedOf(schedule, cluster);
    const { followed, unit, steps, firstPulls } = all;
    this.bound = new Bound(cluster, schedule.world, all);
    [this.followed, this.unit, this.steps, this.firstPulls] = [followed, unit, steps, firstPulls];
    this.count = steps[0]!.length;
    this.isGrid = Uint8Array.from(steps.flat(), ({ phase }) => +phase.isGrid);
    this.first = Float64Array.from(steps.flat(), (step) => firstOf(step, cluster.machine));
    const messages = steps.flat().reduce((sum, { puts, farLoads }) => sum + puts.ranks.length + farLoads, 0);
    this.events = 2 * followed * this.count + messages * (followed / unit);
  }

  /** Seconds below which {@link play} does not end, known without playing. */
  atLeast(bytes: number, chunks = 1): number {
    return this.bound.seconds(bytes / this.schedule.bytes, chunks);
  }

  /**
   * Times of a tensor of so many bytes, in one pass or several.
   * @throws UsageError for ranks that wait for each other in a circle
   */
  play(bytes: number, chunks = 1): Simulation {
    const { schedule, cluster, followed, count, steps, unit } = this;
    const launch = cluster.machine.launch.value;
    const fabric = new Fabric(cluster, schedule.world, followed);
    const state = new State(fabric, bytes / schedule.bytes / chunks, chunks, followed, count);
    for (let rank = 0; rank < followed; rank++) {
      for (let i = 0; i < count; i++) {
        const { phase, nearAwaits, wordAwaits, putAwaits, farLoads } = steps[rank % unit]![i]!;
        const waits = i === 0 ? 0 : (1 + nearAwaits + wordAwaits + putAwaits) * (phase.isGrid ? chunks : 1);
        for (let c = 0; c < chunks; c++) {
          const node = (c * followed + rank) * count + i;
          state.left[node] = waits;
          state.open[node] = 1 + farLoads;
          if (waits === 0) state.events.push(launch, node * KINDS + BEGIN);
        }
      }
      for (let c = 0; c < chunks; c++) this.send(rank, this.firstPulls[rank % unit]!, (c * followed + rank) * count, "load", launch, state); // prettier-ignore
    }
    const messages = followed * count * chunks * KINDS;
    while (state.events.size > 0) {
      const { time, node: event, nic } = state.events.pop();
      if (event >= messages) this.leave(nic, time, state);
      else if (event % KINDS === BEGIN) this.begin(Math.floor(event / KINDS), time, state);
      else this.finish(Math.floor(event / KINDS), time, state);
    }
    if (state.played < followed * count * chunks)
      throw new UsageError("ranks wait for each other in a circle", "the simulator cannot follow this program");
    const seconds = state.phases.reduce((a, b) => Math.max(a, b), 0);
    return { bytes, chunks, seconds, phases: [...state.phases], links: fabric.uses(), followed };
  }

  /** A rank begins a phase: its bytes queue at the ports, and its puts at the NIC. */
  private begin(node: number, time: number, state: State): void {
    const { unit, count, steps, schedule, cluster } = this;
    const { world } = schedule;
    const m = cluster.machine;
    const { scale, fabric, working } = state;
    const rank = Math.floor(node / count) % this.followed;
    const step = steps[rank % unit]![node % count]!;
    const { phase, nearLoads, nearStores, puts } = step;
    const shift = rank - (rank % unit);
    let covered = time;
    const first = this.first[(rank % unit) * count + (node % count)]!;
    let [pulled, pushed] = [0, 0];
    for (let k = 0; k < nearLoads.ranks.length; k++) {
      const n = nearLoads.bytes[k]! * scale;
      pulled += n;
      covered = Math.max(covered, fabric.port("NVLink out", (nearLoads.ranks[k]! + shift) % world, n, m.serve.value, time)); // prettier-ignore
    }
    if (pulled > 0) covered = Math.max(covered, fabric.port("NVLink in", rank, pulled, m.pull.value, time));
    for (let k = 0; k < nearStores.ranks.length; k++) {
      const n = nearStores.bytes[k]! * scale;
      pushed += n;
      covered = Math.max(covered, fabric.port("NVLink in", (nearStores.ranks[k]! + shift) % world, n, m.push.value, time)); // prettier-ignore
    }
    if (pushed > 0) covered = Math.max(covered, fabric.port("NVLink out", rank, pushed, m.push.value, time));
    const own = ((phase.ownLoaded + phase.ownStored) * scale + pushed) / m.memory.value;
    const work = Math.max(own, (phase.scalarOps * scale) / m.scalar.value);
    if (work > 0) {
      working[rank] = Math.max(time, working[rank]!) + work;
      covered = Math.max(covered, working[rank]!);
    }
    // Puts leave while the phase goes on, but not before its first bytes are there.
    if (puts.ranks.length > 0) this.send(rank, puts, node, "put", time + first, state);
    this.close(node, covered + first, state);
  }

  /** One of the things is done that a phase ends with. */
  private close(node: number, time: number, state: State): void {
    state.end[node] = Math.max(state.end[node]!, time);
    if (--state.open[node]! === 0) state.events.push(state.end[node]!, node * KINDS + END);
  }

  /** A rank ends a phase: it tells those who wait, and puts on the way what is loaded from it. */
  private finish(node: number, time: number, state: State): void {
    const { unit, count, steps, schedule, cluster, followed } = this;
    const { world } = schedule;
    const m = cluster.machine;
    const [i, rank, c] = [node % count, Math.floor(node / count) % followed, Math.floor(node / count / followed)];
    state.played++;
    state.phases[i] = Math.max(state.phases[i]!, time);
    if (i + 1 === count) return;
    const { phase, nearStores, pulls, near, words } = steps[rank % unit]![i]!;
    const shift = rank - (rank % unit);
    const told = time + (nearStores.ranks.length > 0 ? m.drain.value : phase.ownStored > 0 ? m.ownDrain.value : 0);
    this.hear(rank, i + 1, c, time, state.ready, state);
    for (const q of near) this.hear(((q + shift) % world) % followed, i + 1, c, told + m.flag.value, state.near, state);
    for (const q of words) this.hear(((q + shift) % world) % followed, i + 1, c, told, state.word, state);
    if (pulls.ranks.length > 0) this.send(rank, pulls, node + 1, "load", told, state);
  }

  /** A rank hears one of the words that it waits for; after the last it begins. */
  private hear(rank: number, i: number, chunk: number, time: number, kind: Float64Array, state: State): void {
    const { followed, count, unit } = this;
    const isGrid = this.isGrid[(rank % unit) * count + i] === 1;
    const end = isGrid ? state.chunks : chunk + 1;
    for (let c = isGrid ? 0 : chunk; c < end; c++) {
      const node = (c * followed + rank) * count + i;
      if (kind[node]! < time) kind[node] = time;
      if (--state.left[node]! === 0) this.start(rank, i, node, state);
    }
  }

  /** A rank has heard of all that it waits for. */
  private start(rank: number, i: number, node: number, state: State): void {
    const { phase, nearAwaits, wordAwaits } = this.steps[rank % this.unit]![i]!;
    const { flagRank, grid } = this.cluster.machine;
    let at = state.ready[node]!;
    if (nearAwaits > 0) at = Math.max(at, state.near[node]! + flagRank.value * (nearAwaits - 1));
    if (wordAwaits > 0) at = Math.max(at, state.word[node]! + wordTime(wordAwaits, this.cluster));
    state.events.push(at + (phase.isGrid ? grid.value : 0), node * KINDS + BEGIN);
  }

  /** Messages join the queue of a rank's NIC. @param node of the sender's phase; of loads, of the reader's phase at the sender's rank */
  private send(rank: number, flow: Flow, node: number, meaning: "put" | "load", at: number, state: State): void {
    if (flow.ranks.length === 0) return;
    const isAwaited = meaning === "put" ? this.steps[rank % this.unit]![node % this.count]!.isAwaited : null;
    const nic = state.fabric.nicOf[rank]!;
    const queue = state.queues[nic]!;
    queue.push({ rank, flow, node, isAwaited, at, id: state.messages, next: 0 });
    state.messages += flow.ranks.length;
    if (queue.length === 1) this.post(nic, queue[0]!, state);
  }

  /** The next message of a NIC's queue gets the time at which it begins to leave. */
  private post(nic: number, { rank, flow, at, id, next }: Sends, state: State): void {
    const messages = this.followed * this.count * state.chunks * KINDS;
    state.events.push(state.fabric.post(rank, flow.bytes[next]! * state.scale, at), messages + id + next, nic);
  }

  /** A message leaves its NIC: from here on it is known when it is there. */
  private leave(nic: number, time: number, state: State): void {
    const { followed, count, unit } = this;
    const queue = state.queues[nic]!;
    const sends = queue[0]!;
    const { rank, flow, node, isAwaited } = sends;
    const k = sends.next++;
    if (sends.next === flow.ranks.length) queue.shift();
    if (queue.length > 0) this.post(nic, queue[0]!, state);
    const to = (flow.ranks[k]! + rank - (rank % unit)) % this.schedule.world;
    const there = state.fabric.fly(rank, to, flow.bytes[k]! * state.scale, time);
    const [i, c] = [node % count, Math.floor(node / count / followed)];
    const target = to % followed;
    if (isAwaited === null) return this.close((c * followed + target) * count + i, there, state);
    state.phases[i] = Math.max(state.phases[i]!, there);
    if (isAwaited[k] === 1) this.hear(target, i + 1, c, there, state.ready, state);
  }
}
