/**
 * How long a launch takes on a machine, from what its ranks do (`work.ts`) and the machine's numbers alone. One model: `explain`
 * prints it, plans are made by it, `tune` fits its numbers.
 *
 * Ranks come to the same meetings, in between each has a stretch of work. A stretch takes as long as the longest of
 *   - its path: round trips to memory, one after the other;
 *   - the first of them, and then what passes the busiest port, memory, or its blocks' share of either, which overlap. Where tiles of a
 *     product leave one by one, the first has been multiplied before the wire is busy, and the last one's way begins when nothing else is left to do.
 * A flag is seen some time after what was stored before it has arrived; a rank goes on when it has seen all it waits for. Packets
 * are taken as they come: whoever has nothing else to do takes the first while the last are still being sent.
 */
import type { Kernel } from "../ir/module.js";
import type { Copy, CopyEnd } from "../manifest-steps.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import type { Machine, Sourced } from "./machines.js";
import { ranksOfDomain, sampleDomains } from "./reach.js";
import type { RankWork, Stretch } from "./stretches.js";
import type { Trips } from "./trips.js";
import { gridOf } from "./rows.js";
import { workOfRank } from "./work.js";

/** Seconds. Its terms are those of the rank that is done last. */
export interface Prediction {
  readonly total: number;
  /** Launch, flags, and round trips to memory that nothing else covers. */
  readonly latency: number;
  /** What the terms below would take alone. */
  readonly wire: number;
  readonly memory: number;
  readonly arithmetic: number;
  /** Blocks of the launch. */
  readonly blocks: number;
}

/** The time of a launch: that of the domain that is done last, of those that stand for all. @param limit most blocks, where fewer than the kernel's own */
export function predict(kernel: Kernel, dims: DimValues, machine: Machine, limit = Infinity): Prediction {
  const grid = gridOf(kernel, dims, limit);
  const { world, ranksPerDomain = world } = kernel;
  const launched = sampleDomains(Math.ceil(world / ranksPerDomain)).map((domain) => {
    const ranks = ranksOfDomain(domain, world, { ranksPerDomain });
    return predictWork(ranks.map((rank) => inDomain(workOfRank(kernel, rank, dims, grid), ranks)), machine); // prettier-ignore
  });
  const last = launched.reduce((a, b) => (b.total > a.total ? b : a));
  const sooner = kernel.early === true ? machine.earlyLaunch.value : 0;
  return { ...last, total: last.total - sooner, latency: last.latency - sooner };
}

/** The work as ranks of one domain count each other: no launch touches another. */
function inDomain(work: RankWork, ranks: readonly number[]): RankWork {
  const first = ranks[0]!;
  const own = <T>(ofRanks: readonly T[]): readonly T[] => ofRanks.slice(first, first + ranks.length);
  const local = (peers: readonly number[]): readonly number[] => peers.map((peer) => peer - first);
  return {
    ...work,
    stretches: work.stretches.map((s) => ({ ...s, loaded: own(s.loaded), stored: own(s.stored) })),
    meetings: work.meetings.map((m) => ({ ...m, tells: local(m.tells), awaits: m.awaits && local(m.awaits) })),
  };
}

/** What an operation on one rank's memory does, whoever wrote the kernel. */
interface Operation {
  readonly loaded: number;
  readonly stored: number;
  /** Operations on elements, counted as additions, and those of matrix products in 16 bits or fewer. */
  readonly scalarOps: number;
  readonly tensorOps: number;
  /** Those by which elements of products leave accumulators. */
  readonly accumulatorOps?: number;
}

/** Seconds of an operation as a kernel of its own that fills the machine. */
export function predictOperation({ loaded, stored, ...ops }: Operation, machine: Machine): number {
  const stretch: Stretch = { loaded: [loaded], stored: [stored], trips: { peer: 0, own: 1, packets: 0 }, ...ops };
  return predictWork([{ stretches: [stretch], meetings: [], grid: machine.multiprocessors }], machine).total;
}

/**
 * Seconds of exchanges one after the other, in one kernel that fills the machine: all ranks meet, and each loads so many bytes from
 * every peer. @param exchanges the bytes of one rank's part, for each exchange
 */
