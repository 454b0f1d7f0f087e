/** What passes may depend on besides the kernel: the shape of the machine, and knobs of the mapping. */
export interface PassOptions {
  /** Threads of a block that moves and reduces elements. */
  readonly elementThreads: number;
  /** Threads of a block that multiplies tiles. */
  readonly tileThreads: number;
  /** Most blocks of a kernel that only moves and reduces; more do not move bytes faster over NVLink. */
  readonly elementBlocks: number;
  /** Most blocks of a kernel that multiplies: one on each multiprocessor. */
  readonly tileBlocks: number;
  /** Bytes of the widest memory access of one thread. */
  readonly accessBytes: number;
  /** Wide loads each thread should have in flight. */
  readonly loadsInFlight: number;
}

/** Chosen on 4×H200; `bench/results/` holds the sweep. */
export const DEFAULT_PASS_OPTIONS: PassOptions = {
  elementThreads: 512,
  tileThreads: 256,
  elementBlocks: 64,
  tileBlocks: 132,
  accessBytes: 16,
  loadsInFlight: 8,
};
