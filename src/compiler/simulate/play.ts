/**
 * Plays a schedule on a cluster, event by event: a rank begins a phase when the flags it waits for have arrived, its bytes then
 * queue at the links they need, and when all is where it belongs it tells those who wait.
 *
 * Inside a domain the rules and rates are those of the cost model (`machine/cost.ts`), whose numbers are fitted to measured times.
 * Between domains a store is a put with a signal behind it, and what is loaded is put by its owner as soon as that has come to the
 * point of synchronisation before. A tensor in several chunks is as many independent passes through the phases that share the
 * links: while one chunk is between domains, the next is inside one. Where all blocks of a rank meet, chunks wait for each other.
 */
import type { Cluster } from "../machine/cluster.js";
import { Fabric, type LinkUse } from "./fabric.js";
import { type Phase, type Schedule, shifted } from "./schedule.js";

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

/** Binary heap of events: node numbers by time, then by number, so that a run is the same each time. */
class Events {
  private readonly times: number[] = [];
  private readonly nodes: number[] = [];

  get size(): number {
    return this.nodes.length;
  }

  push(time: number, node: number): void {
    let i = this.nodes.length;
    this.times.push(time);
    this.nodes.push(node);
    while (i > 0) {
      const up = (i - 1) >> 1;
      if (!this.isBefore(i, up)) break;
      this.swap(i, up);
      i = up;
    }
  }

  pop(): { time: number; node: number } {
    const first = { time: this.times[0]!, node: this.nodes[0]! };
    const last = this.nodes.length - 1;
    this.swap(0, last);
    this.times.pop();
    this.nodes.pop();
    let i = 0;
    for (;;) {
      let least = i;
      for (const down of [2 * i + 1, 2 * i + 2]) if (down < last && this.isBefore(down, least)) least = down;
      if (least === i) return first;
      this.swap(i, least);
      i = least;
    }
  }

  private isBefore(i: number, j: number): boolean {
    return this.times[i]! < this.times[j]! || (this.times[i] === this.times[j] && this.nodes[i]! < this.nodes[j]!);
  }

  private swap(i: number, j: number): void {
    [this.times[i], this.times[j]] = [this.times[j]!, this.times[i]!];
    [this.nodes[i], this.nodes[j]] = [this.nodes[j]!, this.nodes[i]!];
  }
}

/** A rank's phase, with what of it crosses domains. Ranks a whole number of domains further on do the same among ranks as far on. */
interface Step {
  readonly phase: Phase;
  readonly awaits: Int32Array;
  readonly loads: Int32Array;
  readonly stores: Int32Array;
  /** Of other domains: 1. */
  readonly farAwaits: Uint8Array;
  readonly farLoads: Uint8Array;
  readonly farStores: Uint8Array;
  /** Places in `stores` of those of other domains, by rank: when a put has arrived is kept at the same place. */
  readonly placeOf: ReadonlyMap<number, number>;
  /** Ranks of other domains among `loads`: their flags come with the bytes. */
  readonly sources: ReadonlySet<number>;
  /** How many it waits for. */
  readonly needed: number;
  /** Ranks that wait for the end of this phase, by the rank as its own phases name it. */
  readonly waiting: Int32Array;
}

/** What is known while a size is played, by the number of a rank's phase and chunk. */
interface State {
  readonly chunks: number;
  /** When a rank ended a phase, and when it has told others so. */
  readonly ended: Float64Array;
  readonly told: Float64Array;
  /** When puts have arrived, at the places of `stores`. */
  readonly arrivals: Map<number, Float64Array>;
}

/** A schedule with the ranks of a cluster that have to be followed, ready to be played at any size. */
export class Player {
  /** Ranks whose events are followed. */
  readonly followed: number;
  /** Phases of each rank. */
  readonly count: number;
  private readonly unit: number;
  private readonly steps: readonly (readonly Step[])[];

