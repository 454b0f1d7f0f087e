/**
 * Copies and products of tiles while a kernel runs: what is read and written, and when. Copies land as late as the program
 * allows: at the `copy_wait` that needs them, not when they start, so that a pipeline that reads a stage too early is seen
 * to do so. The observer is told of both ends.
 */
import { isNear } from "../machine/reach.js";
import { isRemote, type Op } from "../ir/module.js";
import { productShape, rowsPerScale, tileOperands, tileSource, tileWindow } from "../ir/tile-window.js";
import type { Block, Copy, Machine } from "./machine.js";
import type { SignalKind, Strand, WaitKind } from "./order/flags.js";
import { CLOSE, OPEN, READ, type Trace, WRITE } from "./order/trace.js";

/** Sizes of a product of tiles, the stages that they are, and which of them lie the other way round: "", "a", "b" or "ab". */
export interface ProductShape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Columns that are multiplied, the first; the others of the accumulator hold anything then. */
  readonly columns: number;
  readonly stageA: number;
  readonly stageB: number;
  readonly transposed: string;
}

/** The scales of a product's rows and columns: a shared buffer by number, -1 for none, how many of them a stage has, and the rows that share one. */
export interface Scales {
  readonly a: ScalesOf;
  readonly b: ScalesOf;
}

export interface ScalesOf {
  readonly buffer: number;
  readonly count: number;
  readonly per: number;
}

/** What a domain does with the values of tiles. Buffers by number. */
export interface TileValues {
  /**
   * Fills `length` elements of a shared buffer from `at` on: those from `left` to before `right` with elements of a global
   * one, the first of which is `start`; the others with zero.
   */
  copyRow(
    machine: Machine,
    f: Block,
    op: Op,
    to: number,
    at: number,
    length: number,
    left: number,
    right: number,
    from: number,
    owner: number,
    start: number,
  ): void;
  /** Leaves anything at all in `length` elements of a shared buffer from `at` on: what comes of them is no answer. */
  spareRow(machine: Machine, f: Block, to: number, at: number, length: number): void;
  /** Zeroes an accumulator. */
  clear(machine: Machine, f: Block, accumulator: number): void;
  /** accumulator += a[stageA] · b[stageB], each element of which is multiplied by its scales first. */
  multiply(
    machine: Machine,
    f: Block,
    accumulator: number,
    a: number,
    b: number,
    of: ProductShape,
    scales: Scales,
  ): void;
  /** One element of an accumulator. */
  element(machine: Machine, f: Block, accumulator: number, index: number): unknown;
  /** Writes an accumulator to a shared tile of the same shape. */
  storeFragment(machine: Machine, f: Block, from: number, to: number): void;
  /** Writes the first `length` elements of an accumulator to a global buffer of the rank, from `at` on. */
  putFragment(machine: Machine, f: Block, accumulator: number, to: number, at: number, length: number): void;
  /** Adds them to the accumulator. */
  addFragment(machine: Machine, f: Block, accumulator: number, from: number, at: number, length: number): void;
}

/** Who does what a block does: a role of it, or a strand of its own. */
function strandOf(trace: Trace, f: Block): Strand {
  return f.strand ?? trace.strand(f.entity, f.launch);
}

/**
 * `copy_tile` of `from` on `owner` into shared `to`.
 * @param numbers operands but the peer
 */
