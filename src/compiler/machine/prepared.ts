/**
 * A kernel prepared to be counted for many ranks and lengths: numbers in place of its values, and of each op what does not depend on
 * either. A plan counts each of its kernels a hundred times and more.
 */
import { type Buffer, bufferOf, isGlobal, isRemote, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../ir/module.js"; // prettier-ignore
import type { OpName } from "../ir/ops.js";
import { lanesOf, scalarOf } from "../ir/types.js";
import { DTYPES } from "../types/dtype.js";
import { type Fold, foldOf, isOfIndices, type Known, type KnownStore } from "./iterations.js";
import { accumulatorOps, elementOps, isBookkeeping } from "./op-facts.js";

export interface PreparedOp {
  readonly op: Op;
  readonly name: OpName;
  readonly attributes: Op["attributes"];
  /** Numbers of values, as those of results. */
  readonly operands: readonly number[];
  readonly results: readonly number[];
  readonly regions: readonly PreparedRegion[];
  /** What a load or a store goes to; null for other ops. */
  readonly buffer: Buffer | null;
  /** Whether that is global memory. */
  readonly isGlobal: boolean;
  /** Bytes that a load or a store moves. */
  readonly bytes: number;
  /** The rank whose memory, flag or slot it goes to; null: this rank's own. */
  readonly peer: number | null;
  /** Whether what it works on are numbers that decide what is counted, and not elements. */
  readonly isOfIndices: boolean;
  /** What it does with two such numbers; null of other ops. */
  readonly fold: Fold | null;
  /** Whether whoever comes to it has all values before it. */
  readonly endsRun: boolean;
  /** Whether it takes a trip to memory, or tells where one has gone to. */
  readonly isTrip: boolean;
  /** Operations on elements, counted as additions. */
  readonly elementOps: number;
  /** The same where elements leave an accumulator. */
  readonly accumulatorOps: number;
  /** Buffers whose packets it loads, and to which it stores some, with all inside it. */
  readonly packets: { readonly loaded: readonly string[]; readonly stored: readonly string[] };
  /** Whether it waits, or has an op inside that does; for packets that are stored inside, too. */
  readonly synchronises: boolean;
  /** Whether each of its regions only counts what outlives the launch. */
  readonly isBookkeeping: boolean;
}

export interface PreparedRegion {
  readonly arguments: readonly number[];
  readonly ops: readonly PreparedOp[];
  /** Ops that copies of tiles of this rank's memory are, or have inside, or need numbers of; empty where there are no such copies. */
  readonly tiling: readonly PreparedOp[];
  /** Values that those ops take. */
  readonly tilingTakes: ReadonlySet<number>;
}

export interface PreparedKernel {
  readonly body: PreparedRegion;
  /** Values are numbered from 0 up to before this. */
  readonly values: number;
}

const TRIPS = new Set<OpName>(["load", "store", "copy_tile", "packet_load"]);

const known = new WeakMap<Kernel, PreparedKernel>();

/** @param kernel at device level, barriers expanded; prepared once */
export function preparedKernel(kernel: Kernel): PreparedKernel {
  let prepared = known.get(kernel);
  if (prepared === undefined) {
    const numbers = new Map<Value, number>();
    const body = preparedRegion(kernel.body, kernel, numbers);
    known.set(kernel, (prepared = { body, values: numbers.size }));
  }
  return prepared;
}

function preparedRegion(region: Region, kernel: Kernel, numbers: Map<Value, number>): PreparedRegion {
  const args = region.arguments.map((v) => numberOf(v, numbers));
  const ops = region.ops.map((op) => preparedOp(op, kernel, numbers));
  return { arguments: args, ops, ...tilingOf(ops) };
}

function tilingOf(ops: readonly PreparedOp[]): Pick<PreparedRegion, "tiling" | "tilingTakes"> {
  const tiling: PreparedOp[] = [];
  const taken = new Set<number>();
  for (const op of ops.toReversed()) {
    const isNeeded =
      op.name === "copy_tile"
        ? op.peer === null
        : op.regions.length > 0
          ? op.regions.some(copiesTiles)
          : op.results.some((v) => taken.has(v));
    if (!isNeeded) continue;
    tiling.push(op);
    for (const v of [...op.operands, ...op.regions.flatMap((r) => [...r.tilingTakes])]) taken.add(v);
  }
  return { tiling: tiling.reverse(), tilingTakes: taken };
}

/** Whether tiles of this rank's memory are copied in it. */
export function copiesTiles({ tiling }: PreparedRegion): boolean {
  return tiling.length > 0;
}

function numberOf(v: Value, numbers: Map<Value, number>): number {
  const number = numbers.get(v) ?? numbers.size;
  numbers.set(v, number);
  return number;
}

function preparedOp(op: Op, kernel: Kernel, numbers: Map<Value, number>): PreparedOp {
  const numbered = (v: Value): number => numberOf(v, numbers);
  const operands = op.operands.map(numbered);
  const regions = op.regions.map((r) => preparedRegion(r, kernel, numbers));
  const buffer = op.name === "load" || op.name === "store" ? bufferOf(kernel, text(op, "buffer")) : null;
  const peer = peerOf(op);
  const ofIndices = isOfNumbers(op);
  const packets = packetsOf(op, regions);
  return {
    op,
    name: op.name,
    attributes: op.attributes,
    operands,
    results: op.results.map(numbered),
    regions,
    buffer,
    isGlobal: buffer !== null && isGlobal(buffer),
    bytes: buffer === null ? 0 : lanesOf((op.results[0] ?? op.operands[0]!).type) * DTYPES[buffer.dtype].bytes,
    peer: peer === null ? null : numbered(peer),
    isOfIndices: ofIndices,
    fold: ofIndices && (op.name === "binary" || op.name === "compare") ? foldOf(op.name, op.attributes) : null,
    endsRun: regions.length > 0 || op.name === "block_sync" || op.name === "copy_wait",
    isTrip: TRIPS.has(op.name),
    elementOps: ofIndices ? 0 : elementOps(op),
    accumulatorOps: ofIndices && buffer === null ? 0 : accumulatorOps(op),
    packets,
    synchronises:
      op.name === "wait" ||
      packets.loaded.some((name) => packets.stored.includes(name)) ||
      regions.some((r) => r.ops.some((o) => o.synchronises)),
    isBookkeeping: op.regions.length > 0 && op.regions.every((r) => isBookkeeping(r, kernel)),
  };
}

function peerOf(op: Op): Value | null {
  switch (op.name) {
    case "load":
    case "store":
    case "signal":
      return memoryOperands(op).peer;
    case "copy_tile":
      return isRemote(op) ? op.operands[0]! : null;
    case "packet_store":
      return isRemote(op) ? op.operands[2]! : null;
    case "wait":
      return op.operands[2] ?? null;
    default:
      return null;
  }
}

function isOfNumbers(op: Op): boolean {
  switch (op.name) {
    case "binary":
    case "compare":
      return isOfIndices(op);
    case "select":
      return scalarOf(op.results[0]!.type) === "index";
    case "cast":
      return [op.operands[0]!, op.results[0]!].some((v) => scalarOf(v.type) === "index");
    default:
      return false;
  }
}

function packetsOf(op: Op, regions: readonly PreparedRegion[]): PreparedOp["packets"] {
  const inside = regions.flatMap((r) => r.ops.map(({ packets }) => packets));
  const own = (name: OpName): readonly string[] => (op.name === name ? [text(op, "even")] : []);
  return {
    loaded: [...new Set([...inside.flatMap((p) => p.loaded), ...own("packet_load")])],
    stored: [...new Set([...inside.flatMap((p) => p.stored), ...own("packet_store")])],
  };
}

/** What is known of values, by their numbers. */
export class NumberedValues implements KnownStore<number> {
  private readonly all: (Known | undefined)[];

  constructor(values: number) {
    this.all = new Array<Known | undefined>(values).fill(undefined);
  }

  get(v: number): Known | undefined {
    return this.all[v];
  }

  set(v: number, known: Known): void {
    this.all[v] = known;
  }
}
