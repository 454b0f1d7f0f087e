/** What the ranks of a group can do together: where they are, who reaches whom, and what all of them have. */
import { describeDevice } from "../cuda/device.js";
import { DeviceGroup } from "../group-device.js";
import type { Group } from "../group.js";
import { native } from "../native.js";
import { capabilities } from "./index.js";
import { agreeOnMulticast, type GroupMulticast, multicastObstacle } from "./multicast.js";

export interface GroupCapabilities {
  /** The group's ranks by host. */
  readonly hosts: readonly { readonly name: string; readonly ranks: readonly number[] }[];
  readonly sameHost: boolean;
  /** `reaches[a][b]`: kernels of rank a address the memory of rank b over NVLink or PCIe; false between hosts. */
  readonly reaches: readonly (readonly boolean[])[];
  /** `nvlinks[a][b]`: NVLinks between the two ranks' GPUs; 0 between hosts and where the driver does not say. */
  readonly nvlinks: readonly (readonly number[])[];
  /** All GPUs are of one NVLink domain and can give memory to each other across hosts. */
  readonly fabric: boolean;
  readonly cooperativeLaunch: boolean;
  /** Whether all ranks can take part in multicast, and if not, what each one lacks. */
  readonly multicast: GroupMulticast;
}

/** What a rank tells the others. */
type Report = {
  readonly pci: string;
  readonly reached: string[];
  readonly linked: Record<string, number>;
  readonly domain: string;
  readonly cooperative: boolean;
};

/**
 * Collective. Ranks of the cpu backend reach each other and have nothing else.
 * @throws RuntimeError `timeout` naming ranks that do not come.
 */
export async function capabilitiesOf(group: Group): Promise<GroupCapabilities> {
  const all = Array.from({ length: group.world }, (_, rank) => rank);
  if (!(group instanceof DeviceGroup))
    return {
      hosts: [{ name: "this process", ranks: all }],
      sameHost: true,
      reaches: all.map(() => all.map(() => true)),
      nvlinks: all.map(() => all.map(() => 0)),
      fabric: false,
      cooperativeLaunch: true,
      multicast: { usable: false, reasons: ["the cpu backend has none"] },
    };
  const hosts = group.boot.hosts
    .map(({ name, ranks }) => ({ name, ranks: all.filter((rank) => ranks.includes(group.ranks[rank]!)) }))
    .filter(({ ranks }) => ranks.length > 0);
  const device = describeDevice(group.device);
  const reports = (await group.exchange("capabilities", await reportOf(group.device))) as Report[];
  const multicast = await agreeOnMulticast(group.exchangeChannel, multicastObstacle(device));
  const hostOf = (rank: number): number => hosts.findIndex(({ ranks }) => ranks.includes(rank));
  const isBeside = (a: number, b: number): boolean => hostOf(a) === hostOf(b);
  const domain = reports[0]!.domain;
  return {
    hosts,
    sameHost: hosts.length === 1,
    reaches: all.map((a) =>
      all.map((b) => a === b || (isBeside(a, b) && reports[a]!.reached.includes(reports[b]!.pci))),
    ),
    nvlinks: all.map((a) =>
      all.map((b) => (a !== b && isBeside(a, b) ? (reports[a]!.linked[reports[b]!.pci] ?? 0) : 0)),
    ),
    fabric: domain !== "" && reports.every((report) => report.domain === domain),
    cooperativeLaunch: reports.every(({ cooperative }) => cooperative),
    multicast,
  };
}

/** GPUs by their PCI place: ordinals differ between processes that see different GPUs. */
async function reportOf(own: number): Promise<Report> {
  const { devices, peers } = await capabilities();
  const places = devices.map(({ ordinal }) => {
    const { pciDomain, pciBus, pciDevice } = native().describeDevice(ordinal);
    return `${pciDomain}:${pciBus}:${pciDevice}`;
  });
  const { fabric, fabricHandle, cooperativeLaunch } = devices[own]!;
  const isOfDomain = fabricHandle && fabric?.state === 3 && /[^0]/.test(fabric.cluster);
  return {
    pci: places[own]!,
    // A GPU reaches itself, where ranks share it.
    reached: places.filter((_, other) => other === own || peers[own]![other]!.access),
    linked: Object.fromEntries(places.map((place, other) => [place, peers[own]![other]?.nvlinks ?? 0])),
    domain: isOfDomain ? `${fabric.cluster}/${fabric.clique}` : "",
    cooperative: cooperativeLaunch,
  };
}
