/** Whether a kernel's elements cost its threads more time than the wire needs to move them, or its threads wait for each. */
import { type Kernel, memoryOperands, type Op, type Region, type Value } from "../../ir/module.js";
import { isSlow } from "../../ir/functions.js";
import type { BinaryFunction, UnaryFunction } from "../../ir/ops.js";
import { scalarOf } from "../../ir/types.js";
import { walk, walkKernel } from "../../ir/visit.js";
import { DTYPES, isFloat, type ScalarKind } from "../../types/dtype.js";
import type { PassOptions } from "../options.js";
import type { Definitions } from "./analysis.js";

/**
 * The few blocks that fill NVLink with loads have a fraction of the machine's arithmetic and of its memory accesses: they fall behind
 * where rows are folded, where elements go through slow functions, and where neighbours are apart in memory. Such a
 * kernel takes all the multiprocessors it can get. Of any other, stores to peers take more blocks than loads do (`movingBlocks`).
 *
 * Measured on 2×H200, 2026-11, bf16, 16384×8192 or 2^27 elements, 32 blocks → 132 (µs): softmax_over_ranks 3525 → 875,
 * all_reduce_rms_norm 1893 → 808, all_reduce_bias_gelu 1475 → 814, transposed 2032 → 514; but one_shot 821 → 805 and
 * permute/shift 1458 → 1784.
 *
 * So does a kernel with packets: a thread that waits for one sends none, and it takes more of them to fill the wire. On 4×H200,
 * bf16, 32 blocks → 128 (µs): two_shot 9.6 → 8.4 at 1 MiB and 32.4 → 23.5 at 4 MiB, all_gather by pushes 7.1 → 5.4 and
 * 19.2 → 13.6, reduce_scatter by pulls 6.7 → 6.8 and 16.5 → 13.3; below 256 KiB it is all the same.
 */
export function isBusy(kernel: Kernel, definitions: Definitions): boolean {
  let busy = kernel.buffers.some(({ role }) => role === "packet");
  walkKernel(kernel, (op) => {
    // Rows have been given to blocks already.
    if (op.name === "for" && op.attributes["map"] === "blocks") busy = true;
    if (op.name === "for" && op.attributes["map"] === "tiles") busy ||= isSlowLoop(op.regions[0]!, definitions);
  });
  return busy;
}

/** Most blocks of a kernel that is not busy: of one that loads from peers fewer, where loads fill the wire sooner. */
export function movingBlocks(
  kernel: Kernel,
  { elementBlocks, loadBlocks }: Pick<PassOptions, "elementBlocks" | "loadBlocks">,
): number {
  let loads = false;
  walkKernel(kernel, (op) => (loads ||= op.name === "load" && memoryOperands(op).peer !== null));
  return loads ? Math.min(elementBlocks, loadBlocks) : elementBlocks;
}

/** Whether an iteration of a loop over elements is slow. */
function isSlowLoop(body: Region, definitions: Definitions): boolean {
  const along = body.arguments.at(-1)!;
  let slow = false;
  walk(body, (op) => (slow ||= isSlowOp(op) || isScattered(op, along, definitions)));
  return slow;
}

function isSlowOp({ name, attributes, operands, results }: Op): boolean {
  if (name === "unary" || name === "binary")
    return isSlow(attributes["fn"] as UnaryFunction | BinaryFunction, scalarOf(operands[0]!.type));
  return name === "cast" && [operands[0]!, results[0]!].some((v) => isEighth(scalarOf(v.type)));
}

/** Floats of 8 bits are taken apart by hand. */
function isEighth(kind: ScalarKind): boolean {
  return isFloat(kind) && DTYPES[kind as keyof typeof DTYPES].bytes === 1;
}

/** Whether neighbouring iterations access elements that are apart: the variable of the innermost loop is in another index than the last. */
function isScattered(op: Op, along: Value, definitions: Definitions): boolean {
  if (op.name !== "load" && op.name !== "store") return false;
  const { indices } = memoryOperands(op);
  return indices.slice(0, -1).some((index) => definitions.isNext(index, along));
}
