/** Whether the ranks that share addresses in a program do so on the hosts that they are on. */
import { domainOf, isNear, type Manifest, type Reach } from "../compiler/index.js";
import { notReachable } from "./device-tensor.js";
import { UsageError } from "./errors.js";
import type { DeviceGroup } from "./group-device.js";
import { type HostRanks, hostsText, reachHelp } from "./hosts.js";

/**
 * Refuses a program on all ranks whose reach has ranks of two hosts share addresses that they do not have. Where two hosts are in one
 * NVLink domain, they may have them: so memory is asked for, and its addresses are looked at. Collective.
 * @throws UsageError with the program's reach and the hosts; RuntimeError where ranks of one host have no addresses of each other
 */
export async function requireReach(group: DeviceGroup, manifest: Manifest): Promise<void> {
  const reach: Reach = { ranksPerDomain: manifest.ranksPerDomain ?? manifest.ranks };
  if (!needsAddresses(manifest) || !spansHosts(group.hosts, reach)) return;
  const { peerPointers, free } = await group.allocateSymmetric(16, "reach");
  await free();
  const far = peerPointers.findIndex((address, peer) => address === 0n && isNear(group.rank, peer, reach));
  const all = await group.exchange("reach", far);
  const rank = all.findIndex((peer) => peer >= 0);
  if (rank < 0) return;
  const nameOf = (r: number): string => group.hosts.find(({ ranks }) => ranks.includes(r))!.name;
  const [peer, here, there] = [all[rank]!, nameOf(rank), nameOf(all[rank]!)];
  if (here === there) throw notReachable(peer, rank, group.hosts);
  const domains = Math.ceil(manifest.ranks / reach.ranksPerDomain);
  const said =
    domains === 1 ? "all ranks share addresses" : `ranks ${rank} and ${peer} share addresses (reach ${domains}x${reach.ranksPerDomain})`; // prettier-ignore
  throw new UsageError(
    `in ${manifest.collective} as it is compiled ${said}, and rank ${rank} on host ${here} has none of rank ${peer}'s memory on ${there}: ${hostsText(group.hosts)}`,
    reachHelp(group.hosts),
  );
}

/** Whether no choice of the plan goes without peers' addresses. */
function needsAddresses({ plan, kernels }: Manifest): boolean {
  const needs = plan.choices.map(({ steps }) =>
    steps.some(
      (step) =>
      step.kind === "launch" ? kernels[step.kernel]!.parameters.some(({ kind }) => kind === "peers") : step.kind === "copy", // prettier-ignore
    ),
  );
  return needs.every(Boolean);
}

function spansHosts(hosts: readonly HostRanks[], reach: Reach): boolean {
  const hostOf = new Map<number, HostRanks>();
  for (const host of hosts)
    for (const rank of host.ranks) {
      const domain = domainOf(rank, reach);
      const other = hostOf.get(domain) ?? host;
      if (other !== host) return true;
      hostOf.set(domain, host);
    }
  return false;
}
