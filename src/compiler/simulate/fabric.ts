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

/** Links of one kind: when each will have done all that it was given, what it carried, and how long it was at it. */
class Links {
  readonly free: Float64Array;
  readonly carried: Float64Array;
  readonly busy: Float64Array;

  constructor(readonly count: number) {
    [this.free, this.carried, this.busy] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)];
  }

  /** @returns when the link has done it, after all that it was given before */
  serve(link: number, bytes: number, seconds: number, at: number): number {
    const free = this.free[link]!;
    const done = (at > free ? at : free) + seconds;
    this.free[link] = done;
    this.carried[link]! += bytes;
    this.busy[link]! += seconds;
    return done;
  }
}

/** Ranks that are followed have links of their own; all others are like them. */
export class Fabric {
  readonly ranks: number;
  /** NICs that are followed. */
  readonly nics: number;
  /** The NIC of each rank of the world. */
  readonly nicOf: Int32Array;
  private readonly links: Readonly<Record<LinkKind, Links>>;
  /** Of each rank: its leaf switch, counted over all pods, and whose links stand for that leaf's. */
  private readonly switchOf: Int32Array;
  private readonly leafOf: Int32Array;
  private readonly leafRate: number;
  private readonly share: number;
  private readonly nicRate: number;
  private readonly messageTime: number;
  private readonly latency: number;
  private readonly further: number;

  /** @param ranks whose links are followed; ranks further on share those of the rank by that many before */
  constructor(
    readonly cluster: Cluster,
    readonly world: number,
    ranks: number,
  ) {
    this.ranks = ranks;
    const { ranksPerDomain, nics, domainsPerPod } = cluster;
    // Ranks that are followed for others of their pod have their part of the leaf.
    this.share = Math.min(1, ranks / Math.min(world, ranksPerDomain * domainsPerPod));
    this.leafRate = (this.share * domainsPerPod * cluster.nicRate.value) / cluster.oversubscription.value;
    [this.nicRate, this.messageTime] = [cluster.nicRate.value, cluster.messageTime.value];
    [this.latency, this.further] = [cluster.latency.value, 2 * cluster.switchLatency.value];
    const domains = Math.ceil(ranks / ranksPerDomain);
    const pods = Math.ceil(domains / domainsPerPod);
    this.nics = domains * nics;
    this.links = {
      "NVLink out": new Links(ranks),
      "NVLink in": new Links(ranks),
      "NIC out": new Links(domains * nics),
      "NIC in": new Links(domains * nics),
      "leaf up": new Links(pods * nics),
      "leaf down": new Links(pods * nics),
    };
    const tableOf = (of: (domain: number, rail: number) => number): Int32Array =>
      Int32Array.from({ length: world }, (_, rank) =>
        of(domainOf(rank, cluster), Math.floor((rank % ranksPerDomain) / (ranksPerDomain / nics))),
      );
    const leaf = (domain: number, rail: number): number => Math.floor(domain / domainsPerPod) * nics + rail;
    this.nicOf = tableOf((domain, rail) => (domain * nics + rail) % (domains * nics));
    this.switchOf = tableOf(leaf);
    this.leafOf = tableOf((domain, rail) => leaf(domain, rail) % (pods * nics));
  }

  /** Bytes over a port, at a rate. @returns when it is done */
  port(kind: "NVLink out" | "NVLink in", rank: number, bytes: number, rate: number, at: number): number {
    return this.links[kind].serve(rank % this.ranks, bytes, bytes / rate, at);
  }

  /** A message to another domain joins its NIC's queue. @returns when it begins to leave */
  post(from: number, bytes: number, at: number): number {
    const seconds = this.sending(bytes);
    return this.links["NIC out"].serve(this.nicOf[from]!, bytes, seconds, at) - seconds;
  }

  /** A message that begins to leave its NIC goes over all other links at once. @returns when it, and a signal behind it, is seen */
  fly(from: number, to: number, bytes: number, at: number): number {
    let done = at + this.sending(bytes);
    let further = 0;
    if (this.switchOf[from] !== this.switchOf[to]) {
      further = this.further;
      const flight = bytes / this.leafRate;
      done = Math.max(done, this.links["leaf up"].serve(this.leafOf[from]!, bytes, flight, at));
      done = Math.max(done, this.links["leaf down"].serve(this.leafOf[to]!, bytes, flight, at));
    }
    return (
      Math.max(done, this.links["NIC in"].serve(this.nicOf[to]!, bytes, bytes / this.nicRate, at)) +
      this.latency +
      further
    );
  }

  /** Seconds that a NIC is busy with a message. */
  sending(bytes: number): number {
    return Math.max(bytes / this.nicRate, this.messageTime);
  }

  /** Use of all links so far, of the whole world. */
  uses(): LinkUse[] {
    const times = this.world / this.ranks;
    const { ranksPerDomain, domainsPerPod, nics } = this.cluster;
    const leaves = Math.ceil(this.world / (ranksPerDomain * domainsPerPod)) * nics;
    return LINK_KINDS.flatMap((kind): LinkUse[] => {
      const { carried, busy: seconds, count } = this.links[kind];
      const bytes = carried.reduce((a, b) => a + b, 0);
      if (bytes === 0) return [];
      const isLeaf = kind.startsWith("leaf");
      const most = carried.reduce((a, b) => Math.max(a, b), 0) / (isLeaf ? this.share : 1);
      const busy = seconds.reduce((a, b) => Math.max(a, b), 0);
      return [{ kind, links: isLeaf ? leaves : Math.round(count * times), bytes: bytes * times, most, busy }];
    });
  }
}
