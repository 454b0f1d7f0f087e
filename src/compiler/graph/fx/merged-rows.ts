/**
 * Rows that FX has merged for a product, and takes apart again behind it: `view(mm(view(x, [b * s, k]), w), [b, s, n])`, as PyTorch writes the
 * product of a tensor with batches. Where a conversion cuts one of the dimensions behind it, tiles of merged rows are of no one rank; the
 * product of the tensor as it is has the same elements, and tiles that are.
 */
import { type Extent, sameExtent } from "../../types/extent.js";
import { GRAPH_OPS } from "../graph.js";
import { type CoreNode, VIEW_OPS } from "./core.js";
import { CONVERTS } from "./fx.js";
import { sameShape } from "./sizes.js";

export interface Nodes {
  readonly at: (id: string) => CoreNode;
  readonly isInside: (node: CoreNode) => boolean;
  /** Whether one node alone reads a value, so that nobody else wants it with its rows merged. */
  readonly isOfOne: (id: string) => boolean;
  /** Keeps a node that stands for another one, in another shape. */
  readonly add: (node: CoreNode) => void;
}

/** The value of a matrix with its rows in several dimensions, computed so; null where something keeps its rows merged. */
export function rowsApart(id: string, shape: readonly Extent[], nodes: Nodes): string | null {
  const { shape: from } = nodes.at(id);
  return from.length === 2 && sameExtent(from[1]!, shape.at(-1)!) ? apart(id, shape.slice(0, -1), nodes) : null;
}

function apart(id: string, rows: readonly Extent[], nodes: Nodes): string | null {
  const node = nodes.at(id);
  const { op, inputs } = node;
  const shape = [...rows, node.shape.at(-1)!];
  if (op === "reshape") {
    const source = inputs[0] as string;
    return sameShape(nodes.at(source).shape, shape) ? source : null;
  }
  if (VIEW_OPS.has(op) || CONVERTS.has(op) || !nodes.isInside(node) || !nodes.isOfOne(id)) return null;
  const isProduct = op === "matmul" && nodes.at(inputs[1] as string).shape.length === 2;
  const isElementwise = Object.hasOwn(GRAPH_OPS, op) && node.dim === undefined && !["matmul", "concat", "iota"].includes(op); // prettier-ignore
  if (!isProduct && !isElementwise) return null;
  const made = inputs.map((x, i) => {
    if (typeof x === "number" || (isProduct && i === 1)) return x;
    const own = nodes.at(x).shape;
    // What all rows have is the same for each of them.
    return own.length < 2 || own[0] === 1 ? x : apart(x, rows, nodes);
  });
  if (made.includes(null)) return null;
  const fresh = `${id}__rows`;
  nodes.add({ ...node, id: fresh, inputs: made as (string | number)[], shape });
  return fresh;
}
