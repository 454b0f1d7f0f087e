/** Why mutants that the prover accepts behave no differently. A survivor that stands here for no reason is a failure. */
import type { Mutant } from "./mutants.js";

const EMPTY_GROUPS =
  "the loop commits an empty group for each step past the end, so that its own copy_wait has landed every real copy";
const HAS_BEGUN =
  "the first barrier says only that the rank's kernel has begun, which its stream orders; what its threads have done in it does not matter to the rank that is told";

const FIRST_WORD =
  "it is what a launch says first, and the compiler takes a release there where it cannot tell that all ranks release what they store to peers";

const ROLES_MEET =
  "all threads of a block meet before its roles begin and after they end (`ring_begin`, `ring_end`), so that the block_sync beside them is a second one";

const AWAITED =
  "the producers have awaited the ranks that they read rows of, and nothing that comes after the product reads what the movers have gathered";

const OWN_TOLD =
  "a rank tells itself of rows that it has not copied, so that the word counts for other launches, too: nothing was stored before it, and nobody reads anything after it";
const LAST_PART =
  "a depth that is not cut is awaited from its first part on: the word after that one's is the last part's, which is told when both have come";

const OWN_ROWS =
  "each row has synchronised its block after the last load from a peer; what follows is stores of its own, which no rank reads";

const SENT = "movers have met after the last tile that they sent, before they gave its slot back";
const ALL_FLAGS =
  "the threads of a block await the flags of all blocks of all ranks, and the one after each of these is one of them";
/** A product, or two of one loop, whose rows are gathered meanwhile. */
const GATHERED = {
  "next slot of wait #2": LAST_PART,
  "drop block_sync #4": HAS_BEGUN,
  "drop block_sync #6": OWN_TOLD,
  "relax signal #3": OWN_TOLD,
  "relax wait #4": OWN_TOLD,
  "relax signal #4": OWN_TOLD,
  "narrow signal #4": OWN_TOLD,
  "relax wait #6": AWAITED,
  "narrow wait #6": AWAITED,
  "next slot of wait #6": AWAITED,
  "drop block_sync #8": ROLES_MEET,
  "narrow barrier #2": AWAITED,
  "first pair less in barrier #2": AWAITED,
  "last pair less in barrier #2": AWAITED,
};
/** A product that is scattered. */
const SCATTERED = {
  "of launches, signal #1": FIRST_WORD,
  "drop block_sync #1": ROLES_MEET,
  "drop block_sync #9": SENT,
  "drop block_sync #10": ROLES_MEET,
  "next slot of wait #4": ALL_FLAGS,
};
/** One that is added up for all: its kernel begins without a barrier. */
const REDUCED = {
  "drop block_sync #8": SENT,
  "drop block_sync #9": ROLES_MEET,
  "next slot of wait #3": ALL_FLAGS,
};

const EXCUSES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "all_gather/bruck": {
    "narrow barrier #1":
      "the first turn copies one row, each element by the block that wrote it; derive-sync compares rows of two indices with rows of one and asks for all blocks",
  },
  "all_gather/ring": { "drop block_sync #1": HAS_BEGUN, "of launches, signal #1": HAS_BEGUN },
  "all_reduce/hierarchical_in_chunks": { "drop block_sync #1": HAS_BEGUN, "of launches, signal #1": HAS_BEGUN },
  "all_reduce/rails_in_chunks": { "drop block_sync #1": HAS_BEGUN, "of launches, signal #1": HAS_BEGUN },
  "broadcast/relay": { "of launches, signal #1": FIRST_WORD },
  "broadcast/ring": { "drop block_sync #1": HAS_BEGUN, "of launches, signal #1": FIRST_WORD },
  gather: { "of launches, signal #1": FIRST_WORD },
  "gather/push": { "of launches, signal #1": FIRST_WORD },
  "broadcast/tree": { "drop block_sync #1": HAS_BEGUN, "of launches, signal #1": FIRST_WORD },
  "matmul/all_gather": GATHERED,
  "matmul/all_gather_swiglu": GATHERED,
  "matmul/all_gather by stages": { "drop copy_wait #2": EMPTY_GROUPS },
  "matmul/reduce_scatter": SCATTERED,
  "matmul/reduce_scatter_bias_gelu": SCATTERED,
  "matmul/all_reduce": REDUCED,
  "matmul/all_reduce_bias_gelu": REDUCED,
  "matmul/all_gather_qkv": {
    "drop block_sync #10": HAS_BEGUN,
    "drop block_sync #12": OWN_TOLD,
    "relax signal #5": OWN_TOLD,
    "relax wait #8": OWN_TOLD,
    "relax signal #6": OWN_TOLD,
    "narrow signal #6": OWN_TOLD,
    "relax wait #10": AWAITED,
    "narrow wait #10": AWAITED,
    "next slot of wait #10": AWAITED,
    "drop block_sync #14": ROLES_MEET,
    "narrow barrier #2": AWAITED,
    "first pair less in barrier #2": AWAITED,
    "last pair less in barrier #2": AWAITED,
  },
  "fused/all_reduce_rms_norm": { "drop block_sync #11": OWN_ROWS },
  "permute/send": {
    "of launches, signal #1": FIRST_WORD,
    "drop block_sync #3": "nothing happens on the receiving rank between the barrier at the start and the wait",
    "drop count of store #34":
      "a block that has not run for a launch then takes word from other blocks too early, but it reads what the block of its own number sends, whose flag waited like itself",
  },
  "reduce_scatter/hierarchical": {
    "drop block_sync #4":
      "the last barrier tells ranks of one node that their inputs have been loaded, after which the block has met before the barrier between nodes",
  },
  "reduce_scatter/ring": {
    "drop block_sync #3":
      "it keeps the count of launches from being stored before all threads have read it, which the barriers inside the loop do as well",
  },
};

export function excuseOf(file: string, mutant: Mutant): string | null {
  const excuses = EXCUSES[file];
  // A word that may say nothing may say what launches before it did.
  const less = mutant.name.replace(/^of launches,/, "relax");
  return excuses?.[mutant.name] ?? excuses?.[less] ?? null;
}
