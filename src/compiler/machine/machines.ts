/** What a machine can do, as measured or published: times are predicted, plans made and defaults chosen from these numbers alone. */
import { architectureOf } from "./architectures.js";

/** A number with where it comes from. */
export interface Sourced {
  readonly value: number;
  readonly source: string;
}

/** What `tune` measures and fits; rates in bytes a second, latencies in seconds. */
export interface Rates {
  /** One GPU's stores to its peers, all of them together, and to one of them. */
  readonly push: Sourced;
  readonly pairPush: Sourced;
  /** One GPU's loads from its peers, and what one GPU's port serves to all who load from it. */
  readonly pull: Sourced;
  readonly serve: Sourced;
  /** What one block stores to peers, and loads from them, while it does so in turns. */
  readonly blockPush: Sourced;
  readonly blockPull: Sourced;
  /** A copy engine's copies to one peer, and bulk copies by single threads. */
  readonly copyEngine: Sourced;
  /** The same where the engine reads from a peer. */
  readonly copyEnginePull: Sourced;
  /** What one GPU's port carries of copy engines' copies, sent and received together. */
  readonly copyEnginePort: Sourced;
  /** From the step before to a copy engine's first byte, and from its last to the step after. */
  readonly copyStart: Sourced;
  /** The same where no copy leaves the GPU. */
  readonly ownCopyStart: Sourced;
  readonly bulkCopy: Sourced;
  /** One GPU's memory, and what one block gets of it. */
  readonly memory: Sourced;
  /** The same of what fits the second-level cache. */
  readonly cachedMemory: Sourced;
  readonly blockMemory: Sourced;
  /** A launch that does nothing, in a graph of launches. */
  readonly launch: Sourced;
  /** How much sooner one begins whose blocks wait in their places for the launch before it (`Kernel.early`). */
  readonly earlyLaunch: Sourced;
  /** From a flag that one rank sets to its being seen on another, and what the kernel does around that. */
  readonly flag: Sourced;
  /** How much sooner one is seen that says no more than what launches before its own did, so that it waits for no fence. */
  readonly release: Sourced;
  /** What each further rank adds to waiting for one. */
  readonly flagRank: Sourced;
  /** How long a flag waits for stores to peers to have arrived, and for stores to own memory. */
  readonly drain: Sourced;
  readonly ownDrain: Sourced;
  /** What waiting for all blocks of a GPU adds. */
  readonly grid: Sourced;
  /** From a load of a peer's memory, and of one's own, to its value. */
  readonly peerLoad: Sourced;
  readonly ownLoad: Sourced;
  /** The same of each load that waits for the one before it. */
  readonly peerNext: Sourced;
  readonly ownNext: Sourced;
  /** How much later than the first rank the last one begins a launch, where ranks wait for each other in each. */
  readonly skew: Sourced;
  /** From a packet's being sent until it can be seen; what twice as many blocks, whose last one counts, add to it; and a look at it. */
  readonly packet: Sourced;
  readonly packetSpread: Sourced;
  readonly packetLoad: Sourced;
}

export interface Machine extends Rates {
  readonly name: string;
  readonly title: string;
  /** `sm_90a` */
  readonly arch: string;
  /** What the names of its GPUs have in them: several devices share an architecture. */
  readonly gpu: string;
  readonly multiprocessors: number;
  /** GPUs of one host, which reach each other at these rates. */
  readonly ranks: number;
  /** Ranks that share addresses, in runs of so many consecutive ones; absent: all of them. */
  readonly ranksPerDomain?: number;
  /** Bytes that the second-level cache holds: so many of what one stretch of a launch touches stay there. */
  readonly cachedBytes: Sourced;
  /** Blocks that fill the wire with stores, and with loads: more move no bytes faster. */
  readonly storeBlocks: Sourced;
  readonly loadBlocks: Sourced;
  /** What the wire and a flag allow a kernel that does nothing else: floors of every time. */
  readonly peak: Sourced;
  readonly exchange: Sourced;
  /** Operations a second on f32 numbers, one a lane and instruction. */
  readonly scalar: Sourced;
  /** Multiplications and additions a second in products of 16-bit matrices. */
  readonly tensor: Sourced;
  /** Operations a second on elements of accumulators, where loads and stores are operations, too: a block's consumers are few threads, and wait for each result. */
  readonly accumulator: Sourced;
  /** Bytes a second of tiles that all blocks together copy from the second-level cache. */
  readonly cache: Sourced;
  /** What a copy by an engine takes, besides its bytes, that waits for the one before it. */
  readonly copyNext: Sourced;
  /** Seconds that a product takes longer for each second that its own blocks send what it awaits. */
  readonly moverDrag: Sourced;
  /** Fitted to times of kernels that ran there; else published numbers, and those of the nearest machine that was. */
  readonly isCalibrated: boolean;
}

