import { architectureOf } from "../machine/architectures.js";
import { EVERYBODY } from "../machine/reach.js";
import { DEFAULT_MACHINE, type Machine } from "../machine/machines.js";
import { either, listOf, oneOf, record, type Rule, wholeNumber } from "../rules.js";

import type { ShareOptions } from "./support/depth-shares.js";
import type { RoleShape } from "./support/role-shape.js";

/** The two ways of a conversion that has two. */
export type Algorithm = "one_shot" | "two_shot" | "hierarchical";

/** What passes may depend on besides the kernel: the shape of the machine, and knobs of the mapping. */
export interface PassOptions {
  /** Threads of a block that moves and reduces elements. */
  readonly elementThreads: number;
  /** Threads of a block that multiplies tiles. */
  readonly tileThreads: number;
  /**
   * Of how many threads rows of known length get theirs: `elementThreads` of the mapping that ships. A block with fewer, such as that of proofs,
   * takes several rows at a time where this one does.
   */
  readonly rowThreads: number;
  /**
   * Of a kernel that goes through rows and whose blocks wait for nobody: most threads of a block, and how many blocks a multiprocessor has
   * of it. While threads of one block meet, others load.
   */
  readonly rowBlocks: { readonly threads: number; readonly each: number };
  /** Most blocks of a kernel that only moves and reduces; more do not move bytes faster over NVLink. */
  readonly elementBlocks: number;
  /** The same of one that loads from peers, if it is fewer: loads fill the wire sooner, and stand in each other's way. */
  readonly loadBlocks: number;
  /** Most blocks of a kernel that does more with its elements than the wire takes time for; see `support/busy.ts`. */
  readonly busyBlocks: number;
  /** Most blocks of a kernel that multiplies: as many as are resident. */
  readonly tileBlocks: number;
  /** Rows, columns and depth of a tile of a product, and stages of its pipeline; null where the machine has none. */
  readonly tile: { readonly m: number; readonly n: number; readonly k: number; readonly stages: number } | null;
  /** How a product is divided among roles, where the machine has the instructions for that; null where it has not. */
  readonly roles: RoleShape | null;
  /** When blocks share the steps of tiles that do not fill a round; null if they never do. */
  readonly shares: ShareOptions | null;
  /** Whether blocks take their places while the launch before theirs runs (`Kernel.early`). */
  readonly earlyLaunch: boolean;
  /** Bytes of the widest memory access of one thread. */
  readonly accessBytes: number;
  /**
   * Rows of a block in a slab, where an exchange is overlapped with the work on what it brought; 0 where it is not
   * (`overlap-exchanges`).
   */
  readonly slabRows: number;
  /** How conversions that can be done in several ways are done; see `choose-algorithms`. */
  readonly algorithm: Algorithm;
  /** Wide loads each thread should have in flight. */
  readonly loadsInFlight: number;
  /** The same while a block folds a row, whose elements are neighbours: pages are few, and a block has its row to itself. */
  readonly rowLoadsInFlight: number;
  /**
   * `written`: elements travel as the program says, as loads from peers or stores to them. `staged`: all of them are sent to
   * scratch of the rank that wants them, where that can be (`stage-transfers.ts`).
   */
  readonly transfers: "written" | "staged";
  /**
   * What says that staged elements have arrived. `barrier`: the barriers that derive-sync finds. `packet`: the elements
   * themselves, in packets, so that nobody waits for anything else. Their memory is 2 × as much as all ranks send to one, for
   * integers 4 ×: choose it for kernels whose launches are not too large for that.
   */
  readonly protocol: "barrier" | "packet";
  /**
   * Who carries out what is only copied between tensors of the caller. `blocks`: the kernel's. `engine`: the GPU's copy engines,
   * as steps between kernels, which reach a higher rate on the wire and leave the multiprocessors alone, but begin later. `beside`: the
   * engines carry out what is gathered for a product while it goes on, which awaits it part by part (`program/fed-products.ts`).
   */
  readonly copies: "blocks" | "engine" | "beside";
  /** Ranks that share addresses, in runs of so many (`machine/reach.ts`): what crosses goes in messages (`send-messages`). */
  readonly ranksPerDomain: number;
}

const count = (min: number, max: number) => wholeNumber(min, max);
const registers = count(24, 248);
const dividedRegisters = either(
  (value) => (value === null ? null : "null"),
  record({ consumer: registers, producer: registers }),
);

