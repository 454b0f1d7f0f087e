/**
 * The least time that a schedule can take on a cluster, without its being played: no link does its part faster than if it never
 * waits, and no rank is further than if nothing were ever in its way. It takes a small part of the time of a play, and tells which
 * programs cannot be the fastest.
 */
import type { Cluster } from "../machine/cluster.js";
import { Fabric } from "./fabric.js";
import type { Flow, Followed, Step } from "./followed.js";

export class Bound {
  /** Seconds of the way through all phases, in which bytes take no time. */
  private readonly way: number;
  /** Bytes of each message of the first `unit` ranks, NIC by NIC that sends them, at the schedule's own size. */
  private readonly sent: number[][] = [];
  /** Seconds that the busiest port, or NIC that receives, needs for a tensor of the schedule's own size. */
  private readonly ports: number;
  private readonly fabric: Fabric;

  constructor(
    private readonly cluster: Cluster,
    world: number,
    private readonly follow: Followed,
  ) {
    const { unit, followed, steps, firstPulls } = follow;
    const { machine, nicRate } = cluster;
    this.fabric = new Fabric(cluster, world, followed);
    this.way = this.wayThrough();
    const { nicOf, nics } = this.fabric;
    const zeros = (): Float64Array => new Float64Array(Math.max(unit, nics));
    const [portOut, portIn, nicIn] = [zeros(), zeros(), zeros()];
    const far = (nic: number, { ranks, bytes }: Flow): void => {
      if (ranks.length > 0) (this.sent[nic] ??= []).push(...bytes);
      ranks.forEach((p, k) => (nicIn[nicOf[p % unit]!]! += bytes[k]! / nicRate.value));
    };
    for (let rank = 0; rank < unit; rank++) {
      const nic = nicOf[rank]!;
      far(nic, firstPulls[rank]!);
      for (const { puts, pulls, nearLoads, nearStores } of steps[rank]!) {
        far(nic, puts);
        far(nic, pulls);
        nearLoads.ranks.forEach((p, k) => {
          portOut[p % unit]! += nearLoads.bytes[k]! / machine.serve.value;
          portIn[rank]! += nearLoads.bytes[k]! / machine.pull.value;
        });
        nearStores.ranks.forEach((p, k) => {
          portOut[rank]! += nearStores.bytes[k]! / machine.push.value;
          portIn[p % unit]! += nearStores.bytes[k]! / machine.push.value;
        });
      }
    }
    this.ports = [portOut, portIn, nicIn].flatMap((list) => [...list]).reduce((a, b) => Math.max(a, b), 0);
  }

  /**
   * Seconds below which no play ends.
   * @param scale bytes over those of the schedule
   * @param chunks passes that the tensor is divided into: all of their messages take their time
   */
  seconds(scale: number, chunks: number): number {
    let sending = 0;
    this.sent.forEach((messages) => {
      let busy = 0;
      for (const bytes of messages) busy += chunks * this.fabric.sending((bytes * scale) / chunks);
      sending = Math.max(sending, busy + this.cluster.latency.value);
    });
    // Sums are in another order than those of a play, which takes no longer than this where nobody waits.
    return Math.max(this.way, this.cluster.machine.launch.value + Math.max(sending, this.ports * scale)) * (1 - 1e-9);
  }

  /** The last end of a phase, where each rank goes on as soon as it has heard of all that it waits for. */
  private wayThrough(): number {
    const { unit, steps, firstPulls } = this.follow;
    const { machine: m, latency, messageTime } = this.cluster;
    const hop = messageTime.value + latency.value;
    const count = steps[0]!.length;
    const zeros = (): Float64Array => new Float64Array(unit);
    const all = [...zeros().keys()];
    const raise = (list: Float64Array, rank: number, time: number): void => {
      if (list[rank % unit]! < time) list[rank % unit] = time;
    };
    let begins = zeros().fill(m.launch.value);
    /** When what is loaded from others has come. */
    let loaded = zeros();
    for (const { ranks } of firstPulls) for (const reader of ranks) loaded[reader % unit] = m.launch.value + hop;
    let last = 0;
    for (let i = 0; i < count; i++) {
      const [after, pulled, near, words] = [zeros(), zeros(), zeros(), zeros()];
      for (const rank of all) {
        const step = steps[rank]![i]!;
        const end = Math.max(begins[rank]! + firstOf(step, m), loaded[rank]!);
        last = Math.max(last, end);
        const told = end + (step.nearStores.ranks.length > 0 ? m.drain.value : step.phase.ownStored > 0 ? m.ownDrain.value : 0); // prettier-ignore
        const there = begins[rank]! + firstOf(step, m) + hop;
        if (step.puts.ranks.length > 0) last = Math.max(last, there);
        raise(after, rank, end);
        for (const p of step.near) raise(near, p, told + m.flag.value);
        for (const p of step.words) raise(words, p, told);
        for (const p of step.pulls.ranks) raise(pulled, p, told + hop);
        for (let k = 0; k < step.isAwaited.length; k++)
          if (step.isAwaited[k] === 1) raise(after, step.puts.ranks[k]!, there);
      }
      if (i + 1 < count)
        for (const rank of all) {
          const { phase, nearAwaits, wordAwaits } = steps[rank]![i + 1]!;
          let at = after[rank]!;
          if (nearAwaits > 0) at = Math.max(at, near[rank]! + m.flagRank.value * (nearAwaits - 1));
          if (wordAwaits > 0) at = Math.max(at, words[rank]! + wordTime(wordAwaits, this.cluster));
          after[rank] = at + (phase.isGrid ? m.grid.value : 0);
        }
      [begins, loaded] = [after, pulled];
    }
    return last;
  }
}

/** Seconds until the first bytes of a phase are there. */
export function firstOf({ phase, nearLoads }: Step, { ownLoad, peerLoad }: Cluster["machine"]): number {
  return Math.max(phase.ownLoaded > 0 ? ownLoad.value : 0, nearLoads.ranks.length > 0 ? peerLoad.value : 0);
}

/**
 * Until signals of so many ranks of other domains are seen, from the last one's start on. A rank that waits for so many tells as
 * many: one after the other, or, where that is faster, in as many rounds as it takes to double who knows.
 */
export function wordTime(ranks: number, { latency, switchLatency, messageTime }: Cluster): number {
  const once = latency.value + 2 * switchLatency.value;
  return Math.min(once + (ranks - 1) * messageTime.value, once * Math.ceil(Math.log2(ranks + 1)));
}
