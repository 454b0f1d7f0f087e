/** Ranks on several hosts: whether one NVLink domain joins their GPUs. */
import { capabilities } from "./capabilities/index.js";
import { describeDevice, type ExchangeChannel } from "./cuda/index.js";
import { MachineError } from "./errors.js";
import { type HostRanks, reachHelp } from "./hosts.js";

/** What a rank says of its GPU. An unknown domain is not held against it: the driver will say. */
type Seat = { readonly handles: boolean; readonly domain: string | null };

/**
 * Makes sure that memory can be mapped across the hosts of a group. Collective.
 * @param what begins the message.
 * @param hosts of the group, for what to do instead
 * @throws MachineError on every rank when a GPU has no fabric handles, or two are in different NVLink domains.
 */
export async function requireOneDomain(
  exchange: ExchangeChannel,
  device: number,
  what: string,
  hosts: readonly HostRanks[],
): Promise<void> {
  const handles = describeDevice(device).fabricHandle;
  const { fabric } = handles ? (await capabilities()).devices[device]! : { fabric: null };
  const domain = fabric?.state === 3 ? `${fabric.cluster}/${fabric.clique}` : null;
  const seats = await exchange.allGather<Seat>("NVLink domain", { handles, domain });
  const without = seats.findIndex((seat) => !seat.handles);
  const known = seats.findIndex((seat) => seat.domain !== null);
  const other = seats.findIndex((seat) => seat.domain !== null && seat.domain !== seats[known]!.domain);
  if (without < 0 && other < 0) return;
  throw new MachineError(
    without >= 0
      ? `${what}, and the GPU of rank ${without} has no fabric handles: the cuda backend does not reach it`
      : `${what}, and the GPUs of ranks ${known} and ${other} are in different NVLink domains`,
    `start all ranks on one host, or use --backend nccl: ${reachHelp(hosts)}`,
  );
}
