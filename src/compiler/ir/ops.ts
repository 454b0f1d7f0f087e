/**
 * The op table: every operation of the IR, as data. The printer, the parser, both verifiers, the CPU
 * interpreter, the CUDA emitter and the documentation read it; nothing else lists ops.
 *
 * Operand order, where an op takes memory: `[value?] [peer?] index…`; `peer` is there when the
 * attribute `remote` is true. Memory is named by the attribute `buffer`, an entry of `kernel.buffers`.
 */

/** Ops of whole tensors stand at the top of a tensor-level kernel, between loops over elements that its author wrote. */
export type Level = "tensor" | "rank" | "device";
export const LEVELS: readonly Level[] = ["tensor", "rank", "device"];

/**
 * - `pure`: depends on operands alone; may be moved, repeated or dropped.
 * - `read`/`write`: touches memory, in program order. `sync`: orders memory between threads, blocks or ranks.
 * - `control`: holds regions, or ends one.
 */
export type Effect = "pure" | "read" | "write" | "sync" | "control";

export type AttributeKind = "int" | "number" | "string" | "bool" | "buffer" | "layout" | readonly string[];

export interface OpDefinition {
  readonly levels: readonly Level[];
  readonly effect: Effect;
  /** Fewest and most operands. */
  readonly operands: readonly [number, number];
  readonly results: 0 | 1;
  /** Number of regions, and how many index arguments each takes (`pairs`: one for each two operands). */
  readonly regions?: { readonly count: number; readonly arguments: 0 | 1 | "pairs" };
  readonly attributes?: Readonly<Record<string, AttributeKind>>;
  readonly optional?: Readonly<Record<string, AttributeKind>>;
  /** Whether it may suspend the thread that carries it out until others have done something. */
  readonly suspends?: true;
  readonly doc: string;
}

const T = ["tensor"] as const;
const TRD = ["tensor", "rank", "device"] as const;
const R = ["rank"] as const;
const RD = ["rank", "device"] as const;
const D = ["device"] as const;
const MANY = 16;

export const BINARY_FUNCTIONS = [
  "add",
  "sub",
  "mul",
  "div",
  "rem",
  "min",
  "max",
  "pow",
  "and",
  "or",
  "xor",
  "shl",
  "shr",
] as const;
export const UNARY_FUNCTIONS = [
  "neg",
  "not",
  "exp",
  "exp2",
  "expm1",
  "log",
  "log1p",
  "sqrt",
  "rsqrt",
  "sin",
  "cos",
  "tanh",
  "erf",
  "abs",
  "relu",
  "gelu",
  "silu",
  "sigmoid",
  "floor",
  "ceil",
  "round",
  "trunc",
] as const;
export const COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"] as const;
export const FOLDS = ["sum", "mean", "min", "max", "prod"] as const;
export const PACKET_FORMATS = ["epoch", "inverted"] as const;
/** Bytes of data in a packet of 16. */
export const PACKET_BYTES: Readonly<Record<(typeof PACKET_FORMATS)[number], number>> = { epoch: 8, inverted: 16 };
export const REDUCTIONS = ["sum", "min", "max", "prod"] as const;

