/** Where symmetric memory comes from: CUDA VMM, NVSHMEM's heap or NCCL's windows. Kernels cannot tell the difference. */
import type { SymmetricAllocation } from "./cuda/index.js";

/** Symmetric memory for one group. All ranks of the group make the same calls in the same order. */
export interface SymmetricProvider {
  readonly name: "cuda" | "nvshmem" | "nccl";
  /**
   * Zeroed memory of the same size on every rank. Collective.
   *
   * `peerPointers` of the result follow the group's order; 0n stands for a peer whose memory this rank's kernels
   * cannot address.
   * @param name for messages.
   * @throws RuntimeError `mismatch` when the ranks ask for different sizes; what failed on any rank, on all of them.
   */
  allocate(bytes: number, name?: string): Promise<SymmetricAllocation>;
  /** Gives up what the provider holds for this group. Collective, after its allocations are freed. Never throws. */
  close(): Promise<void>;
}
