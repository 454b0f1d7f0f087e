/**
 * Products that one set of roles takes together: they follow each other, multiply the same rows, such as a layer's input by the weights of
 * queries, keys and values, and what one stores no other touches. Their tiles are counted one product after the other, so that few
 * tiles of one do not leave blocks without work, and that all are begun and ended once.
 */
import type { Kernel, Op } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";
import { buffersNamed, walk } from "../../ir/visit.js";
import type { Definitions } from "./analysis.js";
import type { Contraction } from "./contraction.js";
import { viewText } from "./operand-text.js";
import { isApart, type Movers } from "./product-movers.js";

/**
 * The loops of products, those that go together in one list.
 * @param found loops with their products @param movers of the loops that have some
 */
export function productGroups(
  kernel: Kernel,
  found: ReadonlyMap<Op, Contraction>,
  movers: ReadonlyMap<Op, Movers>,
  definitions: Definitions,
): readonly (readonly Op[])[] {
  const groups: Op[][] = [];
  const grouped = new Set<Op>();
  let open: Op[] = [];
  for (const op of kernel.body.ops) {
    if (definitionOf(op.name).effect === "pure") continue;
    const match = found.get(op);
    if (match === undefined) {
      open = [];
      continue;
    }
    grouped.add(op);
    if (open.length > 0 && goesWith(op, open, kernel, found, movers, definitions)) open.push(op);
    else groups.push((open = [op]));
  }
  return [...groups, ...[...found.keys()].filter((op) => !grouped.has(op)).map((op) => [op])];
}

function goesWith(
  op: Op,
  group: readonly Op[],
  kernel: Kernel,
  found: ReadonlyMap<Op, Contraction>,
  movers: ReadonlyMap<Op, Movers>,
  definitions: Definitions,
): boolean {
  const [first] = group as [Op];
  const [one, other] = [found.get(first)!, found.get(op)!];
  const moved = movers.get(first);
  return (
    !movers.has(op) &&
    (moved === undefined || (moved.operand === "a" && isApart(op, moved.barrier, one.a.buffer, kernel))) &&
    [one, other].every(({ scales, twin }) => scales.a === null && scales.b === null && twin === null) &&
    [first, op].every((loop) => loop.regions[0]!.arguments.length === 2) &&
    one.b.dtype === other.b.dtype &&
    one.b.isDeep === other.b.isDeep &&
    definitions.key(one.depth) === definitions.key(other.depth) &&
    viewText(one.a, first, one, definitions) === viewText(other.a, op, other, definitions) &&
    rowsText(first, one, definitions) === rowsText(op, other, definitions) &&
    group.every((loop) => leavesAlone(loop, op) && leavesAlone(op, loop))
  );
}

/** From where to where the loop's rows go. */
function rowsText(loop: Op, { row }: Contraction, definitions: Definitions): string {
  const d = loop.regions[0]!.arguments.indexOf(row);
  return [loop.operands[2 * d]!, loop.operands[2 * d + 1]!].map((v) => definitions.key(v)).join(" ");
}

/** Whether a loop stores nothing that the other one touches. */
function leavesAlone(loop: Op, other: Op): boolean {
  const touched = new Set(buffersNamed(other));
  let isSo = true;
  walk(loop.regions[0]!, (op) => {
    if (definitionOf(op.name).effect === "write") isSo &&= !buffersNamed(op).some((name) => touched.has(name));
  });
  return isSo;
}
