/** What a machine can do, as measured or published; `collc explain` predicts times from these numbers alone. */

/** A number with where it comes from. */
export interface Sourced {
  readonly value: number;
  readonly source: string;
}

export interface Machine {
  readonly name: string;
  readonly title: string;
  /** GPUs that reach each other at these rates. */
  readonly gpus: number;
  /** Bytes a second one GPU sends with stores to its peers, all of them together. */
  readonly push: Sourced;
  /** Bytes a second one GPU takes with loads from its peers. */
  readonly pull: Sourced;
  /** Bytes a second of one GPU's memory. */
  readonly memory: Sourced;
  /** Operations a second on f32 numbers, one a lane and instruction. */
  readonly scalar: Sourced;
  /** Multiplications and additions a second in products of 16-bit matrices. */
  readonly tensor: Sourced;
  /** Seconds of a launch that does nothing, in a graph. */
  readonly launch: Sourced;
  /** Seconds from a flag that is set on one rank to its being seen on another. */
  readonly flag: Sourced;
  /** Seconds of a barrier of all ranks, block by block. */
  readonly barrier: Sourced;
  /** What waiting for all blocks of a GPU adds to a barrier, in seconds. */
  readonly grid: Sourced;
  /** Seconds from a load of a peer's memory to its value. */
  readonly remoteLoad: Sourced;
}

const MEASURED = "measured on 4×H200, every pair NV18, no multicast, 2026-11";

export const MACHINES: readonly Machine[] = [
  {
    name: "h200x4",
    title: "4×H200, NVLink 4, every pair NV18",
    gpus: 4,
    push: { value: 347e9, source: `${MEASURED}: 345 to 350 GB/s with 16-byte stores from 28 blocks up` },
    pull: { value: 330e9, source: `${MEASURED}: 16-byte loads from 24 blocks up` },
    memory: { value: 4.3e12, source: "reached in practice of the 4.8 TB/s of NVIDIA's data sheet" },
    scalar: { value: 33.5e12, source: "NVIDIA's data sheet: 67 TFLOP/s of f32, counted as two operations each" },
    tensor: { value: 795e12, source: "cuBLAS, bf16, 8192³ on random data, measured on an H200" },
    launch: { value: 0.58e-6, source: `${MEASURED}: an empty kernel in a graph` },
    flag: { value: 1.33e-6, source: `${MEASURED}: release to acquire, system scope, one way` },
    barrier: { value: 1.44e-6, source: `${MEASURED}: 4 ranks, release and acquire` },
    grid: { value: 1e-6, source: "derived from 0.83 µs for a flag between blocks through memory" },
    remoteLoad: { value: 1.33e-6, source: "taken to be that of a flag: nobody has measured it alone" },
  },
];
