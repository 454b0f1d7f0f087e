/** Device groups whose ranks are promises in this process, on the fake driver with the fake compiler. */
import path from "node:path";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { joinGroup } from "../../src/runtime/bootstrap.js";
import { DeviceGroup, type DeviceGroupOptions } from "../../src/runtime/group-device.js";
import { packageRoot } from "../../src/runtime/native.js";
import { memoryStores } from "../../src/runtime/store.js";
import { live, openAllDevices, openFakeCuda } from "../native/support.js";

/** Once a test file: the fake driver and compiler, and no cache. */
export function useFakeMachine(): void {
  vi.stubEnv("COLLC_NVRTC", path.join(packageRoot(), "build/Release/fake-nvrtc/libnvrtc.so.99"));
  vi.stubEnv("COLLC_CACHE_MAX_MB", "0");
  openFakeCuda();
  openAllDevices();
}

/**
 * One group a rank. Rank r is on GPU r % 4 of the fake driver.
 * @param hosts the host of each rank, by name; default: all are on one
 */
export function connectRanks(
  world: number,
  { hosts, ...options }: Partial<DeviceGroupOptions> & { readonly hosts?: readonly string[] } = {},
): Promise<DeviceGroup[]> {
  const { timeoutMs = 120_000 } = options;
  return Promise.all(
    memoryStores(world).map(async (store, rank) => {
      const apart = hosts === undefined ? {} : { env: { COLLC_HOST: hosts[rank]! }, localRank: rank };
      const boot = await joinGroup({ store, timeoutMs, ...apart });
      return DeviceGroup.connect(boot, {
        backend: "cuda",
        timeoutMs,
        allowOverlappingDevices: world > 4,
        ...options,
      });
    }),
  );
}

/** Does the same on all ranks at once. */
export function onAll<T>(
  groups: readonly DeviceGroup[],
  action: (group: DeviceGroup, rank: number) => Promise<T>,
): Promise<T[]> {
  return Promise.all(groups.map((group) => action(group, group.rank)));
}

export async function closeAll(groups: readonly DeviceGroup[]): Promise<void> {
  await Promise.all(groups.map((group) => group.close()));
}

/**
 * Groups that the end of each test closes, after which the fake driver must hold what it held before the test. Call it once a file.
 * @returns `open`, where a test notes the groups that it opens; `forgive` for what it lost on purpose
 */
export function closedAfterEach(): { readonly open: DeviceGroup[]; readonly forgive: () => void } {
  const open: DeviceGroup[] = [];
  let before: ReturnType<typeof live>;
  beforeEach(() => void (before = live()));
  afterEach(async () => {
    await closeAll(open.splice(0));
    expect({ ...live(), launches: 0 }).toEqual({ ...before, launches: 0 });
  });
  return { open, forgive: () => void (before = live()) };
}