  constructor(
    private readonly schedule: Schedule,
    private readonly cluster: Cluster,
  ) {
    const { world, period, ranks } = schedule;
    const { ranksPerDomain } = cluster;
    this.followed = followedOf(schedule, cluster);
    this.count = ranks[0]!.length;
    const isEven = world % ranksPerDomain === 0 && ranksPerDomain % period === 0;
    this.unit = isEven ? Math.min(ranksPerDomain, this.followed) : this.followed;
    const domainOf = (r: number): number => Math.floor(r / ranksPerDomain);
    const bare = Array.from({ length: this.unit }, (_, rank) =>
      ranks[rank % period]!.map((phase) => {
        const shift = rank - (rank % period);
        const at = (list: Int32Array): Int32Array => shifted(list, shift, world);
        const [awaits, loads, stores] = [at(phase.awaits), at(phase.loads.ranks), at(phase.stores.ranks)];
        const far = (list: Int32Array): Uint8Array => Uint8Array.from(list, (p) => +(domainOf(p) !== domainOf(rank)));
        const [farAwaits, farLoads, farStores] = [far(awaits), far(loads), far(stores)];
        const placeOf = new Map<number, number>();
        stores.forEach((p, k) => void (farStores[k] === 1 && placeOf.set(p, k)));
        const sources = new Set(loads.filter((_p, k) => farLoads[k] === 1));
        return { phase, awaits, loads, stores, farAwaits, farLoads, farStores, placeOf, sources };
      }),
    );
    const waiting = bare.map((own) => own.map((): number[] => []));
    const needed = bare.map((own, rank) =>
      own.map(({ awaits, sources }, i) => {
        if (i === 0) return 0;
        const all = sources.size === 0 ? awaits : new Set([...awaits, ...sources]);
        for (const p of all) {
          const home = p % this.unit;
          waiting[home]![i - 1]!.push((rank + home - p + world) % world);
        }
        return sources.size === 0 ? awaits.length : (all as ReadonlySet<number>).size;
      }),
    );
    this.steps = bare.map((own, rank) =>
      own.map((step, i): Step => ({ ...step, needed: needed[rank]![i]!, waiting: Int32Array.from(waiting[rank]![i]!) })),
    );
  }

  /** Times of a tensor of so many bytes, in one pass or several. */
  play(bytes: number, chunks = 1): Simulation {
    const { schedule, cluster, followed, count, steps, unit } = this;
    const { world } = schedule;
    const launch = cluster.machine.launch.value;
    const fabric = new Fabric(cluster, world, followed);
    const scale = bytes / schedule.bytes / chunks;
    /** Computation of a rank's chunks goes one after the other. */
    const working = new Float64Array(followed);
    const nodes = followed * count * chunks;
    const state: State = {
      chunks,
      ended: new Float64Array(nodes),
      told: new Float64Array(nodes),
      arrivals: new Map(),
    };
    const left = new Int32Array(nodes);
    const phases = new Float64Array(count);
    const events = new Events();
    for (let rank = 0; rank < followed; rank++)
      for (let i = 0; i < count; i++) {
        const { needed, phase } = steps[rank % unit]![i]!;
        const waits = i === 0 ? 0 : (needed + 1) * (phase.isGrid ? chunks : 1);
        for (let c = 0; c < chunks; c++) {
          const node = (rank * count + i) * chunks + c;
          left[node] = waits;
          if (waits === 0) events.push(launch, node);
        }
      }
    const release = (rank: number, i: number, c: number): void => {
      const { isGrid } = steps[rank % unit]![i]!.phase;
      for (let k = isGrid ? 0 : c; k < (isGrid ? chunks : c + 1); k++) {
        const node = (rank * count + i) * chunks + k;
        if (--left[node]! === 0) events.push(this.readyAt(rank, i, k, state), node);
      }
    };
    let played = 0;
    while (events.size > 0) {
      const { time, node } = events.pop();
      played++;
      const c = node % chunks;
      const i = Math.floor(node / chunks) % count;
      const rank = Math.floor(node / chunks / count);
      const done = this.begin(rank, i, c, { time, node, scale, state, fabric, working });
      phases[i] = Math.max(phases[i]!, done);
      if (i + 1 === count) continue;
      release(rank, i + 1, c);
      const shift = rank - (rank % unit);
      for (const other of steps[rank % unit]![i]!.waiting) release(((other + shift) % world) % followed, i + 1, c);
    }
    if (played < nodes) throw new RangeError("ranks wait for each other in a circle");
    const seconds = phases.reduce((a, b) => Math.max(a, b), 0);
    return { bytes, chunks, seconds, phases: [...phases], links: fabric.uses(), followed };
  }

