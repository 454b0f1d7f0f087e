/**
 * The least time of the way through all phases, for a tensor in chunks: where each rank goes on as soon as it has heard of all that it
 * waits for, and shares its ports and its NIC with no other.
 *
 * Of each rank and phase two things are known: a time before which no chunk begins it, and one before which not all chunks have begun
 * it. The second follows from the last chunk of those that are waited for, and from the links: what all chunks have to move over a
 * link from some phase on takes its time from when the first of them began that phase.
 */
import type { Cluster } from "../machine/cluster.js";
import type { Flows } from "./flows.js";
import type { Followed } from "./followed.js";
import { bytesOf, type StepTimes } from "./step-times.js";

/** Times of ranks: of their first chunks, and of their last. */
interface Both {
  readonly first: Float64Array;
  readonly last: Float64Array;
}

/** What comes to NICs: since when at the earliest, and how much of the schedule's own size. */
interface Coming {
  readonly since: Float64Array;
  readonly bytes: Float64Array;
}

/** What ranks have heard while they go through a phase, of the next one. */
interface Heard {
  /** Ends, and signals behind puts; flags of the domain; words of others. */
  readonly ready: Both;
  readonly near: Both;
  readonly words: Both;
  /** What is loaded in the next phase. */
  readonly loaded: Both;
  readonly loads: Coming;
  readonly puts: Coming;
}

export class Pipeline {
  private readonly pulled: Float64Array;
  private readonly pushed: Float64Array;
  /** Seconds of each step's work on its own memory and on elements, at the schedule's own size. */
  private readonly work: Float64Array;

  constructor(
    private readonly cluster: Cluster,
    private readonly follow: Followed,
    private readonly times: StepTimes,
  ) {
    const { memory, scalar } = cluster.machine;
    const { nearLoads, nearStores, ownLoaded, ownStored, scalarOps } = follow;
    [this.pulled, this.pushed] = [bytesOf(nearLoads), bytesOf(nearStores)];
    this.work = scalarOps.map((ops, s) =>
      Math.max(ops / scalar.value, (ownLoaded[s]! + ownStored[s]! + this.pushed[s]!) / memory.value),
    );
  }