export function predictExchanges(exchanges: readonly number[], ranks: number, machine: Machine): number {
  const all = Array.from({ length: ranks }, (_, r) => r);
  const works = all.map((rank): RankWork => {
    const peers = all.filter((p) => p !== rank);
    const from = (bytes: number): number[] => all.map((p) => (p === rank ? 0 : bytes));
    const nothing: Stretch = {
      loaded: from(0),
      stored: from(0),
      trips: { peer: 0, own: 0, packets: 0 },
      scalarOps: 0,
      tensorOps: 0,
    };
    const stretches = exchanges.map((bytes): Stretch => {
      const stored = all.map((p) => (p === rank ? bytes * peers.length : 0));
      return { ...nothing, loaded: from(bytes), stored, trips: { peer: 1, own: 0, packets: 0 } };
    });
    const meeting = { tells: peers, awaits: peers, isGrid: false };
    return {
      stretches: [nothing, ...stretches, nothing],
      meetings: Array.from({ length: exchanges.length + 1 }, () => meeting),
      grid: machine.multiprocessors,
    };
  });
  return predictWork(works, machine).total;
}

type Terms = Record<"wire" | "memory" | "arithmetic", number>;

/** The time of a launch whose ranks do this. */
export function predictWork(ranks: readonly RankWork[], machine: Machine): Prediction {
  const time = ranks.map(() => machine.launch.value);
  const terms = ranks.map((): Terms => ({ wire: 0, memory: 0, arithmetic: 0 }));
  const overlapped = ranks.map(() => 0);
  /** What a flag waits for until the stores before it have arrived. */
  const pending = ranks.map(() => 0);
  const told = ranks.map(() => ranks.map(() => 0));
  /** When the first packets of a stretch leave, and before when the stretch that takes the last ones does not end. */
  const sending = ranks.map(() => 0);
  const notBefore = ranks.map(() => 0);
  const hasMet = ranks.map(() => false);
  const count = Math.max(...ranks.map((r) => r.stretches.length));
  for (let i = 0; i < count; i++) {
    const stretches = ranks.map((r) => r.stretches[i]);
    const ports = portsOf(stretches, machine);
    stretches.forEach((stretch, rank) => {
      if (stretch === undefined) return;
      const one = stretchTerms(stretch, rank, ports, ranks[rank]!.grid, machine);
      const first = firstTrip(stretch.trips, machine);
      const covered = coveredTime(one, stretch, ranks.length);
      sending[rank] = time[rank]! + first;
      time[rank] = Math.max(time[rank]! + Math.max(pathOf(stretch.trips, machine), first + covered), notBefore[rank]!);
      notBefore[rank] = 0;
      overlapped[rank]! += covered;
      for (const key of ["wire", "memory", "arithmetic"] as const) terms[rank]![key] += one[key];
      stretch.stored.forEach((bytes, owner) => {
        const { drain, ownDrain } = machine;
        // Packets arrive on their own.
        if (bytes > 0 && ranks[rank]!.meetings[i]?.awaits !== null)
          pending[rank] = Math.max(pending[rank]!, (owner === rank ? ownDrain : drain).value);
      });
    });
    ranks.forEach(({ meetings }, rank) => {
      const tells = meetings[i]?.tells ?? [];
      if (tells.length === 0) return;
      time[rank]! += pending[rank]!;
      pending[rank] = 0;
      // Whoever is met for the first time may have begun later.
      const late = hasMet[rank]! ? 0 : machine.skew.value;
      hasMet[rank] = true;
      sending[rank] = Math.min(time[rank]!, sending[rank]!) + late;
      for (const peer of tells) told[rank]![peer] = time[rank]! + late;
    });
    const seen = ranks.map(({ meetings, grid }, rank) => {
      const meeting = meetings[i];
      if (meeting === undefined) return 0;
      const { isGrid } = meeting;
      if (meeting.awaits === null) {
        const senders = ranks.map((_, p) => p).filter((p) => ranks[p]!.meetings[i]?.tells.includes(rank) === true);
        if (senders.length === 0) return time[rank]!;
        const way = machine.packet.value + machine.packetSpread.value * Math.log2(grid);
        notBefore[rank] = Math.max(...senders.map((p) => told[p]![rank]!)) + way + machine.packetLoad.value;
        return Math.max(time[rank]!, ...senders.map((p) => sending[p]! + way));
      }
      const { awaits } = meeting;
      const fence = meeting.isOfLaunches === true ? machine.release.value : 0;
      const flag = Math.max(0, machine.flag.value - fence);
      const flags = flag + machine.flagRank.value * Math.max(0, awaits.length - 1);
      const last = Math.max(0, ...awaits.map((peer) => told[peer]![rank]! + flags));
      return Math.max(last, time[rank]!) + (isGrid ? machine.grid.value : 0);
    });
    seen.forEach((t, rank) => (time[rank] = Math.max(time[rank]!, t)));
  }
  const total = Math.max(...time);
  const last = time.indexOf(total);
  return { total, ...terms[last]!, latency: total - overlapped[last]!, blocks: ranks[last]!.grid };
}