/** What each option may be. A row for each, so that what callers give is checked; see `checkOptions`. */
export const PASS_OPTION_RULES: Readonly<Record<keyof PassOptions, Rule>> = {
  elementThreads: count(1, 1024),
  tileThreads: count(1, 1024),
  rowThreads: count(1, 1024),
  rowBlocks: record({ threads: count(1, 1024), each: count(1, 32) }),
  elementBlocks: count(1, 2 ** 16),
  loadBlocks: count(1, 2 ** 16),
  busyBlocks: count(1, 2 ** 16),
  tileBlocks: count(1, 2 ** 16),
  tile: record({ m: count(1, 1024), n: count(1, 1024), k: count(1, 1024), stages: count(1, 16) }),
  roles: either(
    (value) => (value === null ? null : "null"),
    record({
      m: count(1, 1024),
      n: count(1, 1024),
      k: count(1, 1024),
      stages: count(1, 16),
      consumers: count(1, 1024),
      producers: count(1, 1024),
      registers: dividedRegisters,
      gathering: dividedRegisters,
      group: count(1, 1024),
      few: either(
        (value) => (value === null ? null : "null"),
        record({ n: count(1, 1024), stages: count(1, 16), rows: count(1, 1024) }),
      ),
      narrower: listOf(count(1, 1024)),
      shards: record({
        most: count(1, 1024),
        elements: record({ inTurn: count(1, 2 ** 30), whole: count(1, 2 ** 30) }),
      }),
    }),
  ),
  shares: either(
    (value) => (value === null ? null : "null"),
    record({ meeting: count(0, 2 ** 20), putting: count(0, 2 ** 20), adding: count(0, 1024) }),
  ),
  earlyLaunch: oneOf([false, true]),
  accessBytes: oneOf([1, 2, 4, 8, 16, 32]),
  algorithm: oneOf(["one_shot", "two_shot", "hierarchical"]),
  slabRows: count(0, 2 ** 20),
  loadsInFlight: count(1, 1024),
  rowLoadsInFlight: count(1, 1024),
  transfers: oneOf(["written", "staged"]),
  protocol: oneOf(["barrier", "packet"]),
  copies: oneOf(["blocks", "engine", "beside"]),
  ranksPerDomain: count(1, EVERYBODY),
};

/**
 * The options for a machine. Chosen on 4×H200, 2026-11 (64 MiB bf16, µs): with 8 loads in flight instead of 4, all_gather push takes 317 instead of
 * 161 and two_shot 569 instead of 353, because each thread's accesses then fall into more pages than the TLB of its
 * multiprocessor holds; 32 blocks instead of 64 bring two_shot from 353 to 341 and cost all_gather push 4 %,
 * which is why loads and stores have numbers of their own.
 */
export function passOptionsFor(machine: Machine): PassOptions {
  return {
    elementThreads: 512,
    rowThreads: 512,
    rowBlocks: { threads: 128, each: 8 },
    tileThreads: 256,
    elementBlocks: Math.min(machine.storeBlocks.value, machine.multiprocessors),
    loadBlocks: Math.min(machine.loadBlocks.value, machine.multiprocessors),
    busyBlocks: machine.multiprocessors,
    tileBlocks: machine.multiprocessors,
    tile: { m: 128, n: 256, k: 64, stages: 3 },
    roles: architectureOf(machine.arch).hasWgmma ? WGMMA_ROLES : null,
    shares: SHARES,
    earlyLaunch: architectureOf(machine.arch).hasEarlyLaunch,
    accessBytes: architectureOf(machine.arch).accessBytes,
    slabRows: 0,
    algorithm: "two_shot",
    loadsInFlight: 4,
    rowLoadsInFlight: 12,
    transfers: "written",
    protocol: "barrier",
    copies: "blocks",
    ranksPerDomain: machine.ranksPerDomain ?? EVERYBODY,
  };
}

/**
 * One accumulator of 64×256 a warp group is what the registers hold, and four stages of 48 KiB what shared memory does. On
 * an H200, bf16, 4096³ (2026-11): 745 TFLOP/s, with three stages 681, with tiles of 128×128 and six stages 631. Parts of a shard: 4×H100, all_gather + matmul
 * of 8192×8192 weights, µs with 1, 2, 4 and 8 parts: 2048 rows 195, 164, 150, –; 4096 rows 297, 272, 252, 286; 8192 rows 508, 501, 476, 431 (2026-11-27). Those were told
 * by a block that moved, too; told by one that does not, 1024 rows take 109 with 2 parts, 2048 rows 136 with 4 and 8, 4096 rows 235 with 4 and 249 with 8, 8192 rows 436.
 */
const WGMMA_ROLES: RoleShape = {
  m: 128,
  n: 256,
  k: 64,
  stages: 4,
  consumers: 256,
  producers: 128,
  registers: { consumer: 208, producer: 88 },
  gathering: { consumer: 192, producer: 120 },
  group: 8,
  few: { n: 64, stages: 8, rows: 128 },
  narrower: [224, 192, 160, 128],
  shards: { most: 8, elements: { inTurn: 2 ** 20, whole: 2 ** 21 } },
};

/**
 * In units of some 2.5 ns, the time that a step has for a column: to tell of a piece and to hear of it counts as 1 µs, and to put or add one of 128×64
 * as another: what fits 256×2560×8192 and 2048×2560×8192 with their depths cut, on an H200 (2026-11), of which the whole was measured and no part.
 */
const SHARES: ShareOptions = { meeting: 400, putting: 100, adding: 5 };

export const DEFAULT_PASS_OPTIONS: PassOptions = passOptionsFor(DEFAULT_MACHINE);
