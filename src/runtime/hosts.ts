/** Which ranks share a host. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { Reach } from "../compiler/index.js";

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

/** The hosts of a group's members, with ranks as the group numbers them, in the order of their first. */
export function hostsAmong(hosts: readonly HostRanks[], members: readonly number[]): HostRanks[] {
  const own = hosts.map(({ name, ranks }) => {
    const here = new Set(ranks);
    return { name, ranks: [...members.keys()].filter((rank) => here.has(members[rank]!)) };
  });
  return own.filter(({ ranks }) => ranks.length > 0).sort((a, b) => a.ranks[0]! - b.ranks[0]!);
}

/**
 * The reach of ranks that share addresses with those of their host.
 * @returns undefined where there is one host, and where hosts are no runs of equally many ranks, of which the last may have fewer
 */
export function reachAmong(hosts: readonly HostRanks[]): Reach | undefined {
  const size = hosts[0]!.ranks.length;
  const fits = hosts.every(({ ranks }, i) => {
    const isRun = ranks[0] === i * size && ranks.at(-1) === i * size + ranks.length - 1;
    return isRun && (ranks.length === size || (ranks.length < size && i === hosts.length - 1));
  });
  return fits && hosts.length > 1 ? { ranksPerDomain: size } : undefined;
}

/** "a has ranks 0 and 1, b has ranks 2 and 3"; of many hosts the first. */
export function hostsText(hosts: readonly HostRanks[]): string {
  const shown = hosts.slice(0, 4).map(({ name, ranks }) => `${name} has ${ranksText(ranks)}`);
  return [...shown, ...(hosts.length > 4 ? [`and ${hosts.length - 4} more hosts`] : [])].join(", ");
}

/** What reach to give to programs for these hosts, or how to start ranks so that there is one. */
export function reachHelp(hosts: readonly HostRanks[]): string {
  const reach = reachAmong(hosts);
  const world = hosts.reduce((sum, { ranks }) => sum + ranks.length, 0);
  return reach === undefined
    ? `start ranks host by host and equally many on each, as srun --distribution=block and mpirun --map-by slot do; --reach ${world}x1 goes in any order`
    : `--reach ${hosts.length}x${reach.ranksPerDomain}, in the library reach: group.reach, has programs send messages between hosts`;
}
