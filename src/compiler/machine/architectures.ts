/**
 * What each GPU architecture allows a kernel, whatever the device. Source of every number: CUDA C++ Programming Guide 13.0,
 * "Compute Capabilities", table of technical specifications; bytes a multiprocessor's shared memory can be configured to, and
 * what one block may take of it (the driver keeps 1 KiB a block).
 */

export interface Architecture {
  /** `sm_90`, without the letter of the variant that has the architecture's own instructions. */
  readonly name: string;
  /** Major and minor version as one number: 90. */
  readonly capability: number;
  readonly warpThreads: number;
  readonly maxBlockThreads: number;
  /** Threads, blocks and 32-bit registers that a multiprocessor holds at once. */
  readonly threads: number;
  readonly blocks: number;
  readonly registers: number;
  readonly maxThreadRegisters: number;
  /** Bytes of shared memory of a multiprocessor, and the most that one block may have. */
  readonly sharedBytes: number;
  readonly blockSharedBytes: number;
  /** Bytes of the widest access of one thread to global memory. */
  readonly accessBytes: number;
  /** Whether copies to shared memory go on beside what a thread computes (PTX, "cp.async"): tiles of products are made of them. */
  readonly hasAsyncCopies: boolean;
  /** Whether passes may choose the instructions for matrices that a warp group has. */
  readonly hasWgmma: boolean;
  /** Whether a kernel can wait for the end of the launch before its own (PTX, "griddepcontrol"). */
  readonly hasEarlyLaunch: boolean;
}

const KIB = 1024;

function architecture(
  capability: number,
  [threads, blocks, sharedKib]: readonly [threads: number, blocks: number, sharedKib: number],
): Architecture {
  return {
    name: `sm_${capability}`,
    capability,
    warpThreads: 32,
    maxBlockThreads: 1024,
    threads,
    blocks,
    registers: 64 * KIB,
    maxThreadRegisters: 255,
    sharedBytes: sharedKib * KIB,
    // Turing lets a block have all of it.
    blockSharedBytes: (capability < 80 ? sharedKib : sharedKib - 1) * KIB,
    // Blackwell's data centre parts load and store 32 bytes; the printer has no such access.
    accessBytes: 16,
    hasAsyncCopies: capability >= 80,
    hasWgmma: capability === 90,
    hasEarlyLaunch: capability >= 90,
  };
}

/** Threads, blocks, KiB of shared memory a multiprocessor. */
export const ARCHITECTURES: readonly Architecture[] = [
  architecture(75, [1024, 16, 64]),
  architecture(80, [2048, 32, 164]),
  architecture(86, [1536, 16, 100]),
  architecture(87, [1536, 16, 164]),
  architecture(89, [1536, 24, 100]),
  architecture(90, [2048, 32, 228]),
  architecture(100, [2048, 32, 228]),
  architecture(103, [2048, 32, 228]),
  architecture(110, [1536, 24, 228]),
  architecture(120, [1536, 24, 100]),
  architecture(121, [1536, 24, 100]),
];

/** Bytes of the widest access that any of them has: what is wider is several accesses, each of which begins at a multiple of so many. */
export const WIDEST_ACCESS = Math.max(...ARCHITECTURES.map((a) => a.accessBytes));

/**
 * The architecture of a name such as `sm_90a`: of one that is not in the table the newest older one, or the oldest. Whether
 * there is such a name at all is NVRTC's to say.
 */
export function architectureOf(arch: string): Architecture {
  const capability = Number(/^(?:sm|compute)_(\d+)[af]?$/.exec(arch)?.[1] ?? NaN);
  return ARCHITECTURES.filter((a) => a.capability <= capability).at(-1) ?? ARCHITECTURES[0]!;
}

/** Whether a name is of an architecture of the table, or of one newer than all of them. */
export function isKnownArchitecture(arch: string): boolean {
  const capability = Number(/^(?:sm|compute)_(\d+)[af]?$/.exec(arch)?.[1] ?? NaN);
  return ARCHITECTURES.some((a) => a.capability === capability) || capability > ARCHITECTURES.at(-1)!.capability;
}
