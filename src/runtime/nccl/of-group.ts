/** A group's NCCL communicator: the one whose windows hold its symmetric memory, or one of its own. */
import type { DeviceGroup } from "../group-device.js";
import { NcclCommunicator } from "./communicator.js";
import { ncclUniqueId } from "./library.js";
import { NcclWindowProvider } from "./window-provider.js";

export interface GroupCommunicator {
  readonly communicator: NcclCommunicator;
  /** Gives it back, once the group has settled; does nothing for the provider's own, and the second time. */
  readonly close: () => Promise<void>;
}

/**
 * Collective. Whoever does not close it leaves that to the group's `close`.
 * @param purpose what ranks that come for different things are told that they differ in
 * @throws MachineError where there is no NCCL; RuntimeError `timeout`.
 */
export async function communicatorOf(group: DeviceGroup, purpose: string): Promise<GroupCommunicator> {
  const { provider } = group;
  if (provider instanceof NcclWindowProvider)
    return { communicator: provider.communicator, close: () => Promise.resolve() };
  return ownCommunicator(group, purpose);
}

/** The same for one that has no windows, whatever the group's memory is made of. */
export async function ownCommunicator(group: DeviceGroup, purpose: string): Promise<GroupCommunicator> {
  const all = Array.from({ length: group.world }, (_, rank) => rank);
  return (await communicatorAmong(group, [all], purpose))!;
}

/**
 * A communicator of each of some sets of ranks, made as that of all ranks is: of an id of its own, which every NCCL has, and not split off
 * another. Collective, of all ranks. See {@link communicatorOf}.
 * @param sets no rank is in two of them; a rank's number in its communicator is its place in its set
 * @returns that of the set that this rank is in; null where it is in none
 */
export async function communicatorAmong(
  group: DeviceGroup,
  sets: readonly (readonly number[])[],
  purpose: string,
): Promise<GroupCommunicator | null> {
  const { device, timeoutMs } = group;
  const isFirst = sets.some(([first]) => first === group.rank);
  const ids = await group.exchange(purpose, isFirst ? Buffer.from(await ncclUniqueId()).toString("base64") : "");
  const set = sets.find((ranks) => ranks.includes(group.rank));
  if (set === undefined) return null;
  const uniqueId = new Uint8Array(Buffer.from(ids[set[0]!]!, "base64"));
  const [rank, world] = [set.indexOf(group.rank), set.length];
  const communicator = await NcclCommunicator.create({ device, rank, world, uniqueId, timeoutMs });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    group.disown(close);
    try {
      await group.settle();
      await communicator.destroy(timeoutMs);
    } catch (error) {
      // Not collective, and it ends kernels that wait for a peer; it may refuse what destroy began.
      await communicator.abort(timeoutMs).catch(() => undefined);
      throw error;
    }
  };
  group.own(close);
  group.stops.add(() => communicator.abort(timeoutMs));
  return { communicator, close };
}
