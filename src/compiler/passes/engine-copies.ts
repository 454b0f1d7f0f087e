/**
 * engine-copies: says which tile loops the GPU's copy engines can carry out, if the option `copies` wants that.
 *
 * What an engine does belongs to no block, so `spread` stands beside `engine`: derive-sync then orders it with all blocks of
 * whatever else touches the same memory. Where the program is divided into steps (`program/steps.ts`), the loop becomes a list of
 * copies; where it stays whole, as for proofs, blocks carry it out in any way.
 */
import type { Kernel, Op } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import type { PassOptions } from "./options.js";
import { Definitions } from "./support/analysis.js";
import { copiesOfRanks } from "./support/copies.js";

export function engineCopies(kernel: Kernel, { copies }: Pick<PassOptions, "copies">): Kernel {
  if (copies !== "engine") return kernel;
  const definitions = new Definitions(kernel);
  const isCopying = (op: Op): boolean =>
    definitionOf(op.name).effect === "control" && copiesOfRanks([op], kernel, definitions) !== null;
  if (!kernel.body.ops.some(isCopying)) return kernel;
  const ops = kernel.body.ops.map((op) => (isCopying(op) ? marked(op) : op));
  return { ...kernel, body: { arguments: [], ops } };
}

function marked(op: Op): Op {
  const regions = op.regions.map((r) => ({ arguments: r.arguments, ops: r.ops.map(marked) }));
  const isTiles = op.name === "for" && op.attributes["map"] === "tiles";
  return { ...op, regions, attributes: isTiles ? { ...op.attributes, engine: true, spread: true } : op.attributes };
}