const of = (value: number, source: string): Sourced => ({ value, source });

const MEASURED_ON_4_H100 =
  "measured on 4×H100, every pair NV18, 2026-11, 64 MiB of bf16 by 32, 64, 132 blocks: all_gather/push 157, 152, 150 µs, all_reduce/push " +
  "314, 300, 289; two_shot 327, 319, 320, reduce_scatter/pull 164, 162, 164, broadcast/relay 194, 202, 219";
const MEASURED = "measured on 4×H200, every pair NV18, no multicast, 2026-11";
const COPIED =
  "measured on 2×H200, both ways at once beside a copy in own memory, 2026-11: copies between two barriers, in a graph of 10";
const WIDE =
  "measured on 2×H200, 2026-11, 256 MiB of all_gather/push: 434 µs with 32 blocks, 389 with 64, 376 with 132; two_shot 877, 818, 791";
const FITTED =
  "fitted to the library's times in bench/results, 2026-11; bench/results/prediction.md has what is left over";
const DATA_SHEET = "NVIDIA's data sheet";

const fitted = (source: string, values: Partial<Record<keyof Rates, number>>): Partial<Machine> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, of(value, source)]));

const FITTED_TO_4_H200 =
  "fitted by `bench/fit.mjs` to 2026-11-28-4x-nvidia-h200-tune.json; off by 5 % in the median there";

