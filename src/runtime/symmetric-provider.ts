/** Where symmetric memory comes from: CUDA VMM, NVSHMEM's heap or NCCL's windows. Kernels cannot tell the difference. */
import type { SymmetricAllocation } from "./cuda/index.js";
import type { DevicePointer, StreamHandle } from "./native.js";

/**
 * Reaches peers whose memory has no address here, such as those on another node, by a library's own calls on a stream.
 * Remote memory is named by its counterpart in this rank's symmetric memory; a source or target of one's own is
 * symmetric memory too, because network adapters reach no other. What returns has been enqueued.
 */
export interface RemoteCalls {
  /** Writes to the peer; there when the stream is past it. */
  put(stream: StreamHandle, target: DevicePointer, source: DevicePointer, bytes: number, peer: number): void;
  /** Reads from the peer. */
  get(stream: StreamHandle, target: DevicePointer, source: DevicePointer, bytes: number, peer: number): void;
  /** Adds 1 to the peer's 64-bit word, after everything that was put before on this stream. */
  signal(stream: StreamHandle, word: DevicePointer, peer: number): void;
}

/** Symmetric memory for one group. All ranks of the group make the same calls in the same order. */
export interface SymmetricProvider {
  readonly name: "cuda" | "nvshmem" | "nccl";
  /** How peers are reached that `peerPointers` has no address for; left out where they are not. */
  readonly remote?: RemoteCalls;
  /**
   * Zeroed memory of the same size on every rank. Collective.
   *
   * `peerPointers` of the result follow the group's order; 0n stands for a peer whose memory this rank's kernels
   * cannot address.
   * @param name for messages.
   * @throws RuntimeError `mismatch` when the ranks ask for different sizes; what failed on any rank, on all of them.
   */
  allocate(bytes: number, name?: string): Promise<SymmetricAllocation>;
  /**
   * Ends kernels of the library's own that wait for peers; afterwards only `close` works. Not collective; bounded. Left
   * out where nothing can, or there are none.
   */
  stop?(): Promise<void>;
  /** Gives up what the provider holds for this group. Collective, after its allocations are freed. Never throws. */
  close(): Promise<void>;
}
