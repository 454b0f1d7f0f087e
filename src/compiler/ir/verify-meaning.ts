/**
 * Second verifier, run only on sound structure: synchronisation is reached by everyone it names,
 * bodies spread over threads do not synchronise, constants stay inside known bounds.
 */
import { type Kernel, memoryOperands, type Op, type Region, type Value } from "./module.js";
import { definitionOf } from "./ops.js";
import type { Problem } from "./verify-structure.js";
import { walkKernel } from "./visit.js";

export function verifyMeaning(kernel: Kernel): Problem[] {
  const problems: Problem[] = [];
  const constants = new Map<Value, number>();
  walkKernel(kernel, (op, parents) => {
    if (op.name === "const") constants.set(op.results[0]!, op.attributes["value"] as number);
    const report = (message: string): void => void problems.push({ message: `${op.name}: ${message}`, op });
    verifyUniformity(op, parents, report);
    verifyBounds(kernel, op, constants, report);
  });
  verifyVariance(kernel, kernel.body, new Set(), problems);
  return problems;
}

/** Ops that all threads of a block carry out together. */
const BLOCK_WIDE = new Set([
  "barrier",
  "block_sync",
  "copy_tile",
  "copy_commit",
  "copy_wait",
  "fragment_clear",
  "mma",
  "fragment_store",
]);

function verifyUniformity(op: Op, parents: readonly Op[], report: (message: string) => void): void {
  const spread = parents.find((p) => p.name === "for" && ["threads", "tiles"].includes(p.attributes["map"] as string));
  if (spread !== undefined) {
    if (BLOCK_WIDE.has(op.name)) report(`stands inside a loop over ${String(spread.attributes["map"])}`);
    if (op.name === "for" && ["threads", "tiles", "blocks"].includes(op.attributes["map"] as string))
      report(`a loop over ${String(op.attributes["map"])} stands inside one over ${String(spread.attributes["map"])}`);
  } else if (op.name === "signal" || op.name === "wait") {
    report("stands outside a loop over threads, so every thread would carry it out");
  }
  if (
    op.name === "barrier" &&
    parents.some((p) => p.name === "for" && ["blocks", "ranks"].includes(p.attributes["map"] as string))
  )
    report("stands inside a loop that blocks run different numbers of times");
}

function verifyBounds(
  kernel: Kernel,
  op: Op,
  constants: ReadonlyMap<Value, number>,
  report: (message: string) => void,
): void {
  if (op.name !== "load" && op.name !== "store") return;
  const buffer = kernel.buffers.find((b) => b.name === op.attributes["buffer"])!;
  const { peer, indices } = memoryOperands(op);
  const to = peer === null ? undefined : constants.get(peer);
  if (to !== undefined && (to < 0 || to >= kernel.world)) report(`goes to rank ${to} of ${kernel.world}`);
  if (indices.length !== buffer.shape.length) return;
  indices.forEach((index, d) => {
    const at = constants.get(index);
    const length = buffer.shape[d];
    if (at !== undefined && (at < 0 || (typeof length === "number" && at >= length)))
      report(`index ${at} of dimension ${d} lies outside '${buffer.name}', which has ${String(length)}`);
  });
}

/** No barrier under a condition, or in a serial loop with bounds, that differ from rank to rank or block to block. */
function verifyVariance(kernel: Kernel, region: Region, varying: Set<Value>, problems: Problem[]): void {
  for (const op of region.ops) {
    const varies = op.operands.some((v) => varying.has(v));
    if (
      op.name === "rank" ||
      op.name === "block" ||
      op.name === "load" ||
      (varies && definitionOf(op.name).effect === "pure") ||
      (op.name === "reduce" && varies)
    )
      for (const r of op.results) varying.add(r);
    for (const inner of op.regions) {
      const isSpread = op.name === "for" && op.attributes["map"] !== "serial";
      if (varies || isSpread) for (const a of inner.arguments) varying.add(a);
      if ((op.name === "if" || op.name === "for") && varies) refuseBarriers(inner, problems);
      verifyVariance(kernel, inner, varying, problems);
    }
  }
}

function refuseBarriers(region: Region, problems: Problem[]): void {
  for (const op of region.ops) {
    if (op.name === "barrier")
      problems.push({ message: "barrier: stands where ranks or blocks may differ in reaching it", op });
    for (const inner of op.regions) refuseBarriers(inner, problems);
  }
}
