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

/** Ranks of a domain, the last of which may have fewer. */
export function ranksOfDomain(domain: number, world: number, reach: Reach): readonly number[] {
  const first = domain * reach.ranksPerDomain;
  return Array.from({ length: Math.min(reach.ranksPerDomain, world - first) }, (_, r) => first + r);
}

/** So many domains are all looked at. */
const FEW_DOMAINS = 4;

/** Domains to look at where most are alike: all if they are few, else the first, the last, and the second, which stands for those between. */
export function sampleDomains(domains: number): readonly number[] {
  return domains <= FEW_DOMAINS ? Array.from({ length: domains }, (_, d) => d) : [0, 1, domains - 1];
}

/** `2x4`: two domains of four ranks; null for a text of another form. */
export function parseReach(text: string): { readonly domains: number; readonly reach: Reach } | null {
  const [, domains, ranks] = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(text.trim()) ?? [];
  if (domains === undefined || Number(ranks) > EVERYBODY) return null;
  return { domains: Number(domains), reach: { ranksPerDomain: Number(ranks) } };
}