const h200x4: Machine = {
  name: "h200x4",
  title: "4×H200, NVLink 4, every pair NV18",
  arch: "sm_90a",
  gpu: "H200",
  multiprocessors: 132,
  ranks: 4,
  cachedBytes: of(50e6, "NVIDIA H100 Tensor Core GPU Architecture: 50 MB"),
  storeBlocks: of(132, MEASURED_ON_4_H100),
  loadBlocks: of(32, `${MEASURED}: 24 blocks of 512 threads fill the wire with loads; ${MEASURED_ON_4_H100}`),
  peak: of(347e9, `${MEASURED}: 345 to 350 GB/s with 16-byte stores from 28 blocks up`),
  exchange: of(1.33e-6, `${MEASURED}: release to acquire, system scope, one way`),
  push: of(347e9, "measured on 4×H200, 2026-11-28: all_gather/push of 256 MiB takes 579 µs"),
  pairPush: of(366e9, "h100x4's: all_gather/ring of 128 MiB takes 305 µs"),
  pull: of(313e9, FITTED_TO_4_H200),
  serve: of(364e9, FITTED_TO_4_H200),
  blockPush: of(23e9, `${FITTED}, with 4 to 132 blocks`),
  blockPull: of(30e9, `${FITTED}, with 4 to 132 blocks`),
  copyEngine: of(422e9, FITTED_TO_4_H200),
  copyEnginePull: of(409e9, FITTED_TO_4_H200),
  copyEnginePort: of(435e9, FITTED_TO_4_H200),
  copyStart: of(14.7e-6, FITTED_TO_4_H200),
  ownCopyStart: of(1.39e-6, FITTED_TO_4_H200),
  bulkCopy: of(350e9, "published for 8×H100: ParallelKittens, arXiv 2511.13940"),
  memory: of(4.15e12, FITTED_TO_4_H200),
  cachedMemory: of(4.05e12, FITTED_TO_4_H200),
  blockMemory: of(65.1e9, FITTED_TO_4_H200),
  scalar: of(33.5e12, `${DATA_SHEET}: 67 TFLOP/s of f32, counted as two operations each`),
  tensor: of(
    720e12,
    "cuBLAS and collc, bf16, 4096³ and above on random data: 640 to 760e12, from one H200 to another, 2026-11; fitted with `accumulator`",
  ),
  accumulator: of(
    6e12,
    "fitted, with `tensor`, to 280 products beside collectives and alone on 2 and 4 H200, 2026-11-28 and 29: off by 9 % in the mean, by 17 % without it and without tiles that leave one by one",
  ),
  cache: of(13e12, "measured on an H200, 2026-11: 4096³ by tiles of 128×256 with its loads alone takes 123 µs"),
  copyNext: of(
    5e-6,
    "measured on 2×H200, 2026-11-29: 128 to 512 rows of 6144×4096, 28672×4096 and 10240×8192, by four copies of rows and four of words behind a start of 11 µs, take what 3 to 6 µs each account for",
  ),
  moverDrag: of(
    0.35,
    "fitted to 2026-11-28-4x-nvidia-h200-all_gather_matmul.json and -2.json: the median of 17 products that movers feed, of their times less the model's without it, by seconds sent",
  ),
  launch: of(0.58e-6, `${MEASURED}: an empty kernel in a graph`),
  earlyLaunch: of(
    0.4e-6,
    "measured on 2×H100, 2026-11: 30 programs of 1 KiB to 1 MiB take 0.2 to 0.6 µs less, by graphs of 10",
  ),
  flag: of(0.399e-6, FITTED_TO_4_H200),
  release: of(0.339e-6, FITTED_TO_4_H200),
  flagRank: of(0.07e-6, FITTED_TO_4_H200),
  drain: of(0.629e-6, FITTED_TO_4_H200),
  ownDrain: of(1.38e-6, FITTED_TO_4_H200),
  grid: of(0.249e-6, FITTED_TO_4_H200),
  peerLoad: of(1.33e-6, FITTED_TO_4_H200),
  ownLoad: of(1.38e-6, FITTED_TO_4_H200),
  peerNext: of(1.31e-6, FITTED_TO_4_H200),
  ownNext: of(0.433e-6, FITTED_TO_4_H200),
  skew: of(0.175e-6, FITTED_TO_4_H200),
  packet: of(0.0987e-6, FITTED_TO_4_H200),
  packetSpread: of(0.0887e-6, FITTED_TO_4_H200),
  packetLoad: of(0.756e-6, FITTED_TO_4_H200),
  isCalibrated: true,
};

const FITTED_TO_2_H200 =
  "fitted by `bench/fit.mjs` to 2026-11-28-2x-nvidia-h200-tune.json; off by 5 % in the median there";

const h200x2: Machine = {
  ...h200x4,
  name: "h200x2",
  title: "2×H200, NVLink 4, NV18",
  ranks: 2,
  storeBlocks: of(132, WIDE),
  loadBlocks: of(132, WIDE),
  push: of(357e9, WIDE),
  pairPush: of(362e9, "measured on 2×H200, 2026-11-28: all_gather/push of 128 and 256 MiB takes 189 and 374 µs"),
  ownLoad: of(1.4e-6, "by hand, for products of few rows; 1.25e-6 fits 2026-11-28-2x-nvidia-h200-tune.json"),
  copyEnginePull: of(356e9, COPIED),
  copyEnginePort: of(760e9, COPIED),
  moverDrag: of(
    0.14,
    "fitted to 2026-11-29-gpu-sweep-fed-products-2-ranks.jsonl by least squares: 27 times of 1024 to 16384 rows with movers less those beside copy engines, and what the model has the engines take longer",
  ),
  cachedMemory: of(
    4.5e12,
    "between what fits 2026-11-28-2x-nvidia-h200-tune.json, 4.7e12, and products of few rows (2026-11-24-1x-nvidia-h200-products.json), 4.1e12",
  ),
  ...fitted(FITTED_TO_2_H200, {
    pull: 325e9,
    serve: 333e9,
    memory: 3.82e12,
    flag: 0.924e-6,
    release: 0.99e-6,
    flagRank: 0.06e-6,
    drain: 0.481e-6,
    ownDrain: 0.87e-6,
    grid: 1.07e-6,
    peerLoad: 1.5e-6,
    copyEngine: 408e9,
    copyStart: 10.8e-6,
    ownCopyStart: 3.61e-6,
  }),
  // Packets since ranks send themselves none; what barriers take was left as it was, for products are fitted to it.
  ...fitted("fitted to 2026-11-30-2x-nvidia-h200-tune.json by bench/fit.mjs", {
    ownNext: 0.413e-6,
    skew: 0.151e-6,
    packet: 0.295e-6,
    packetSpread: 0.045e-6,
    packetLoad: 0.46e-6,
  }),
};

