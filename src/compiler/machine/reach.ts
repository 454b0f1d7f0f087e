/**
 * Reach: which ranks share addresses. Ranks are numbered host by host, so a domain, whose GPUs load from and store to each other's
 * memory, is a run of consecutive ranks; what crosses domains goes through a library, in messages.
 */

/** Which ranks share addresses. */
export interface Reach {
  /** Ranks of a domain; the last has fewer where the world does not divide. At least the world: all ranks share addresses. */
  readonly ranksPerDomain: number;
}

/** Domains are no larger than this anywhere: a reach of all ranks, whatever the world. */
export const EVERYBODY = 2 ** 16;

/** The domain of a rank, counted from 0. */
export function domainOf(rank: number, { ranksPerDomain }: Reach): number {
  return Math.floor(rank / ranksPerDomain);
}

/** Whether two ranks share addresses. */
export function isNear(a: number, b: number, reach: Reach): boolean {
  return domainOf(a, reach) === domainOf(b, reach);
}

/** Whether all ranks of a world share addresses. */
export function isWhole(world: number, { ranksPerDomain }: Reach): boolean {
  return ranksPerDomain >= world;
}

/** `2x4`: two domains of four ranks; null for a text of another form. */
export function parseReach(text: string): { readonly domains: number; readonly reach: Reach } | null {
  const [, domains, ranks] = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(text.trim()) ?? [];
  if (domains === undefined || Number(ranks) > EVERYBODY) return null;
  return { domains: Number(domains), reach: { ranksPerDomain: Number(ranks) } };
}

/**
 * What messages between domains take, in seconds and in bytes a second for each GPU and direction; `each` is the least of one message.
 *
 * A cluster's numbers (`cluster.ts`) are others, for they are of something else. Here a step is a kernel's end, a group of NCCL's sends
 * and receives on its protocol for long messages, and the next kernel's start: what runs today. There a message is a put with a signal
 * out of a kernel that goes on, for which NCCL's tree with its short protocol stands. The rate here is the adapter's line rate, there
 * what NCCL's maintainers say that one reaches. None was measured here. Messages by NVSHMEM have no numbers of their own.
 */
export const MESSAGES = {
  latency: {
    value: 22.4e-6,
    source:
      "NCCL's own constants of a step over the network, protocol simple: 8.4 µs and 14 µs (src/graph/tuning.cc, 2.19 on)",
  },
  each: {
    value: 1e-6,
    source: "NCCL's own constant for posting to an Intel host's adapter (getNetOverhead, src/graph/tuning.cc)",
  },
  rate: { value: 50e9, source: "published: one adapter of 400 Gb/s for each GPU, as in a DGX H100" },
} as const;