export function copy(
  machine: Machine,
  trace: Trace | null,
  values: TileValues | null,
  f: Block,
  op: Op,
  from: number,
  to: number,
  owner: number,
  ...numbers: readonly number[]
): void {
  const { world, ranksPerDomain = world } = machine.kernel;
  const isReached = owner >= 0 && owner < world && isNear(owner, f.rank, { ranksPerDomain });
  if (!isReached) machine.faults.peer(f, op, from, owner);
  const [stages, rows, cols] = machine.shapes[to] as [number, number, number];
  const shape = machine.shapes[from]!;
  const operands = tileOperands(op, shape.length, isRemote(op) ? [owner, ...numbers] : numbers);
  const { stage, indices } = operands;
  if (!(stage >= 0 && stage < stages)) machine.faults.dimension(f, op, to, 0, stage);
  const { left, right, start, copied, outside } = tileWindow(tileSource(op, shape, machine.shapes[to]!), operands);
  if (outside !== null) machine.faults.dimension(f, op, from, outside, indices[outside]!);
  const base = stage * rows * cols;
  const number = trace?.newCopy() ?? 0;
  const note = (g: Block, end: number): void => {
    if (trace === null) return;
    const strand = strandOf(trace, g);
    const made = trace.numberOf(op);
    trace.accessOwn(strand, made, f.memories[to]!, to, base, rows * cols, WRITE | end, number);
    const memory = trace.memoryOf(from, owner);
    for (let r = 0; r < rows && right > left; r++) {
      const at = start(r);
      if (at !== null) trace.access(strand, made, memory, at + left, right - left, READ | end, number);
    }
  };
  note(f, OPEN);
  f.open.push((g) => {
    note(g, CLOSE);
    if (values === null) return;
    for (let r = 0; r < rows; r++) {
      const at = start(r);
      const isSpare = r >= copied[0] || (at === null && op.attributes["spare"] === true);
      const taken = isSpare ? 0 : copied[1];
      if (taken < cols) values.spareRow(machine, f, to, base + r * cols + taken, cols - taken);
      if (isSpare) continue;
      const until = at === null ? left : Math.max(left, right);
      values.copyRow(machine, f, op, to, base + r * cols, taken, left, until, from, owner, (at ?? 0) + left);
    }
    f.written[to]?.fill(1, base, base + rows * cols);
  });
}

/** `copy_wait`: lands all committed groups but the `pending` newest. */
export function land(f: Block, pending: number): void {
  while (f.groups.length > pending) for (const copy of f.groups.shift()!) copy(f);
}

export function multiply(
  machine: Machine,
  trace: Trace | null,
  values: TileValues | null,
  f: Block,
  op: Op,
  accumulator: number,
  a: number,
  b: number,
  stage: number,
  twin: number,
  scaleA: number,
  scaleB: number,
): void {
  const isAsync = op.attributes["async"] === true;
  const read = [a, b, scaleA, scaleB].filter((j) => j >= 0);
  const copies = read.map(() => (isAsync ? (trace?.newCopy() ?? 0) : 0));
  const shape = productShape(op, machine.kernel);
  /** The elements that are read of a buffer: of b, a stage for each product. */
  const partOf = (j: number): readonly [from: number, size: number] => {
    const [, rows, cols] = machine.shapes[j] as [number, number, number];
    const size = rows * cols * (j === b ? shape.products : 1);
    return [stage * size, size];
  };
  const note = (g: Block, kind: number): void => {
    if (trace === null) return;
    const strand = strandOf(trace, g);
    read.forEach((j, i) => {
      const [from, size] = partOf(j);
      trace.accessOwn(strand, trace.numberOf(op), f.memories[j]!, j, from, size, READ | kind, copies[i]!);
    });
  };
  for (const j of read) {
    const stages = Math.floor(machine.shapes[j]![0]! / (j === b ? shape.products : 1));
    if (!(stage >= 0 && stage < stages)) machine.faults.dimension(f, op, j, 0, stage);
    const [from, size] = partOf(j);
    const hole = f.written[j]?.subarray(from, from + size).indexOf(0) ?? -1;
    if (hole >= 0) machine.faults.unwritten(f, op, j, f.rank, from + hole);
  }
  const scalesOf = (buffer: number, rows: number): ScalesOf => {
    if (buffer < 0) return { buffer, count: 0, per: 1 };
    const per = rowsPerScale(rows, machine.kernel.buffers[buffer]!);
    return { buffer, count: rows / per, per };
  };
  const scales = { a: scalesOf(scaleA, shape.m), b: scalesOf(scaleB, shape.n) };
  const sums = twin < 0 ? [accumulator] : [accumulator, twin];
  const product = (): void =>
    sums.forEach((sum, i) => {
      const of = { ...shape, stageA: stage, stageB: stage * sums.length + i };
      values?.multiply(machine, f, sum, a, b, of, scales);
    });
  note(f, isAsync ? OPEN : 0);
  if (!isAsync) return product();
  // It takes its tiles as they are when it is waited for: a stage that is filled anew before is seen to be wrong.
  f.products.push((g) => {
    note(g, CLOSE);
    product();
  });
}