  /** A rank begins a phase: all it does is put on the links. @returns when all of it is where it belongs */
  private begin(
    rank: number,
    i: number,
    c: number,
    { time, node, scale, state, fabric, working }: { time: number; node: number; scale: number; state: State; fabric: Fabric; working: Float64Array }, // prettier-ignore
  ): number {
    const { followed, count, steps, unit, schedule } = this;
    const m = this.cluster.machine;
    const { world } = schedule;
    const { phase, loads, stores, farLoads, farStores, placeOf } = steps[rank % unit]![i]!;
    const shift = rank - (rank % unit);
    let covered = time;
    let first = phase.ownLoaded > 0 ? m.ownLoad.value : 0;
    let [pulled, pushed] = [0, 0];
    for (let k = 0; k < loads.length; k++) {
      const p = (loads[k]! + shift) % world;
      const n = phase.loads.bytes[k]! * scale;
      if (farLoads[k] === 1) {
        // Its owner has put it on the way already.
        const sent = i === 0 ? time : state.told[((p % followed) * count + i - 1) * state.chunks + c]!;
        covered = Math.max(covered, fabric.message(p, rank, n, sent));
      } else {
        pulled += n;
        covered = Math.max(covered, fabric.port("NVLink out", p, n, m.serve.value, time));
      }
    }
    if (pulled > 0) {
      first = Math.max(first, m.peerLoad.value);
      covered = Math.max(covered, fabric.port("NVLink in", rank, pulled, m.pull.value, time));
    }
    for (let k = 0; k < stores.length; k++) {
      if (farStores[k] === 1) continue;
      const n = phase.stores.bytes[k]! * scale;
      pushed += n;
      covered = Math.max(covered, fabric.port("NVLink in", (stores[k]! + shift) % world, n, m.push.value, time));
    }
    if (pushed > 0) covered = Math.max(covered, fabric.port("NVLink out", rank, pushed, m.push.value, time));
    const own = ((phase.ownLoaded + phase.ownStored) * scale + pushed) / m.memory.value;
    const work = Math.max(own, (phase.scalarOps * scale) / m.scalar.value);
    if (work > 0) {
      working[rank] = Math.max(time, working[rank]!) + work;
      covered = Math.max(covered, working[rank]!);
    }
    const end = covered + first;
    let last = end;
    if (placeOf.size > 0) {
      // Puts leave while the phase goes on, but not before its first bytes are there.
      const arrived = new Float64Array(stores.length);
      for (let k = 0; k < stores.length; k++) {
        if (farStores[k] !== 1) continue;
        arrived[k] = fabric.message(rank, (stores[k]! + shift) % world, phase.stores.bytes[k]! * scale, time + first);
        last = Math.max(last, arrived[k]!);
      }
      state.arrivals.set(node, arrived);
    }
    state.ended[node] = end;
    state.told[node] = end + (pushed > 0 ? m.drain.value : phase.ownStored > 0 ? m.ownDrain.value : 0);
    return last;
  }

  /** When a rank may begin a phase: all flags it waits for have been seen. */
  private readyAt(rank: number, i: number, chunk: number, { chunks, ended, told, arrivals }: State): number {
    const { followed, count, steps, unit, cluster, schedule } = this;
    const { world } = schedule;
    const m = cluster.machine;
    const { awaits, farAwaits, sources, phase } = steps[rank % unit]![i]!;
    const shift = rank - (rank % unit);
    let ready = 0;
    for (let c = phase.isGrid ? 0 : chunk; c < (phase.isGrid ? chunks : chunk + 1); c++) {
      ready = Math.max(ready, ended[(rank * count + i - 1) * chunks + c]!);
      let [near, last] = [0, 0];
      // Signals without bytes from other domains.
      let [words, word] = [0, 0];
      for (let k = 0; k < awaits.length; k++) {
        const p = (awaits[k]! + shift) % world;
        const home = p % followed;
        const node = (home * count + i - 1) * chunks + c;
        if (farAwaits[k] === 0) {
          near++;
          last = Math.max(last, told[node]! + m.flag.value);
          continue;
        }
        // What is loaded from there comes with its flag, what was put has its signal behind it.
        if (sources.size > 0 && sources.has(awaits[k]!)) continue;
        const { placeOf } = steps[home % unit]![i - 1]!;
        const place = placeOf.size === 0 ? undefined : placeOf.get((rank + (home % unit) - p + world) % world);
        if (place !== undefined) ready = Math.max(ready, arrivals.get(node)![place]!);
        else [words, word] = [words + 1, Math.max(word, told[node]!)];
      }
      if (near > 0) ready = Math.max(ready, last + m.flagRank.value * (near - 1));
      if (words > 0) ready = Math.max(ready, word + this.wordTime(words));
    }
    return ready + (phase.isGrid ? m.grid.value : 0);
  }

  /**
   * Until signals of so many ranks of other domains are seen, from the last one's start on. A rank that waits for so many tells as
   * many: one after the other, or, where that is faster, in as many rounds as it takes to double who knows.
   */
  private wordTime(ranks: number): number {
    const { latency, switchLatency, messageTime } = this.cluster;
    const once = latency.value + 2 * switchLatency.value;
    return Math.min(once + (ranks - 1) * messageTime.value, once * Math.ceil(Math.log2(ranks + 1)));
  }
}

/** Ranks to follow so that all others are like them: a pod's, where the program and the switches repeat; else all. */
function followedOf({ world, period }: Schedule, { ranksPerDomain, domainsPerPod }: Cluster): number {
  const pod = ranksPerDomain * domainsPerPod;
  for (const unit of world <= pod ? [ranksPerDomain, world] : [pod, world])
    if (world % unit === 0 && unit % period === 0) return unit;
  return world;
}
