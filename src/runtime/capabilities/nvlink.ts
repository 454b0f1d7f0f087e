/**
 * How many NVLinks join each pair of GPUs, from what NVML says of each link's other end. Links that end at the other GPU
 * count one each; GPUs that hang on switches reach each other with as many links as the poorer of the two has there.
 */
import type { NvmlLink } from "../native.js";

/** A GPU's place and its links that are up. */
export interface LinkedDevice {
  readonly pciDomain: number;
  readonly pciBus: number;
  readonly pciDevice: number;
  readonly links: readonly NvmlLink[];
}

/** `matrix[a][b]`: links from a to b; 0 on the diagonal. */
export function nvlinkMatrix(devices: readonly LinkedDevice[]): number[][] {
  const toSwitch = devices.map(({ links }) => links.filter((link) => link.remote === "switch").length);
  return devices.map((a, i) =>
    devices.map((b, j) => (i === j ? 0 : directLinks(a, b) + Math.min(toSwitch[i]!, toSwitch[j]!))),
  );
}

function directLinks(a: LinkedDevice, b: LinkedDevice): number {
  return a.links.filter(
    ({ remote, remotePci }) =>
      remote !== "switch" &&
      remotePci?.domain === b.pciDomain &&
      remotePci.bus === b.pciBus &&
      remotePci.device === b.pciDevice,
  ).length;
}