/** `mma_wait`: ends all asynchronous products but the `pending` newest. */
export function endProducts(f: Block, pending: number): void {
  while (f.products.length > pending) f.products.shift()!(f);
}

/** The counts of a ring, and what is on its way to each stage. */
export interface Ring {
  readonly full: Int32Array;
  readonly free: Int32Array;
  readonly landing: Copy[][];
  /** Where the observer's numbers of its flags begin: no two rings share flags. */
  readonly first: number;
}

/** How many stages of rings an observer has heard of. */
const heardOf = new WeakMap<Trace, number>();

export function newRing(stages: number, trace: Trace | null): Ring {
  const first = trace === null ? 0 : (heardOf.get(trace) ?? 0);
  if (trace !== null) heardOf.set(trace, first + stages);
  return {
    full: new Int32Array(stages),
    free: new Int32Array(stages),
    landing: Array.from({ length: stages }, () => []),
    first,
  };
}

/** What a barrier in shared memory hands on, and learns: who arrives releases, who waits acquires (PTX, "mbarrier.arrive": `.release.cta` unless said). */
export const RING_SIGNAL: SignalKind = { add: true, sys: false, hands: "everything" };
export const RING_WAIT: WaitKind = { sys: false, acquire: true, isAside: false };

/** `ring_fill`: the copies started since the last one belong to the stage. */
export function fill(ring: Ring, stage: number, f: Block): void {
  ring.landing[stage]!.push(...f.open);
  f.open = [];
}

/** Lands what was on its way to a stage, for the role that found it full. */
export function landIn(ring: Ring, stage: number, f: Block): void {
  for (const copy of ring.landing[stage]!.splice(0)) copy(f);
}

export function storeFragment(
  machine: Machine,
  trace: Trace | null,
  values: TileValues | null,
  f: Block,
  op: Op,
  from: number,
  to: number,
): void {
  const length = machine.lengths[to]!;
  trace?.accessOwn(strandOf(trace, f), trace.numberOf(op), f.memories[to]!, to, 0, length, WRITE, 0);
  f.written[to]?.fill(1);
  values?.storeFragment(machine, f, from, to);
}

/** `fragment_put` and `fragment_add`: the first rows of an accumulator go to a row of a global buffer, which has as many elements as it, or come from there. */
export function passPiece(
  machine: Machine,
  trace: Trace | null,
  values: TileValues | null,
  f: Block,
  op: Op,
  accumulator: number,
  buffer: number,
  row: number,
  rows: number,
): void {
  const isPut = op.name === "fragment_put";
  const [m, n] = machine.shapes[accumulator] as [number, number];
  if (!(row >= 0 && row < machine.shapes[buffer]![0]!)) machine.faults.dimension(f, op, buffer, 0, row);
  const [at, length] = [row * m * n, Math.min(Math.max(rows, 0), m) * n];
  const memory = trace?.memoryOf(buffer, f.rank);
  trace?.access(strandOf(trace, f), trace.numberOf(op), memory!, at, length, isPut ? WRITE : READ, 0);
  const written = machine.written[buffer]?.[f.rank];
  if (isPut) written?.fill(1, at, at + length);
  const hole = isPut ? -1 : (written?.subarray(at, at + length).indexOf(0) ?? -1);
  if (hole >= 0) machine.faults.unwritten(f, op, buffer, f.rank, at + hole);
  values?.[isPut ? "putFragment" : "addFragment"](machine, f, accumulator, buffer, at, length);
}