// prettier-ignore
export const OPS = {
  // -- values -------------------------------------------------------------------------------------
  const: { levels: TRD, effect: "pure", operands: [0, 0], results: 1, attributes: { value: "number" }, doc: "A literal of the result's type; bools are 0 and 1." },
  dim: { levels: TRD, effect: "pure", operands: [0, 0], results: 1, attributes: { name: "string" }, optional: { near: "bool" }, doc: "Run-time value of a dimension of the signature. `near`: taken where it stands, so that what depends on it is computed there, not before." },
  scalar: { levels: TRD, effect: "pure", operands: [0, 0], results: 1, attributes: { name: "string" }, doc: "The number of that name that the launch was given, the same on every rank: as a value of its dtype, or, at tensor level, as what elements of the result's dtype are computed in, unrounded." },
  rank: { levels: TRD, effect: "pure", operands: [0, 0], results: 1, optional: { near: "bool" }, doc: "This rank's number. The world size is a constant. `near`: as of `dim`." },
  launch_parity: { levels: RD, effect: "pure", operands: [0, 0], results: 1, doc: "0 in the group's first launch of this kernel, then 1 and 0 in turn: the same on every rank. Scratch in two copies is taken by it." },
  launch_epoch: { levels: RD, effect: "pure", operands: [0, 0], results: 1, doc: "The number of this launch of the kernel in the group, a u32 that begins with 1: the same on every rank." },
  binary: { levels: TRD, effect: "pure", operands: [2, 2], results: 1, attributes: { fn: BINARY_FUNCTIONS }, doc: "Elementwise; both operands and the result have one type. Index division floors, operands are not negative." },
  unary: { levels: TRD, effect: "pure", operands: [1, 1], results: 1, attributes: { fn: UNARY_FUNCTIONS }, doc: "Elementwise function." },
  compare: { levels: TRD, effect: "pure", operands: [2, 2], results: 1, attributes: { fn: COMPARISONS }, doc: "Elementwise comparison, gives bool." },
  select: { levels: TRD, effect: "pure", operands: [3, 3], results: 1, doc: "operand 0 ? operand 1 : operand 2." },
  cast: { levels: TRD, effect: "pure", operands: [1, 1], results: 1, doc: "To the result's element type; to a narrower float rounds to nearest even, to f8 saturates." },
  pack: { levels: D, effect: "pure", operands: [2, MANY], results: 1, doc: "A vector of the scalar operands, the first in lane 0." },
  lane: { levels: D, effect: "pure", operands: [1, 1], results: 1, attributes: { lane: "int" }, doc: "One lane of a vector." },
  splat: { levels: D, effect: "pure", operands: [1, 1], results: 1, doc: "A vector with the scalar operand in each lane." },
  // -- whole tensors ------------------------------------------------------------------------------
  iota: { levels: T, effect: "pure", operands: [0, 0], results: 1, attributes: { dim: "int" }, doc: "Of each element, its index along a dimension." },
  input: { levels: T, effect: "pure", operands: [0, 0], results: 1, attributes: { buffer: "buffer" }, optional: { stores: "int" }, doc: "The tensor a buffer holds here. `stores`, where there are several: how often it has been stored to, which tells reads before a store from those after it." },
  matmul: { levels: T, effect: "pure", operands: [2, 2], results: 1, doc: "Matrix product […,m,k]·[…,k,n], accumulated in f32 (i32 for integers); dimensions before the last two are batches, and broadcast." },
  convert: { levels: T, effect: "pure", operands: [1, 1], results: 1, optional: { algorithm: ["one_shot", "two_shot", "hierarchical"], ranksPerDomain: "int", narrow: "bool", why: "string" }, doc: "The same logical tensor in the result type's layout: the one op that communicates at this level. `algorithm`, where there is a choice: `one_shot`, every rank reads what it needs from all; `two_shot`, each computes a part and gives it to all; `hierarchical`, each does so among the `ranksPerDomain` ranks that share its addresses, with the parts of its counterparts elsewhere. `narrow`: what is computed from more bytes than it has travels computed, and what is stored in more bytes travels before it is; without it, peers read what it is computed from, and are sent what is stored. `why` says so in words." },
  expand: { levels: T, effect: "pure", operands: [1, 1], results: 1, doc: "Broadcasts to the result's shape: dimensions are matched from the last one, and one of length 1 repeats." },
  fold: { levels: T, effect: "pure", operands: [1, 1], results: 1, attributes: { fn: FOLDS, dim: "int" }, doc: "Folds along a dimension, in any order; the dimension has length 1 afterwards." },
  permute: { levels: T, effect: "pure", operands: [1, 1], results: 1, attributes: { order: "string" }, doc: "Dimension d is the operand's dimension order[d], as in \"1,0\"." },
  repeat: { levels: T, effect: "pure", operands: [1, 1], results: 1, attributes: { dim: "int", times: "int" }, doc: "Each index of a dimension `times` times, one after the other: index i is the operand's i / `times`." },
  reshape: { levels: T, effect: "pure", operands: [1, 1], results: 1, doc: "The same elements, counted row-major, in the result's shape." },
  slice: { levels: T, effect: "pure", operands: [2, MANY], results: 1, doc: "The part of the result's shape that begins at the indices. Operands: tensor, one index a dimension." },
  concat: { levels: T, effect: "pure", operands: [2, MANY], results: 1, attributes: { dim: "int" }, doc: "The operands one after the other along a dimension." },
  output: { levels: T, effect: "write", operands: [1, 1], results: 0, attributes: { buffer: "buffer" }, doc: "Stores what this rank has of a tensor in the buffer." },
  // -- structure ----------------------------------------------------------------------------------
  for: {
    levels: TRD, effect: "control", operands: [2, MANY], results: 0, regions: { count: 1, arguments: "pairs" },
    attributes: { map: ["tiles", "rows", "ranks", "serial", "blocks", "threads", "fragment"] }, optional: { unordered: "bool", unroll: "int", spread: "bool", across: "bool", fragment: "buffer", twin: "buffer", through: "buffer", lanes: "int", limit: ["columns"], engine: "bool", arrived: "buffer", sent: "buffer" },
    doc: "Runs its region for every index in lo..hi (one pair of operands a variable). `tiles`: elements in any order, spread over the machine (rank level). `rows`: in any order, each iteration by one block, which goes through the tile loops inside one after the other with all its threads (rank level). `ranks`: in any order. `serial`: in order; with `unordered`, any order would do. `blocks`: those indices that are this block's number modulo the grid, in order. `threads`: spread over the block's threads, in any order; the body synchronises nothing. `fragment`: elements of the accumulator of that name, counted row by row, each by a thread of the warp that has it in its registers, as many neighbours at a time as `lanes` says (1 if it does not); a warp's threads hand them to each other through its rows of the shared buffer `through`, some columns after the other; the body loads of the accumulator, and of `twin`, another one of that shape, what its iteration counts, and synchronises nothing; with `limit`, only elements of the first so many columns, as a third operand says. `unroll`: how many iterations of a thread to write out in one, where that should not be the C compiler's choice. `spread`, of `tiles`: blocks may take the tiles in any way, and share those of a loop over ranks around it. `across`, of `rows`: terms of neighbouring iterations lie side by side, and a block takes neighbours together; which ones, no other loop shares. `engine`, of `tiles`: it only copies, and is for the copy engines. `arrived` and `sent`, of `tiles` that send a shard: engines carry it out beside the kernel, of which nothing is left where the product awaits their words (`await_copies`).",
  },
  message: { levels: R, effect: "control", operands: [0, 0], results: 0, regions: { count: 1, arguments: 0 }, optional: { beside: "bool" }, doc: "Messages between ranks that share no addresses: what the tile loops of its region store on peers goes there in one run each, all of them together. Each rank sends after all that it did before and receives before all that it does next; nothing else is ordered. `beside`: they go on beside what the rank does next, up to a `message_wait` for them or the end of the kernel, and begin after the messages before them have ended on this rank. Between kernels, at the top of the body." },
  message_wait: { levels: R, effect: "sync", operands: [0, 0], results: 0, attributes: { pending: "int" }, doc: "All messages `beside` of this rank have ended, but for the `pending` newest. Between kernels, at the top of the body." },
  if: { levels: TRD, effect: "control", operands: [1, 1], results: 0, regions: { count: 2, arguments: 0 }, doc: "First region if the operand is true, else the second." },
  reduce: { levels: TRD, effect: "control", operands: [2, 2], results: 1, regions: { count: 1, arguments: 1 }, attributes: { fn: REDUCTIONS }, optional: { unordered: "bool", unroll: "int", product: "string" }, doc: "Folds the values its region yields for lo..hi, in increasing order; with `unordered`, in any order that is the same on every rank. `unroll`: as of `for`. `product`: it was a `contract`, and this is why no unit for matrices takes it." },
  contract: { levels: R, effect: "control", operands: [2, 2], results: 1, regions: { count: 1, arguments: 1 }, optional: { run: "int" }, doc: "One element of a matrix product: the sum over lo..hi of the product of the two values its region yields, accumulated in their type, in an order that is the same on every rank. With `run`, the region yields one or two values more, scales: they are factors, too, and each is one value for every `run` terms from a multiple of `run` on, so that it may multiply the sum of these. The loads behind the two say how the operands lie in memory; the loop around it, whose other ops are its epilogue, says which elements there are." },
  yield: { levels: TRD, effect: "control", operands: [1, 4], results: 0, doc: "Ends the region of a reduce with its value, that of a contract with its two factors and its scales." },
  // -- memory -------------------------------------------------------------------------------------
  load: { levels: TRD, effect: "read", operands: [1, MANY], results: 1, attributes: { buffer: "buffer" }, optional: { remote: "bool", message: "bool" }, doc: "Reads an element, or at device level as many neighbouring ones as the result has lanes (naturally aligned). Operands: [peer] index…; one index a dimension, or one linear index once linearised. `message`: it stands for a message's, in a kernel that is looked at whole; what nobody has written is sent as that." },
  store: { levels: TRD, effect: "write", operands: [2, MANY], results: 0, attributes: { buffer: "buffer" }, optional: { remote: "bool" }, doc: "Writes operand 0. Operands: value [peer] index…" },
  aligned: { levels: D, effect: "pure", operands: [0, 1], results: 1, attributes: { buffer: "buffer", bytes: "int" }, optional: { remote: "bool" }, doc: "Whether the buffer's start address (on the peer in operand 0, if remote) is a multiple of `bytes`." },
  packet_store: { levels: D, effect: "write", operands: [3, 4], results: 0, attributes: { format: PACKET_FORMATS, even: "buffer", odd: "buffer" }, optional: { remote: "bool" }, doc: "Writes operand 0, elements of one dtype, to a slot of 16 bytes. `epoch`: up to 8 bytes and the number in operand 1, which both lie in each half; each half is written in one piece. `inverted`: up to 16 bytes of floats, inverted, so that no word is zero; a word of ones, which is a NaN, goes as another NaN. Odd and even epochs have a buffer each. Operands: data, epoch, [peer], slot." },
  packet_load: { levels: D, effect: "write", suspends: true, operands: [3, 3], results: 1, attributes: { format: PACKET_FORMATS, even: "buffer", odd: "buffer" }, doc: "Takes the elements of a slot as soon as they are there. `epoch`: spins until both halves hold the epoch in operand 0. `inverted`: until no word is zero, and leaves all of them zero; a packet is loaded once. It orders nothing else. Operands: epoch, slot, slots of each rank (slots of rank 0 come first), for the error report. Bounded by the launch's timeout." },
  // -- ordering -----------------------------------------------------------------------------------
  barrier: { levels: TRD, effect: "sync", operands: [0, 1], results: 0, attributes: { scope: ["block", "grid", "launch"], ranks: "string" }, optional: { half: ["arrive", "wait"], message: "bool" }, doc: "Orders accesses of the ranks that tell, before it, before those of the ranks they tell, after it; `ranks` says who tells whom (`ir/rank-pairs.ts`). Between blocks of one number (`block`) or all blocks (`grid`). With `launch`, which stands first in the kernel, before the launch and after it: nothing inside waits. Uniform: every rank passes it. `half`: only what tells, `arrive`, or only what waits, `wait`; operand 0 of a wait says how many arrivals before the newest it waits for. `message`: it stands for the order of messages, in a kernel that is looked at whole." },
  notify: { levels: TRD, effect: "sync", operands: [1, 1], results: 0, doc: "What this rank did before is there for what the rank in operand 0 does after the `await` that matches: its k-th for this rank matches the k-th notify to it. By all blocks of the rank." },
  await: { levels: TRD, effect: "sync", operands: [1, 1], results: 0, doc: "Returns after the next notify from the rank in operand 0 that no earlier await has taken. By all blocks of the rank." },
  block_sync: { levels: RD, effect: "sync", operands: [0, 0], results: 0, doc: "All threads of the block arrive before any leaves." },
  signal: { levels: D, effect: "sync", operands: [2, 3], results: 0, attributes: { buffer: "buffer", mode: ["set", "add"], scope: ["gpu", "sys"], order: ["relaxed", "launch", "release"] }, optional: { remote: "bool" }, doc: "Sets a flag to operand 0, or adds it, after earlier accesses of the block as `order` says: none, those of earlier launches, all. Operands: value [peer] slot. By one thread." },
  wait: { levels: D, effect: "sync", suspends: true, operands: [2, 3], results: 0, attributes: { buffer: "buffer", scope: ["gpu", "sys"], order: ["relaxed", "acquire"] }, doc: "Spins until flag[slot] - value, as a signed 32-bit difference, is not negative. Operands: value, slot, [peer expected to signal, for the error report]. Bounded by the launch's timeout. By one thread." },
  // -- the machine --------------------------------------------------------------------------------
  block: { levels: RD, effect: "pure", operands: [0, 0], results: 1, doc: "This block's number." },
  grid: { levels: RD, effect: "pure", operands: [0, 0], results: 1, doc: "Number of blocks, the same on every rank." },
  // -- tiles of a matrix product (each by a whole block) ----------------------------------------------
  copy_tile: { levels: RD, effect: "read", operands: [3, MANY], results: 0, attributes: { from: "buffer", to: "buffer", rows: "int" }, optional: { remote: "bool", end: ["rows", "columns"], limit: ["rows", "columns"], ring: "buffer", spare: "bool", plain: "bool" }, doc: "Starts copying a tile of a global buffer into stage s of a shared one [stages, rows, columns]. The tile begins at the indices; its rows go along dimension `rows` of the source, its columns along the last. What lies outside the source, or at or beyond `end` along its rows or columns, is zero; with `spare`, rows outside hold anything, for nobody asks for what comes of them; so do those of the tile's rows or columns that are not among the first `limit`. Operands: [peer] index…, stage, [end], [limit]. With `ring` it belongs to the producer of that ring: it lands before what `ring_fill` tells, and no group holds it. `plain`: it lies there row by row, for threads to load, and for no instruction." },
  copy_commit: { levels: RD, effect: "sync", operands: [0, 0], results: 0, doc: "Closes the group of copies started since the last one." },
  copy_wait: { levels: RD, effect: "sync", operands: [0, 0], results: 0, attributes: { pending: "int" }, doc: "This thread's copies have landed, but for the `pending` newest groups." },
  fragment_clear: { levels: RD, effect: "write", operands: [0, 0], results: 0, attributes: { buffer: "buffer" }, doc: "Zeroes a block's accumulator." },
  mma: { levels: RD, effect: "write", operands: [1, 1], results: 0, attributes: { accumulator: "buffer", a: "buffer", b: "buffer" }, optional: { transposed: ["a", "b", "ab"], async: "bool", columns: "int", twin: "buffer", scaleA: "buffer", scaleB: "buffer" }, doc: "accumulator += a[stage]·b[stage], all of the block's tiles; operand 0 is the stage. A tile of a is [m, k] and one of b [k, n]; those of `transposed` are [k, m] and [n, k]. `async`: started, not waited for; it reads its tiles, and nothing may touch the accumulator, until an `mma_wait`. `columns`: only so many of the result are computed, the first; the others hold anything. `twin`, where it is async: the accumulator of a second product of the same a. Then b has two stages for one of a: accumulator += a[stage]·b[2·stage], twin += a[stage]·b[2·stage + 1]. `scaleA`, `scaleB`: what the stage adds to an element is multiplied by the scale of its row and that of its column first: a stage of theirs has one for as many rows of a, or columns of b, as share it." },
  mma_wait: { levels: RD, effect: "sync", operands: [0, 0], results: 0, attributes: { accumulator: "buffer", pending: "int" }, optional: { columns: "int", twin: "buffer" }, doc: "The asynchronous products started so far have ended, but for the `pending` newest. `columns`: as those products have it." },
  fragment_put: { levels: RD, effect: "write", operands: [2, 2], results: 0, attributes: { buffer: "buffer", to: "buffer" }, doc: "Stores the block's accumulator as row `operand 0` of a global buffer of this rank, in the order that `fragment_add` takes; of its rows, perhaps only the first `operand 1`." },
  fragment_add: { levels: RD, effect: "write", operands: [2, 2], results: 0, attributes: { buffer: "buffer", from: "buffer" }, doc: "Adds what `fragment_put` stored as row `operand 0` to the block's accumulator; operand 1 as there." },
  fragment_store: { levels: RD, effect: "write", operands: [0, 0], results: 0, attributes: { from: "buffer", to: "buffer" }, doc: "Writes an accumulator to a shared f32 tile of the same shape." },
  roles: { levels: RD, effect: "control", operands: [0, 0], results: 0, regions: { count: 3, arguments: 0 }, attributes: { consumers: "int", producers: "int", ring: "buffer" }, optional: { movers: "int", outgoing: "buffer", consumerRegisters: "int", producerRegisters: "int" }, doc: "The first region by the block's first `consumers` threads, the second by the `producers` threads after them, the third by the `movers` after those, at the same time; all threads meet before and after. Consumers and producers share the stages of the tiles that go through `ring`, all of them free at first. Movers do what a block does, with a block_sync of their own, and may hold barriers, of which the last says that all is done. Consumers and movers share the stages of `outgoing`, a ring that consumers fill and movers release. Registers of a thread of consumers and of the others, where they are not shared out evenly." },
  shard_sent: { levels: RD, effect: "sync", operands: [3, 3], results: 0, attributes: { parts: "int" }, doc: "The movers of the block have stored what goes to the rank in operand 0 as the parts from operand 1 to before operand 2, of at most `parts`; it is told. The last part is their barrier's arrival there." },
  await_movers: { levels: RD, effect: "sync", suspends: true, operands: [3, 3], results: 0, attributes: { parts: "int" }, doc: "The producer waits until the movers of all blocks of the ranks from operand 0 to before operand 1 have come to their `shard_sent` of the part in operand 2 for this rank." },
  count_launch: { levels: RD, effect: "write", operands: [0, 0], results: 0, attributes: { sent: "buffer" }, doc: "Adds 1 to the word of the buffer, once in the launch, for what comes after the launch." },
  await_copies: { levels: RD, effect: "sync", suspends: true, operands: [3, 3], results: 0, attributes: { arrived: "buffer", sent: "buffer" }, doc: "Waits until copy engines have brought the part in operand 2 of what the ranks from operand 0 to before operand 1 send this one in this launch, but for its own: their words in `arrived`, a row for each rank and in it one for each part, come to the count in `sent`." },
  tile_sent: { levels: RD, effect: "sync", operands: [2, 2], results: 0, attributes: { told: "buffer" }, doc: "The movers of the block have stored a tile that is for the rank in operand 0; its word there, of the tile's number in operand 1 and of this rank, says so." },
  await_tile: { levels: RD, effect: "sync", suspends: true, operands: [1, 1], results: 0, attributes: { told: "buffer" }, doc: "The consumers wait until movers of all other ranks have come to their \`tile_sent\` of the tile in operand 0 in this launch." },
  piece_put: { levels: RD, effect: "sync", operands: [1, 1], results: 0, attributes: { told: "buffer" }, doc: "What the block's consumers did before is there for those who await the piece in operand 0 in this launch: its word in the buffer says so. Once a launch." },
  await_pieces: { levels: RD, effect: "sync", suspends: true, operands: [3, 3], results: 0, attributes: { told: "buffer" }, doc: "The consumers wait until other blocks of this rank have come to their `piece_put` of operand 2 pieces, the first of which is operand 0 and each other operand 1 further." },
  // Positions count what goes through a ring from 0, one after the other; a position's stage is its remainder by the number of stages.
  ring_acquire: { levels: RD, effect: "sync", suspends: true, operands: [1, 1], results: 0, attributes: { ring: "buffer" }, doc: "The producer waits until the stage of the position in operand 0 is free." },
  ring_fill: { levels: RD, effect: "sync", operands: [1, 1], results: 0, attributes: { ring: "buffer" }, optional: { plain: "bool" }, doc: "The producer says that the position is full as soon as the copies it has started since the last `ring_fill` have landed. `plain`: some of them are." },
  ring_wait: { levels: RD, effect: "sync", suspends: true, operands: [1, 1], results: 0, attributes: { ring: "buffer" }, doc: "The consumers wait until the position is full." },
  ring_release: { levels: RD, effect: "sync", operands: [1, 1], results: 0, attributes: { ring: "buffer" }, doc: "The consumers say that they are done with the stage of the position." },
} as const satisfies Record<string, OpDefinition>;

export type OpName = keyof typeof OPS;
export type BinaryFunction = (typeof BINARY_FUNCTIONS)[number];
export type UnaryFunction = (typeof UNARY_FUNCTIONS)[number];
export type Comparison = (typeof COMPARISONS)[number];
export type Reduction = (typeof REDUCTIONS)[number];
export type LoopMap = (typeof OPS)["for"]["attributes"]["map"][number];

/** What combines two terms of a reduction. */
export const COMBINES: Readonly<Record<Reduction, BinaryFunction>> = {
  sum: "add",
  prod: "mul",
  min: "min",
  max: "max",
};

/** The table under its general type, for code that walks attributes. */
export function definitionOf(name: OpName): OpDefinition {
  return OPS[name];
}

export function isOpName(name: string): name is OpName {
  return Object.hasOwn(OPS, name);
}
