/** What this machine's GPUs can do together. Reported; collc uses only what it has asked for and been given. */
import { describeDevices, openCuda } from "../cuda/device.js";
import type { Environment } from "../env.js";
import { messageOf } from "../errors.js";
import { libraryCandidates } from "../library-candidates.js";
import { type DeviceDescription, native, type NvmlDevice, type NvmlFabric } from "../native.js";
import { multicastObstacle } from "./multicast.js";
import { nvlinkMatrix } from "./nvlink.js";

export * from "./multicast.js";
export * from "./nvlink.js";

/** One GPU's view of another. */
export interface PeerCapability {
  /** Kernels reach its memory: cuDeviceCanAccessPeer. */
  readonly access: boolean;
  /** Atomics on its memory work as on one's own. */
  readonly atomics: boolean;
  /** 0 is the fastest kind of path; null where the driver does not say. */
  readonly performanceRank: number | null;
  /** NVLinks between the two, through switches or not. */
  readonly nvlinks: number;
}

export interface DeviceCapability {
  readonly ordinal: number;
  readonly name: string;
  readonly cooperativeLaunch: boolean;
  readonly posixFd: boolean;
  /** Memory can be given to other hosts of an NVLink domain. */
  readonly fabricHandle: boolean;
  /** The device says it has it. */
  readonly multicast: boolean;
  /** Why it would not be used, or null. */
  readonly multicastObstacle: string | null;
  /** NVLinks that are up. */
  readonly nvlinks: number;
  /** Membership in an NVLink domain, null where the driver offers none. */
  readonly fabric: NvmlFabric | null;
}

export interface Capabilities {
  /** CUDA version that the driver supports, and NVIDIA's own number where NVML tells it. */
  readonly driver: { readonly cuda: string; readonly nvidia: string | null };
  readonly devices: readonly DeviceCapability[];
  /** `peers[a][b]`; null on the diagonal. */
  readonly peers: readonly (readonly (PeerCapability | null)[])[];
  /** What could not be found out; everything else stands. */
  readonly warnings: readonly string[];
}

const nvmlFolders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib"];

/** CU_DEVICE_P2P_ATTRIBUTE_*. */
const p2p = { performanceRank: 1, nativeAtomics: 3 } as const;

/**
 * Looks at all GPUs of this machine.
 * @throws MachineError when there is no driver or no GPU. NVML's failures are warnings: links are 0 then.
 */
export async function capabilities(env?: Environment): Promise<Capabilities> {
  const { version } = openCuda();
  const devices = describeDevices();
  const warnings: string[] = [];
  const nvml = await askNvml(devices, warnings, env);
  const links = nvlinkMatrix(devices.map((device, i) => ({ ...device, links: nvml.devices[i]?.links ?? [] })));
  return {
    driver: { cuda: version, nvidia: nvml.driver },
    devices: devices.map((device, i) => {
      const { ordinal, name, cooperativeLaunch, posixFd, fabricHandle, multicast } = device;
      const { links = [], fabric = null } = nvml.devices[i] ?? {};
      return {
        ordinal,
        name,
        cooperativeLaunch,
        posixFd,
        fabricHandle,
        multicast,
        multicastObstacle: multicastObstacle(device, env),
        nvlinks: links.length,
        fabric: fabric?.state === 0 ? null : fabric,
      };
    }),
    peers: devices.map(({ ordinal: a }, i) =>
      devices.map(({ ordinal: b }, j) => (a === b ? null : peerCapability(a, b, links[i]![j]!))),
    ),
    warnings,
  };
}

function peerCapability(a: number, b: number, nvlinks: number): PeerCapability {
  const attribute = (which: number): number | null => {
    try {
      return native().peerAttribute(a, b, which);
    } catch {
      return null; // older drivers do not know it
    }
  };
  return {
    access: native().canAccessPeer(a, b),
    atomics: attribute(p2p.nativeAtomics) === 1,
    performanceRank: attribute(p2p.performanceRank),
    nvlinks,
  };
}

async function askNvml(
  devices: readonly DeviceDescription[],
  warnings: string[],
  env?: Environment,
): Promise<{ readonly driver: string | null; readonly devices: readonly (NvmlDevice | null)[] }> {
  try {
    const search = { fileName: "libnvidia-ml.so.1", variable: "COLLC_NVML", folders: nvmlFolders } as const;
    const paths = (await libraryCandidates(search, env)).map((candidate) => candidate.path);
    const { driverVersion } = native().openNvml(paths);
    const answers = devices.map(({ ordinal, pciDomain, pciBus, pciDevice }) => {
      try {
        return native().nvmlDevice(pciDomain, pciBus, pciDevice);
      } catch (error) {
        warnings.push(`NVLinks of GPU ${ordinal} are unknown: ${messageOf(error)}`);
        return null;
      }
    });
    return { driver: driverVersion, devices: answers };
  } catch (error) {
    warnings.push(`NVLinks are unknown: ${messageOf(error)}`);
    return { driver: null, devices: [] };
  }
}
