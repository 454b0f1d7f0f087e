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
import { Bound } from "./bound.js";
import { Events } from "./events.js";
import { Fabric, type LinkUse } from "./fabric.js";
import type { Flows } from "./flows.js";
import { type Followed, followedOf } from "./followed.js";
import { moved } from "./likeness.js";
import type { Schedule } from "./schedule.js";
import { bytesOf, type StepTimes, stepTimes } from "./step-times.js";

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
  /** What is put, or what is loaded, and which of it has not left: from `next` to `end`. */
  readonly flows: Flows;
  next: number;
  readonly end: number;
  /** The phase and chunk that they are of. */
  readonly phase: number;
  readonly chunk: number;
  readonly at: number;
  /** Number of the first among all messages, less its place in the flows. */
  readonly id: number;
}

/** Kinds of events at a rank's phase and chunk; numbers above are messages. */
const [BEGIN, END] = [0, 1];
const KINDS = 2;

/**
 * What is known while a size is played, by the number of a rank's phase and chunk. Ranks that are at one phase lie side by side, for they
 * are there at about one time.
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
  private readonly follow: Followed;
  private readonly bound: Bound;
  private readonly times: StepTimes;
  private readonly pulled: Float64Array;
  private readonly pushed: Float64Array;

  constructor(
    private readonly schedule: Schedule,
    private readonly cluster: Cluster,
  ) {
    const follow = followedOf(schedule, cluster);
    const { followed, unit, count, puts, farLoads } = follow;
    this.times = stepTimes(follow, cluster);
    this.bound = new Bound(cluster, schedule.world, follow, this.times);
    [this.follow, this.followed, this.count] = [follow, followed, count];
    [this.pulled, this.pushed] = [bytesOf(follow.nearLoads), bytesOf(follow.nearStores)];
    const messages = farLoads.reduce((sum, n) => sum + n, puts.ranks.length);
    this.events = 2 * followed * count + messages * (followed / unit);
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
    const { schedule, cluster, followed, count } = this;
    const { unit, nearAwaits, wordAwaits, putAwaits, farLoads, isGrid, firstPulls } = this.follow;
    const launch = cluster.machine.launch.value;
    const fabric = new Fabric(cluster, schedule.world, followed);
    const state = new State(fabric, bytes / schedule.bytes / chunks, chunks, followed, count);
    for (let c = 0; c < chunks; c++)
      for (let i = 0; i < count; i++)
        for (let rank = 0; rank < followed; rank++) {
          const step = i * unit + (rank % unit);
          const node = (c * count + i) * followed + rank;
          const waits = 1 + nearAwaits[step]! + wordAwaits[step]! + putAwaits[step]!;
          state.left[node] = i === 0 ? 0 : waits * (isGrid[step] === 1 ? chunks : 1);
          state.open[node] = 1 + farLoads[step]!;
        }
    for (let rank = 0; rank < followed; rank++) {
      for (let c = 0; c < chunks; c++) state.events.push(launch, this.number(rank, 0, c, BEGIN));
      for (let c = 0; c < chunks; c++) this.send(rank, firstPulls, rank % unit, 0, c, launch, state);
    }
    const messages = followed * count * chunks * KINDS;
    while (state.events.size > 0) {
      const { time, node: event, nic } = state.events.pop();
      if (event >= messages) {
        this.leave(nic, time, state);
        continue;
      }
      const node = (event / KINDS) | 0;
      const all = (node / count) | 0;
      const c = (all / followed) | 0;
      const [i, rank] = [node - all * count, all - c * followed];
      if (event % KINDS === BEGIN) this.begin(rank, i, c, time, state);
      else this.finish(rank, i, c, time, state);
    }
    if (state.played < followed * count * chunks)
      throw new UsageError("ranks wait for each other in a circle", "the simulator cannot follow this program");
    const seconds = state.phases.reduce((a, b) => Math.max(a, b), 0);
    return { bytes, chunks, seconds, phases: [...state.phases], links: fabric.uses(), followed };
  }

  /** The number of an event: of what happens at one time all ranks' first chunks come before anybody's second. */
  private number(rank: number, i: number, chunk: number, kind: number): number {
    return ((chunk * this.followed + rank) * this.count + i) * KINDS + kind;
  }

  /** A peer of a rank of the unit, seen from the rank that is so many further and does the same. */
  private peer(rank: number, by: number): number {
    return by === 0 ? rank : moved(rank, by, this.follow.world, this.follow.likeness);
  }

  /** A rank begins a phase: its bytes queue at the ports, and its puts at the NIC. */
  private begin(rank: number, i: number, c: number, time: number, state: State): void {
    const { unit, nearLoads, nearStores, puts, ownLoaded, ownStored, scalarOps } = this.follow;
    const m = this.cluster.machine;
    const { scale, fabric, working } = state;
    const home = rank % unit;
    const step = i * unit + home;
    const by = rank - home;
    let covered = time;
    const first = this.times.first[step]!;
    const [pulled, pushed] = [this.pulled[step]! * scale, this.pushed[step]! * scale];
    for (let k = nearLoads.at[step]!; k < nearLoads.at[step + 1]!; k++)
      covered = Math.max(covered, fabric.port("NVLink out", this.peer(nearLoads.ranks[k]!, by), nearLoads.bytes[k]! * scale, m.serve.value, time)); // prettier-ignore
    if (pulled > 0) covered = Math.max(covered, fabric.port("NVLink in", rank, pulled, m.pull.value, time));
    for (let k = nearStores.at[step]!; k < nearStores.at[step + 1]!; k++)
      covered = Math.max(covered, fabric.port("NVLink in", this.peer(nearStores.ranks[k]!, by), nearStores.bytes[k]! * scale, m.push.value, time)); // prettier-ignore
    if (pushed > 0) covered = Math.max(covered, fabric.port("NVLink out", rank, pushed, m.push.value, time));
    const own = ((ownLoaded[step]! + ownStored[step]!) * scale + pushed) / m.memory.value;
    const work = Math.max(own, (scalarOps[step]! * scale) / m.scalar.value);
    if (work > 0) {
      working[rank] = Math.max(time, working[rank]!) + work;
      covered = Math.max(covered, working[rank]!);
    }
    // Puts leave while the phase goes on, but not before its first bytes are there.
    this.send(rank, puts, step, i, c, time + first, state);
    this.close(rank, i, c, covered + first, state);
  }

  /** One of the things is done that a phase ends with. */
  private close(rank: number, i: number, c: number, time: number, state: State): void {
    const node = (c * this.count + i) * this.followed + rank;
    if (state.end[node]! < time) state.end[node] = time;
    if (--state.open[node]! === 0) state.events.push(state.end[node]!, this.number(rank, i, c, END));
  }

  /** A rank ends a phase: it tells those who wait, and puts on the way what is loaded from it. */
  private finish(rank: number, i: number, c: number, time: number, state: State): void {
    const { unit, pulls, near, words } = this.follow;
    const { followed } = this;
    state.played++;
    if (state.phases[i]! < time) state.phases[i] = time;
    if (i + 1 === this.count) return;
    const home = rank % unit;
    const step = i * unit + home;
    const by = rank - home;
    const told = time + this.times.drain[step]!;
    this.hear(rank, i + 1, c, time, state.ready, state);
    const seen = told + this.cluster.machine.flag.value;
    for (let k = near.at[step]!; k < near.at[step + 1]!; k++)
      this.hear(this.peer(near.ranks[k]!, by) % followed, i + 1, c, seen, state.near, state);
    for (let k = words.at[step]!; k < words.at[step + 1]!; k++)
      this.hear(this.peer(words.ranks[k]!, by) % followed, i + 1, c, told, state.word, state);
    this.send(rank, pulls, step, i + 1, c, told, state);
  }

  /** A rank hears one of the words that it waits for; after the last it begins. */
  private hear(rank: number, i: number, chunk: number, time: number, kind: Float64Array, state: State): void {
    const { followed, count } = this;
    const { unit, isGrid } = this.follow;
    const isAll = isGrid[i * unit + (rank % unit)] === 1;
    const end = isAll ? state.chunks : chunk + 1;
    for (let c = isAll ? 0 : chunk; c < end; c++) {
      const node = (c * count + i) * followed + rank;
      if (kind[node]! < time) kind[node] = time;
      if (--state.left[node]! === 0) this.start(rank, i, c, node, state);
    }
  }

  /** A rank has heard of all that it waits for. */
  private start(rank: number, i: number, c: number, node: number, state: State): void {
    const { unit, nearAwaits, wordAwaits, isGrid } = this.follow;
    const { near, words } = this.times;
    const step = i * unit + (rank % unit);
    let at = state.ready[node]!;
    if (nearAwaits[step]! > 0) at = Math.max(at, state.near[node]! + near[step]!);
    if (wordAwaits[step]! > 0) at = Math.max(at, state.word[node]! + words[step]!);
    const { grid } = this.cluster.machine;
    state.events.push(at + (isGrid[step] === 1 ? grid.value : 0), this.number(rank, i, c, BEGIN));
  }

  /**
   * Messages join the queue of a rank's NIC.
   * @param step whose part of the flows it is
   * @param phase the sender's, of puts; of what is loaded, the reader's
   */
  private send(rank: number, flows: Flows, step: number, phase: number, chunk: number, at: number, state: State): void {
    const [from, end] = [flows.at[step]!, flows.at[step + 1]!];
    if (from === end) return;
    const nic = state.fabric.nicOf[rank]!;
    const queue = state.queues[nic]!;
    queue.push({ rank, flows, next: from, end, phase, chunk, at, id: state.messages - from });
    state.messages += end - from;
    if (queue.length === 1) this.post(nic, queue[0]!, state);
  }

  /** The next message of a NIC's queue gets the time at which it begins to leave. */
  private post(nic: number, { rank, flows, at, id, next }: Sends, state: State): void {
    const messages = this.followed * this.count * state.chunks * KINDS;
    state.events.push(state.fabric.post(rank, flows.bytes[next]! * state.scale, at), messages + id + next, nic);
  }

  /** A message leaves its NIC: from here on it is known when it is there. */
  private leave(nic: number, time: number, state: State): void {
    const { unit, puts, isAwaited } = this.follow;
    const queue = state.queues[nic]!;
    const sends = queue[0]!;
    const { rank, flows, phase, chunk } = sends;
    const k = sends.next++;
    if (sends.next === sends.end) queue.shift();
    if (queue.length > 0) this.post(nic, queue[0]!, state);
    const to = this.peer(flows.ranks[k]!, rank - (rank % unit));
    const there = state.fabric.fly(rank, to, flows.bytes[k]! * state.scale, time);
    const target = to % this.followed;
    if (flows !== puts) return this.close(target, phase, chunk, there, state);
    if (state.phases[phase]! < there) state.phases[phase] = there;
    if (isAwaited[k] === 1) this.hear(target, phase + 1, chunk, there, state.ready, state);
  }
}