/** Another device's rates from those of a calibrated machine, where nobody has measured them. */
function scaled(machine: Machine, wire: number, memory: number, title: string): Partial<Machine> {
  const by = (rate: Sourced, factor: number, what: string): Sourced =>
    of(rate.value * factor, `${title}: ${machine.name}'s, times ${factor.toFixed(2)}, the ratio of published ${what}`);
  return {
    ...Object.fromEntries(
      (
        [
          "peak",
          "push",
          "pairPush",
          "pull",
          "serve",
          "blockPush",
          "blockPull",
          "copyEngine",
          "copyEnginePull",
          "copyEnginePort",
          "bulkCopy",
        ] as const
      ).map((k) => [k, by(machine[k], wire, "NVLink rates")]),
    ),
    memory: by(machine.memory, memory, "memory rates"),
    cachedMemory: by(machine.cachedMemory, memory, "memory rates"),
    blockMemory: by(machine.blockMemory, memory, "memory rates"),
    isCalibrated: false,
  };
}

/** H100s in place of H200s: the same chip and links, and slower memory. */
function withH100(machine: Machine, ranks: number): Machine {
  return {
    ...machine,
    ...scaled(machine, 1, 3.35 / 4.8, "H100 SXM has the H200's NVLink 4 and 3.35 TB/s of memory"),
    cachedMemory: of(machine.cachedMemory.value, `${machine.name}'s: the same chip`),
    name: `h100x${ranks}`,
    title: `${ranks}×H100 SXM, NVLink 4, published rates`,
    gpu: "H100",
    ranks,
  };
}

const FITTED_TO_H100 =
  "fitted by `bench/fit.mjs` at 0695752, from the numbers of h200x2, to 2026-11-26-2x-nvidia-h100-tune.json";
const BY_HAND =
  "by hand, since launches begin without a fence: measured on 2×H100, 2026-11-28, all_reduce/one_shot of 1 KiB and 64 KiB by packets, 2.7 and 3.5 µs";

const h100x2: Machine = {
  ...h200x2,
  name: "h100x2",
  title: "2×H100 SXM, NVLink 4, NV18",
  gpu: "H100",
  ...fitted(FITTED_TO_H100, {
    pairPush: 366e9,
    pull: 334e9,
    serve: 313e9,
    copyEngine: 385e9,
    copyEnginePort: 770e9,
    copyStart: 10.9e-6,
    ownCopyStart: 5.03e-6,
    memory: 3.22e12,
    cachedMemory: 4.96e12,
    flag: 1.4e-6,
    drain: 0.485e-6,
    ownDrain: 0.914e-6,
    grid: 0.963e-6,
    peerLoad: 1.53e-6,
    ownLoad: 1.59e-6,
    ownNext: 0.339e-6,
    skew: 0.237e-6,
    packetSpread: 0.0488e-6,
  }),
  ...fitted(BY_HAND, { release: 1e-6, packet: 0.1e-6, packetLoad: 0.45e-6 }),
};

const FITTED_TO_4_H100 =
  "fitted by `bench/fit.mjs`, from the numbers of h100x2, to ways that load of 2026-11-26-4x-nvidia-h100-tune-of-32-blocks.json and to " +
  "the others of 2026-11-26-4x-nvidia-h100-tune-of-132-blocks.json; off by 5.7 % in the median at 2026-11-26-4x-nvidia-h100-tune.json, taken after";