/**
 * What overlaps in a stretch. What leaves tile by tile begins after the first, and the last one's goes when nothing else is done, but where a rank's own tiles come last:
 * these take their time as if the first of them waited for the wire. Each waits for what others send of it alone; but movers and consumers share a multiprocessor, and
 * 69 of 72 times of sums are so within 15 % (2×H200, 2026-11-30), 65 where own tiles were taken to go on beside the wire.
 */
function coveredTime(
  terms: ReturnType<typeof stretchTerms>,
  { rounds = 0, completes }: Stretch,
  ranks: number,
): number {
  const { wire, apart, memory, arithmetic, share } = terms;
  const busy = Math.max(memory, arithmetic, share);
  const together = Math.max(wire + apart, busy);
  if (rounds === 0) return together;
  const each = busy / rounds;
  if (completes === true) return Math.max(together, wire + each * Math.max(1, rounds / ranks));
  return Math.max(together, busy + wire / rounds, each + wire);
}

function firstTrip({ peer, own, packets }: Trips, { peerLoad, ownLoad, packetLoad }: Machine): number {
  if (peer > 0) return peerLoad.value;
  if (own > 0) return ownLoad.value;
  return packets > 0 ? packetLoad.value : 0;
}

/** Trips one after the other: the first of a kind finds no address translated, and takes longer than those after it. */
function pathOf({ peer, own, packets }: Trips, m: Machine): number {
  const chain = (trips: number, first: Sourced, next: Sourced): number =>
    trips <= 1 ? trips * first.value : first.value + (trips - 1) * next.value;
  return chain(peer, m.peerLoad, m.peerNext) + chain(own, m.ownLoad, m.ownNext) + packets * m.packetLoad.value;
}

/** Seconds that each rank's port is busy in either direction, and its memory, with what all ranks do in one stretch. */
interface Ports {
  readonly sends: number[];
  readonly receives: number[];
  readonly memory: number[];
}

function portsOf(stretches: readonly (Stretch | undefined)[], m: Machine): Ports {
  const zeros = (): number[] => stretches.map(() => 0);
  const touched = zeros();
  const ports = { sends: zeros(), receives: zeros() };
  stretches.forEach((stretch, rank) => {
    if (stretch === undefined) return;
    const { loaded, stored } = stretch;
    // Stores in turns to several peers reach less than those to one.
    const isOne = stored.filter((bytes, peer) => bytes > 0 && peer !== rank).length <= 1;
    const rate = (isOne ? m.pairPush : m.push).value;
    for (let peer = 0; peer < stretches.length; peer++) {
      touched[peer]! += loaded[peer]! + stored[peer]!;
      if (peer === rank) continue;
      ports.sends[rank]! += stored[peer]! / rate;
      ports.receives[peer]! += stored[peer]! / rate;
      ports.sends[peer]! += loaded[peer]! / m.serve.value;
      ports.receives[rank]! += loaded[peer]! / m.pull.value;
    }
  });
  return { ...ports, memory: touched.map((bytes) => memoryTime(bytes, m)) };
}

/** Seconds that a GPU's memory takes for what a stretch touches of it: what fits the second-level cache stays there. */
function memoryTime(bytes: number, m: Machine): number {
  const cached = Math.min(bytes, m.cachedBytes.value);
  return cached / m.cachedMemory.value + (bytes - cached) / m.memory.value;
}

