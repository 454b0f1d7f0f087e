/**
 * The links of a cluster as queues: ports of GPUs inside a domain, NICs, and the ways of leaf switches to and from the spine. A
 * link serves one bundle of bytes after the other; what has to go over several of them is on all at once, a switch later on each.
 */
import type { Cluster } from "../machine/cluster.js";
import { domainOf } from "../machine/reach.js";

/** Kinds of links, in the order of reports. */
const LINK_KINDS = ["NVLink out", "NVLink in", "NIC out", "NIC in", "leaf up", "leaf down"] as const;
type LinkKind = (typeof LINK_KINDS)[number];

export interface LinkUse {
  readonly kind: LinkKind;
  /** Links of the kind that the ranks have, and bytes over all of them, over the one that carries most, and seconds that one is busy. */
  readonly links: number;
  readonly bytes: number;
  readonly most: number;
  readonly busy: number;
}

/** Ranks of `home` have links of their own; all others are like them. */
export class Fabric {
  readonly ranks: number;
  /** When a link will have done all that it was given. */
  private readonly free: Readonly<Record<LinkKind, Float64Array>>;
  private readonly carried: Readonly<Record<LinkKind, Float64Array>>;
  private readonly busy: Readonly<Record<LinkKind, Float64Array>>;
  private readonly perNic: number;
  private readonly leafRate: number;
  private readonly share: number;

  /** @param ranks whose links are followed; ranks further on share those of the rank by that many before */
  constructor(
    readonly cluster: Cluster,
    readonly world: number,
    ranks: number,
  ) {
    this.ranks = ranks;
    const { ranksPerDomain, nics, domainsPerPod } = cluster;
    this.perNic = ranksPerDomain / nics;
    // Ranks that are followed for others of their pod have their part of the leaf.
    this.share = Math.min(1, ranks / Math.min(world, ranksPerDomain * domainsPerPod));
    this.leafRate = (this.share * domainsPerPod * cluster.nicRate.value) / cluster.oversubscription.value;
    const domains = Math.ceil(ranks / ranksPerDomain);
    const pods = Math.ceil(domains / domainsPerPod);
    const counts: Record<LinkKind, number> = {
      "NVLink out": ranks,
      "NVLink in": ranks,
      "NIC out": domains * nics,
      "NIC in": domains * nics,
      "leaf up": pods * nics,
      "leaf down": pods * nics,
    };
    const zeros = (): Record<LinkKind, Float64Array> =>
      Object.fromEntries(LINK_KINDS.map((k) => [k, new Float64Array(counts[k])])) as Record<LinkKind, Float64Array>;
    [this.free, this.carried, this.busy] = [zeros(), zeros(), zeros()];
  }

  /** Bytes over a port, at a rate. @returns when it is done */
  port(kind: "NVLink out" | "NVLink in", rank: number, bytes: number, rate: number, at: number): number {
    return this.serve(kind, rank % this.ranks, bytes, bytes / rate, at);
  }

  /** A message to another domain joins its NIC's queue. @returns when it begins to leave */
  post(from: number, bytes: number, at: number): number {
    const { nicRate, messageTime } = this.cluster;
    const seconds = Math.max(bytes / nicRate.value, messageTime.value);
    return this.serve("NIC out", this.nicOf(from).nic, bytes, seconds, at) - seconds;
  }

  /** A message that begins to leave its NIC goes over all other links at once. @returns when it, and a signal behind it, is seen */
  fly(from: number, to: number, bytes: number, at: number): number {
    const { nicRate, latency, switchLatency, messageTime } = this.cluster;
    const [home, other] = [this.nicOf(from), this.nicOf(to)];
    let done = at + Math.max(bytes / nicRate.value, messageTime.value);
    let switches = 0;
    if (home.pod !== other.pod || home.rail !== other.rail) {
      switches = 2;
      const flight = bytes / this.leafRate;
      done = Math.max(done, this.serve("leaf up", home.leaf, bytes, flight, at));
      done = Math.max(done, this.serve("leaf down", other.leaf, bytes, flight, at));
    }
    done = Math.max(done, this.serve("NIC in", other.nic, bytes, bytes / nicRate.value, at));
    return done + latency.value + switches * switchLatency.value;
  }

  /** Use of all links so far, of the whole world. */
  uses(): LinkUse[] {
    const times = this.world / this.ranks;
    const { ranksPerDomain, domainsPerPod, nics } = this.cluster;
    const leaves = Math.ceil(this.world / (ranksPerDomain * domainsPerPod)) * nics;
    return LINK_KINDS.flatMap((kind): LinkUse[] => {
      const carried = this.carried[kind];
      const bytes = carried.reduce((a, b) => a + b, 0);
      if (bytes === 0) return [];
      const isLeaf = kind.startsWith("leaf");
      const most = carried.reduce((a, b) => Math.max(a, b), 0) / (isLeaf ? this.share : 1);
      const busy = this.busy[kind].reduce((a, b) => Math.max(a, b), 0);
      return [{ kind, links: isLeaf ? leaves : Math.round(carried.length * times), bytes: bytes * times, most, busy }];
    });
  }

  private nicOf(rank: number): { nic: number; rail: number; pod: number; leaf: number } {
    const { ranksPerDomain, nics, domainsPerPod } = this.cluster;
    const domain = domainOf(rank, this.cluster);
    const rail = Math.floor((rank % ranksPerDomain) / this.perNic);
    const pod = Math.floor(domain / domainsPerPod);
    const [nicCount, leafCount] = [this.free["NIC out"].length, this.free["leaf up"].length];
    return { nic: (domain * nics + rail) % nicCount, rail, pod, leaf: (pod * nics + rail) % leafCount };
  }

  private serve(kind: LinkKind, link: number, bytes: number, seconds: number, at: number): number {
    const free = this.free[kind];
    const done = Math.max(at, free[link]!) + seconds;
    free[link] = done;
    this.carried[kind][link]! += bytes;
    this.busy[kind][link]! += seconds;
    return done;
  }
}
