/** One-sided copies and small writes: checks first, then one call of the driver, which needs no multiprocessor. */
import { DTYPES } from "../compiler/index.js";
import type { DeviceStream } from "./device-stream.js";
import { DeviceTensor } from "./device-tensor.js";
import { UsageError } from "./errors.js";
import type { DeviceGroup } from "./group-device.js";
import type { Tensor } from "./group.js";
import { native } from "./native.js";
import type { RemoteCalls } from "./symmetric-provider.js";
import { requireContiguous } from "./tensor-shape.js";

/** A tensor that work of the group may touch. @throws UsageError for those of another backend or GPU. */
export function ownTensor(group: DeviceGroup, tensor: Tensor, name: string): DeviceTensor {
  if (!(tensor instanceof DeviceTensor) || tensor.group.device !== group.device)
    throw new UsageError(`${name} belongs to another backend or GPU than group "${group.name}"`);
  tensor.requireAlive();
  return tensor;
}

/**
 * What a copy between `own` and a peer's part of `remote` moves. `far` is set where the part has no address here: then
 * `part` is its counterpart on this rank.
 * @throws UsageError for tensors that are not contiguous, of different dtypes, or where the copy would lie outside, and
 *   for a tensor of one's own that is not symmetric where the peer is far.
 */
export function copyParts(
  group: DeviceGroup,
  own: Tensor,
  remote: Tensor,
  peer: number,
  offset: number,
): {
  readonly own: DeviceTensor;
  readonly part: DeviceTensor;
  readonly bytes: number;
  readonly far: RemoteCalls | null;
} {
  const mine = ownTensor(group, own, "the tensor");
  const theirs = ownTensor(group, remote, "the symmetric tensor");
  group.requirePeer(peer);
  requireContiguous(mine.layout, "the tensor");
  requireContiguous(theirs.layout, "the symmetric tensor");
  if (mine.dtype !== theirs.dtype)
    throw new UsageError(`a copy between ${mine.dtype} and ${theirs.dtype} would change what the bytes mean`);
  const bytes = mine.length * DTYPES[mine.dtype].bytes;
  const { remote: far } = theirs.group;
  if (far === null || !theirs.symmetric || theirs.peerPointers[peer] !== 0n)
    return { own: mine, part: theirs.getBuffer(peer, [mine.length], theirs.dtype, offset), bytes, far: null };
  if (!mine.symmetric)
    throw new UsageError(
      `rank ${peer} is reached over the network, and only from symmetric memory`,
      "make both tensors with group.symmetric",
    );
  return { own: mine, part: theirs.view(offset, [mine.length]), bytes, far };
}

export function enqueueCopy(stream: DeviceStream, target: DeviceTensor, source: DeviceTensor, bytes: number): void {
  if (bytes > 0) native().copyOnDevice(stream.handle, target.pointer, source.pointer, bytes);
}
