/** NVSHMEM's own calls on a group of the nvshmem backend. */
import { UsageError } from "../errors.js";
import { DeviceGroup } from "../group-device.js";
import type { Group } from "../group.js";
import type { NvshmemOperations } from "./operations.js";
import { NvshmemProvider } from "./provider.js";

/**
 * Host-side put, get, signals, barrier and NVSHMEM's collectives on streams. Collective the first time.
 * @throws UsageError when the group is on another backend.
 */
export function nvshmemOf(group: Group): Promise<NvshmemOperations> {
  const provider = group instanceof DeviceGroup ? group.provider : null;
  if (provider instanceof NvshmemProvider) return provider.operations();
  throw new UsageError(`the group is on the ${group.backend} backend`, "connect with --backend nvshmem");
}