/**
 * What it takes, besides its bytes, that movers have sent a part of a shard: stores drain, and each block says so. The last block, which
 * sends nothing itself, tells meanwhile. With twice as much, 2048 to 8192 rows of 8192×8192 on 4×H100 are 5 to 15 % too long (2026-11-27).
 */
function tellingTime({ drain, grid, flag }: Machine): number {
  return drain.value + grid.value + flag.value;
}

/** `share`: what the blocks' part of wire, memory and arithmetic allows; `apart`: while the wire rests. */
function stretchTerms(
  s: Stretch,
  rank: number,
  ports: Ports,
  grid: number,
  m: Machine,
): Terms & { share: number; apart: number } {
  let wire = 0;
  const total = { loaded: 0, stored: 0 };
  s.loaded.forEach((bytes, peer) => {
    if (peer === rank) return;
    const pushed = s.stored[peer]!;
    // Whoever loads waits for the port that serves, whoever stores for the one that takes; who does neither, for none.
    if (bytes > 0) wire = Math.max(wire, ports.receives[rank]!, ports.sends[peer]!);
    if (pushed > 0) wire = Math.max(wire, ports.sends[rank]!, ports.receives[peer]!);
    total.loaded += bytes;
    total.stored += pushed;
  });
  const { sent = 0 } = s;
  // What sends takes from what multiplies in the same blocks.
  const drag = sent > 0 ? m.moverDrag.value * wire : 0;
  wire += sent * tellingTime(m);
  const { tiles = { all: 0, loaded: 0 } } = s;
  const own = s.loaded[rank]! - tiles.loaded + s.stored[rank]! + total.stored;
  const cache = tiles.all / m.cache.value;
  const working = Math.min(grid, m.multiprocessors);
  const products = s.tensorOps / m.tensor.value + (s.accumulatorOps ?? 0) / m.accumulator.value;
  const arithmetic = s.scalarOps / m.scalar.value + products + drag;
  const share = Math.max(
    total.loaded / m.blockPull.value + total.stored / m.blockPush.value,
    own / m.blockMemory.value,
    cache * m.multiprocessors,
    arithmetic * m.multiprocessors,
  );
  // Of what is in flight together once, the path has the time.
  const rounds = Math.max(1, s.trips.peer + s.trips.own + s.trips.packets);
  return {
    wire,
    memory: Math.max(ports.memory[rank]!, cache),
    arithmetic,
    // What the cache holds is on its way to memory while the wire goes on.
    apart: Math.max(0, (s.apart ?? 0) - m.cachedBytes.value) / m.memory.value,
    share: (share / working) * (1 - 1 / rounds),
  };
}

/**
 * The time of copies by the engines: a start, and then what the busiest port or memory takes, or, where they go one after the other, the longest list.
 * @param copies of each rank @param isInOrder whether each begins when the one before it has ended @param bytesOf of an element of what a copy begins or ends in
 */
export function predictCopies(
  copies: readonly (readonly Copy[])[],
  isInOrder: boolean,
  bytesOf: (end: CopyEnd) => number,
  dims: DimValues,
  machine: Machine,
): Prediction {
  const none = (): number[] => copies.map(() => 0);
  const [sends, receives, port, own] = [none(), none(), none(), none()];
  for (const [rank, list] of copies.entries())
    for (const { rows, length, from, to } of list) {
      const rate = (from.rank === rank ? machine.copyEngine : machine.copyEnginePull).value;
      const moved = Math.max(0, evaluateExtent(rows, dims)) * Math.max(0, evaluateExtent(length, dims)) * bytesOf(from);
      if (from.rank === to.rank) own[to.rank]! += 2 * moved;
      else {
        sends[from.rank]! += moved / rate;
        receives[to.rank]! += moved / rate;
        for (const { rank: one } of [from, to]) port[one]! += moved / machine.copyEnginePort.value;
      }
    }
  const wire = Math.max(...sends, ...receives, ...port);
  const memory = Math.max(...own) / machine.memory.value;
  const waits = isInOrder ? machine.copyNext.value * Math.max(...copies.map((list) => list.length)) : 0;
  const latency = waits + (wire > 0 ? machine.copyStart : machine.ownCopyStart).value;
  return { total: latency + Math.max(wire, memory), latency, wire, memory, arithmetic: 0, blocks: 0 };
}
