/** Which ranks share a host. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** The ranks of one host (one name space of files and processes), ascending. */
export interface HostRanks {
  readonly name: string;
  readonly ranks: readonly number[];
}

/** Host names repeat and containers share kernels; a boot and a name together tell hosts apart. */
export function hostIdentity(): string {
  try {
    return `${hostname()}/${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}`;
  } catch {
    return hostname();
  }
}

export function groupByHost(seats: readonly { host: string; name: string }[]): HostRanks[] {
  const hosts = new Map<string, { name: string; ranks: number[] }>();
  seats.forEach(({ host, name }, rank) => {
    const entry = hosts.get(host) ?? { name, ranks: [] };
    entry.ranks.push(rank);
    hosts.set(host, entry);
  });
  return [...hosts.values()];
}

/** "rank 3", "ranks 4 to 7", "ranks 1, 3 and 5": of ascending ranks, one at least. */
export function ranksText(ranks: readonly number[]): string {
  const [first, last] = [ranks[0]!, ranks.at(-1)!];
  if (ranks.length === 1) return `rank ${first}`;
  if (ranks.length > 2 && last - first === ranks.length - 1) return `ranks ${first} to ${last}`;
  return `ranks ${ranks.slice(0, -1).join(", ")} and ${last}`;
}