  /** Seconds below which no play ends. @param scale bytes over those of the schedule */
  seconds(scale: number, chunks: number): number {
    const { cluster, follow, times, pulled, pushed, work } = this;
    const { unit, count, puts, isAwaited, pulls, firstPulls, near, words, isGrid } = follow;
    const { machine: m, latency, nicRate, messageTime } = cluster;
    const part = scale / chunks;
    const sending = (bytes: number): number => Math.max((bytes * part) / nicRate.value, messageTime.value);
    const zeros = (): Float64Array => new Float64Array(unit);
    // When each link has done what it was given up to here, of all chunks.
    const [portIn, portOut, working, nicOut] = [zeros(), zeros(), zeros(), zeros()];
    const nicIn: Receiving = { done: zeros(), since: zeros() };
    let last = 0;
    /** Messages of a rank leave one after the other: all chunks' no earlier than they fit. */
    const send = (
      flows: Flows,
      s: number,
      rank: number,
      first: number,
      final: number,
      arrives: (k: number, to: number, left: number, first: number, final: number) => void,
    ): void => {
      // prettier-ignore
      const [from, to] = [flows.at[s]!, flows.at[s + 1]!];
      if (from === to) return;
      let all = 0;
      for (let k = from; k < to; k++) all += sending(flows.bytes[k]!);
      nicOut[rank] = Math.max(nicOut[rank]!, first) + chunks * all;
      const end = Math.max(final + all, nicOut[rank]!);
      let sent = 0;
      for (let k = from; k < to; k++) {
        const left = first + sent;
        sent += sending(flows.bytes[k]!);
        arrives(k, flows.ranks[k]! % unit, left, first + sent + latency.value, end - (all - sent) + latency.value);
      }
    };
    const begins: Both = { first: zeros().fill(m.launch.value), last: zeros().fill(m.launch.value) };
    let heard = nothing(unit);
    const load = (next: Heard, flows: Flows) => (k: number, to: number, left: number, first: number, final: number) => {
      raise(next.loaded, to, first, final);
      come(next.loads, to, left, flows.bytes[k]!);
    };
    for (let rank = 0; rank < unit; rank++)
      send(firstPulls, rank, rank, m.launch.value, m.launch.value, load(heard, firstPulls));
    for (let i = 0; i < count; i++) {
      const next = nothing(unit);
      for (let rank = 0; rank < unit; rank++) {
        const s = i * unit + rank;
        const [begin, all] = [begins.first[rank]!, begins.last[rank]!];
        const first = times.first[s]!;
        const [read, written] = [(pulled[s]! * part) / m.pull.value, (pushed[s]! * part) / m.push.value];
        const own = first + Math.max(read, written, work[s]! * part);
        const coming = served(nicIn, rank, heard.loads, scale / nicRate.value) + latency.value;
        const end = Math.max(begin + own, heard.loaded.first[rank]!);
        const final = Math.max(
          ...[all + own, heard.loaded.last[rank]!, heard.loads.bytes[rank]! > 0 ? coming : 0],
          ...[taken(portIn, rank, begin, chunks * read), taken(portOut, rank, begin, chunks * written)],
          taken(working, rank, begin, work[s]! * scale),
        );
        last = Math.max(last, final);
        raise(next.ready, rank, end, final);
        const [told, toldAll] = [end + times.drain[s]!, final + times.drain[s]!];
        send(puts, s, rank, begin + first, all + first, (k, to, left, there, thereAll) => {
          last = Math.max(last, thereAll);
          if (isAwaited[k] !== 1) return;
          raise(next.ready, to, there, thereAll);
          come(next.puts, to, left, puts.bytes[k]!);
        });
        if (i + 1 === count) continue;
        for (let k = near.at[s]!; k < near.at[s + 1]!; k++)
          raise(next.near, near.ranks[k]! % unit, told + m.flag.value, toldAll + m.flag.value);
        for (let k = words.at[s]!; k < words.at[s + 1]!; k++) raise(next.words, words.ranks[k]! % unit, told, toldAll);
        send(pulls, s, rank, told, toldAll, load(next, pulls));
      }
      if (i + 1 === count) break;
      for (let rank = 0; rank < unit; rank++) {
        const s = (i + 1) * unit + rank;
        const coming = served(nicIn, rank, next.puts, scale / nicRate.value) + latency.value;
        const at = (which: "first" | "last"): number =>
          Math.max(
            next.ready[which][rank]!,
            follow.nearAwaits[s]! > 0 ? next.near[which][rank]! + times.near[s]! : 0,
            follow.wordAwaits[s]! > 0 ? next.words[which][rank]! + times.words[s]! : 0,
          ) + (isGrid[s] === 1 ? m.grid.value : 0);
        const all = Math.max(at("last"), next.puts.bytes[rank]! > 0 ? coming : 0);
        // Where all blocks meet, chunks wait for each other.
        [begins.first[rank], begins.last[rank]] = [isGrid[s] === 1 && chunks > 1 ? all : at("first"), all];
      }
      heard = next;
    }
    return last;
  }
}

function nothing(unit: number): Heard {
  const both = (): Both => ({ first: new Float64Array(unit), last: new Float64Array(unit) });
  const coming = (): Coming => ({ since: new Float64Array(unit).fill(Infinity), bytes: new Float64Array(unit) });
  return { ready: both(), near: both(), words: both(), loaded: both(), loads: coming(), puts: coming() };
}

function raise({ first, last }: Both, rank: number, time: number, final: number): void {
  if (first[rank]! < time) first[rank] = time;
  if (last[rank]! < final) last[rank] = final;
}

function come({ since, bytes }: Coming, rank: number, left: number, more: number): void {
  if (since[rank]! > left) since[rank] = left;
  bytes[rank]! += more;
}

/** A link gets what all chunks of a step have for it. @returns when it has done it; nothing where that is nothing */
function taken(link: Float64Array, rank: number, since: number, seconds: number): number {
  if (seconds === 0) return 0;
  return (link[rank] = Math.max(link[rank]!, since) + seconds);
}

/** NICs that receive: when each has done what came up to here, and since when the last of it came at the earliest. */
interface Receiving {
  readonly done: Float64Array;
  readonly since: Float64Array;
}

/**
 * The same of what comes to a NIC. Ranks that send are not in step, so that this may come before what was counted before; the NIC may
 * then have begun as much earlier.
 * @param time seconds a byte
 */
function served({ done, since: before }: Receiving, rank: number, { since, bytes }: Coming, time: number): number {
  if (bytes[rank] === 0) return 0;
  const [begin, last] = [since[rank]!, before[rank]!];
  before[rank] = begin;
  return (done[rank] = Math.max(done[rank]! - Math.max(0, last - begin), begin) + bytes[rank]! * time);
}