const BY_HAND_ON_4 =
  "by hand, since launches begin without a fence: less than it was by as much as on 2×H100; not measured on 4";

const h100x4: Machine = {
  ...h100x2,
  name: "h100x4",
  title: "4×H100 SXM, NVLink 4, every pair NV18",
  ranks: 4,
  loadBlocks: h200x4.loadBlocks,
  push: of(350e9, "measured on 4×H100, 2026-11: all_gather/push of 256 MiB takes 579 µs"),
  pairPush: of(366e9, "h100x2's: all_gather/ring of 128 MiB takes 305 µs"),
  ...fitted(FITTED_TO_4_H100, {
    pull: 315e9,
    serve: 359e9,
    copyEngine: 412e9,
    copyEnginePull: 393e9,
    copyEnginePort: 445e9,
    copyStart: 14.9e-6,
    ownCopyStart: 1.12e-6,
    memory: 2.96e12,
    cachedMemory: 5.66e12,
    blockMemory: 57.1e9,
    flag: 0.985e-6,
    flagRank: 0.0661e-6,
    drain: 0.418e-6,
    ownDrain: 1.11e-6,
    grid: 0.854e-6,
    peerLoad: 1.67e-6,
    ownLoad: 1.94e-6,
    peerNext: 1.4e-6,
    ownNext: 0.276e-6,
    skew: 0.229e-6,
    packetSpread: 0.0396e-6,
  }),
  ...fitted(BY_HAND_ON_4, { release: 0.7e-6, packet: 0.1e-6, packetLoad: 0.57e-6 }),
};

const a100x8: Machine = {
  ...h200x4,
  ...scaled(h200x4, 300 / 450, 2.039 / 4.8, "A100 SXM has 300 of 450 GB/s a direction and 2.04 of 4.8 TB/s"),
  name: "a100x8",
  title: "8×A100 SXM 80 GB, NVLink 3, published rates",
  arch: "sm_80",
  gpu: "A100",
  multiprocessors: 108,
  ranks: 8,
  cachedBytes: of(40e6, "NVIDIA A100 Tensor Core GPU Architecture: 40 MB"),
  bulkCopy: of(0, "sm_80 has no bulk copies"),
  scalar: of(9.75e12, `${DATA_SHEET}: 19.5 TFLOP/s of f32, counted as two operations each`),
  tensor: of(250e12, `${DATA_SHEET}: 312 TFLOP/s, of which cuBLAS reaches about 80 %`),
  accumulator: of(3.9e12, "that of an H200, by multiprocessors and clock: 108 of 132, 1.41 of 1.76 GHz"),
  cache: of(7.2e12, "published: 5120 bytes a clock of 1.41 GHz"),
};

/** The first is the one that nobody has to name; of machines alike, the calibrated ones stand first. */
export const MACHINES: readonly Machine[] = [h200x4, h200x2, h100x2, h100x4, withH100(h200x4, 8), a100x8];

export const DEFAULT_MACHINE = h200x4;

/** Machines with the GPUs of this name, as drivers say it: "NVIDIA H100 80GB HBM3". */
export function machinesOf(gpu: string): Machine[] {
  const name = gpu.toUpperCase();
  return MACHINES.filter((m) => name.includes(m.gpu));
}

/**
 * The machine to plan for where nobody says: of the architecture, and large enough; calibrated ones first.
 * @param gpu name of the GPUs, where they are known: machines that have those go before others of the architecture
 */
export function machineFor(arch: string, ranks: number, gpu?: string): Machine {
  const { name } = architectureOf(arch);
  const fits = MACHINES.filter((m) => architectureOf(m.arch).name === name);
  const same = gpu === undefined ? [] : machinesOf(gpu).filter((m) => fits.includes(m));
  const large = [same, fits].map((list) => list.filter((m) => m.ranks >= ranks).sort((a, b) => a.ranks - b.ranks));
  return large.flat()[0] ?? same.at(-1) ?? fits.at(-1) ?? DEFAULT_MACHINE;
}
