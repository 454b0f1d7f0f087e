/**
 * Second verifier, run only on sound structure: synchronisation is reached by everyone it names,
 * bodies spread over threads do not synchronise, constants stay inside known bounds.
 */
import { type Kernel, memoryOperands, type Op, type Region, type Value } from "./module.js";
import { definitionOf, type OpName } from "./ops.js";
import { RankPairs } from "./rank-pairs.js";
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
    verifyRanks(kernel, op, report);
  });
  verifyVariance(kernel.body, ["rank", "block", "load"], new Set(), ["barrier"], problems);
  verifyVariance(kernel.body, ["block", "load"], new Set(), ["notify", "await"], problems);
  return problems;
}

/** Ops that all threads of a block carry out together. */
const BLOCK_WIDE = new Set([
  "barrier",
  "notify",
  "await",
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
    if (op.name === "for" && ["threads", "tiles", "rows", "blocks"].includes(op.attributes["map"] as string))
      report(`a loop over ${String(op.attributes["map"])} stands inside one over ${String(spread.attributes["map"])}`);
  } else if (op.name === "signal" || op.name === "wait") {
    report("stands outside a loop over threads, so every thread would carry it out");
  }
  const uneven = op.name === "barrier" ? ["blocks", "rows", "ranks"] : ["blocks", "rows"];
  if (
    ["barrier", "notify", "await"].includes(op.name) &&
    parents.some((p) => p.name === "for" && uneven.includes(p.attributes["map"] as string))
  )
    report("stands inside a loop that blocks run different numbers of times");
}

function verifyRanks(kernel: Kernel, op: Op, report: (message: string) => void): void {
  if (op.name !== "barrier") return;
  const ranks = op.attributes["ranks"] as string;
  const canonical = RankPairs.parse(ranks, kernel.world)?.print();
  if (canonical === undefined) report(`names no pairs of ${kernel.world} ranks: '${ranks}'`);
  else if (canonical !== ranks) report(`writes the pairs '${canonical}' as '${ranks}'`);
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

/**
 * None of `syncs` under a condition, or in a serial loop with bounds, that differ between those who should meet: where
 * values come from one of `sources`.
 */
function verifyVariance(
  region: Region,
  sources: readonly OpName[],
  varying: Set<Value>,
  syncs: readonly OpName[],
  problems: Problem[],
): void {
  for (const op of region.ops) {
    const varies = op.operands.some((v) => varying.has(v));
    if (
      sources.includes(op.name) ||
      (varies && definitionOf(op.name).effect === "pure") ||
      (op.name === "reduce" && varies)
    )
      for (const r of op.results) varying.add(r);
    for (const inner of op.regions) {
      const isSpread = op.name === "for" && !["serial", "ranks"].includes(op.attributes["map"] as string);
      const isUnordered = op.attributes["map"] === "ranks" && sources.includes("rank");
      if (varies || isSpread || isUnordered) for (const a of inner.arguments) varying.add(a);
      if ((op.name === "if" || op.name === "for") && varies) refuse(inner, syncs, problems);
      verifyVariance(inner, sources, varying, syncs, problems);
    }
  }
}

function refuse(region: Region, syncs: readonly OpName[], problems: Problem[]): void {
  for (const op of region.ops) {
    if (syncs.includes(op.name))
      problems.push({ message: `${op.name}: stands where ranks or blocks may differ in reaching it`, op });
    for (const inner of op.regions) refuse(inner, syncs, problems);
  }
}
