/** Opens the provider of symmetric memory that a backend's name stands for. Libraries are loaded when they are needed. */
import { type ExchangeChannel, type FdExchange, SymmetricHeap } from "./cuda/index.js";
import { readEnv } from "./env.js";
import type { BackendName } from "./group.js";
import type { SymmetricProvider } from "./symmetric-provider.js";

export type DeviceBackend = Exclude<BackendName, "cpu">;

/** What every provider is made from. */
export interface ProviderOptions {
  readonly device: number;
  /** Rank in the group, and the group's number of ranks. */
  readonly rank: number;
  readonly world: number;
  readonly exchange: ExchangeChannel;
  /** The run's rank of each of the group's. */
  readonly ranks: readonly number[];
  /** Between the ranks of this host. Null where there is one rank, and for backends that map no descriptors between hosts. */
  readonly fds: FdExchange | null;
  /** The ranks are on several hosts of one NVLink domain. Only the cuda backend is told. */
  readonly fabric: boolean;
  /** Bound of each collective step, in milliseconds. */
  readonly timeoutMs: number;
}

/** Collective. @throws MachineError where the machine lacks what the backend needs. */
export async function openProvider(backend: DeviceBackend, options: ProviderOptions): Promise<SymmetricProvider> {
  const pretendUnreachable = readEnv("COLLC_PRETEND_UNREACHABLE") === "1";
  switch (backend) {
    case "cuda":
      return new SymmetricHeap(options);
    case "nvshmem":
      return (await import("./nvshmem/index.js")).NvshmemProvider.create({ ...options, pretendUnreachable });
    case "nccl":
      return (await import("./nccl/index.js")).NcclWindowProvider.create({ ...options, pretendUnreachable });
  }
}
